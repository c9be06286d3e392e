"""Secrets in command lines and environments of others: their values never leave the box, their names do."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

MARK = "(left out)"
# `tokens` alone are counted, not told: --max-num-batched-tokens
_NAME = re.compile(
    r"((^|[_-])(token|keys?|(api|auth|access|bearer|secret|hf)[_-]tokens|secrets?|passphrase|passwd|credentials?)"
    r"|[_-]pass|apikeys?|passwords?)$",
    re.IGNORECASE,
)
_PATHS = re.compile(r"[_-](key|cert|token|password|secret)[_-]?(file|path)$", re.IGNORECASE)
_VALUE = re.compile(r"\b(hf_|sk-)[A-Za-z0-9_-]{16,}|(?<=Bearer )\S+|(?<=://)[^/\s:@]+:[^/\s@]+(?=@)")


def secret(name: str) -> bool:
    """Given the name of a flag or a variable, return whether its value opens something."""
    return bool(_NAME.search(name)) and not _PATHS.search(name)


def argv(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Given a command line, return it with MARK for every secret, and the flags that had one."""
    shown: list[str] = []
    gone: list[str] = []
    hide, last = False, ""
    for word in words:
        flag, equals, _ = word.partition("=")
        if word.startswith("-") and secret(flag.lstrip("-")):
            gone.append(flag)
            hide = not equals
            shown.append(f"{flag}={MARK}" if equals else word)
        elif hide and not word.startswith("-"):  # --api-key takes several
            shown.append(MARK)
        else:
            hide = False
            shown.append(text(word))
            last = flag if word.startswith("-") else last
            if shown[-1] != word:
                gone.append(last or "a word of its command line")
    return shown, gone


def environment(found: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Given variables, return those that are no secrets, and the names of those that are."""
    gone = sorted(name for name, value in found.items() if secret(name) or _VALUE.search(value))
    return {name: value for name, value in sorted(found.items()) if name not in gone}, gone


def text(line: str) -> str:
    """Given a line of a script, return it without what looks like a key in it."""
    bare = _VALUE.sub(MARK, line)
    return re.sub(r"(?i)((?:api[_-]?key|token|secret|password)['\"]?\s*[=: ]\s*['\"]?)[^\s'\"]+", rf"\1{MARK}", bare)


def shown(line: str) -> str:
    """Given a line of somebody's file, return it for a terminal: as `text` does, and without what one would act on."""
    return "".join(
        letter if letter.isprintable() else " " if letter.isspace() else "?" for letter in text(line.strip())
    )
