"""systemd's reading of a command line, from its manual: systemd.service(5) "Command lines", systemd.syntax(7).

In this order: the line is cut into words (quotes, C escapes), specifiers are replaced, then variables. The integration
tests hold the cutting against systemd's own library, the lab the whole against a running process.
"""

from __future__ import annotations

import re

_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "s": " "}
_ESCAPES |= {"\\": "\\", '"': '"', "'": "'"}


def command_line(text: str) -> list[str]:
    """Given what stands behind ExecStart=, return the argv of the process. Raises ValueError where systemd refuses."""
    return [_variables(_specifiers(word)) for word in cut(text)]


def assignment(text: str) -> str:
    """Given what stands behind Environment=, return the only assignment: specifiers count, variables do not."""
    (word,) = cut(text)
    return _specifiers(word)


def cut(text: str) -> list[str]:
    """Cut a line into words. A line is ended by a line feed, continued by a backslash before it."""
    if "\n" in text or "\r" in text or "\0" in text or text.endswith("\\"):
        raise ValueError("the line ends here")
    words: list[str] = []
    word: str | None = None
    quote = ""
    at = 0
    while at < len(text):
        char = text[at]
        at += 1
        if char == "\\":
            word, at = (word or "") + _escape(text, at), _after(text, at)
        elif quote:
            quote, word = ("", word) if char == quote else (quote, (word or "") + char)
        elif char in "\"'":
            quote, word = char, word or ""
        elif char in " \t":
            words += [] if word is None else [word]
            word = None
        else:
            word = (word or "") + char
    if quote:
        raise ValueError("a quote is open")
    return words + ([] if word is None else [word])


def _escape(text: str, at: int) -> str:
    if text[at] == "x":
        return chr(int(text[at + 1 : at + 3], 16))
    if text[at] not in _ESCAPES:
        raise ValueError(f"no such escape: \\{text[at]}")
    return _ESCAPES[text[at]]


def _after(text: str, at: int) -> int:
    return at + (3 if text[at] == "x" else 1)


def _specifiers(word: str) -> str:
    if re.search(r"%(?!%)", word.replace("%%", "")):
        raise ValueError(f"a specifier: {word!r}")
    return word.replace("%%", "%")


def _variables(word: str) -> str:
    if "$" in word.replace("$$", ""):
        raise ValueError(f"a variable: {word!r}")
    return word.replace("$$", "$")
