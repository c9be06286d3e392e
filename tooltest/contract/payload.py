"""Values that arrived damaged on the way, told from values that the model got wrong: damage has a signature."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Mapping
from typing import Any

_DAMAGE: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("HTML was unescaped", html.unescape),
    ("HTML was escaped", lambda text: html.escape(text, quote=False)),
    ("HTML was escaped", html.escape),
    ("line ends became the two characters \\n", lambda text: text.replace("\n", "\\n")),
    ("the two characters \\n became line ends", lambda text: text.replace("\\n", "\n")),
    ("backslashes were doubled", lambda text: text.replace("\\", "\\\\")),
    ("backslashes were lost", lambda text: text.replace("\\", "")),
    ("quotes were lost", lambda text: text.replace('"', "")),
    ("blanks at its ends were lost", str.strip),
    ("line ends were lost", lambda text: text.replace("\n", " ")),
    ("tabs became blanks", lambda text: text.replace("\t", " ")),
    ("UTF-8 was read as Latin-1", lambda text: text.encode().decode("latin-1")),
    ("what is not ASCII was lost", lambda text: text.encode("ascii", "ignore").decode()),
    ("what is not ASCII became ?", lambda text: text.encode("ascii", "replace").decode()),
    ("what is not ASCII stayed escaped", lambda text: text.encode("ascii", "backslashreplace").decode()),
)
CUTS = ("</", "<", "&", '"', "```", "]", "}")


def damage(wanted: str, got: str) -> str | None:
    """How `got` came from `wanted` by a server's fault, in words; None where it is the same or simply another text."""
    if wanted == got:
        return None
    for words, spoil in _DAMAGE:
        if spoil(wanted) == got:
            return words
    if len(got) >= 3 and wanted.startswith(got.rstrip()) and wanted[len(got.rstrip()) :].lstrip().startswith(CUTS):
        return f"it ends before {wanted[len(got.rstrip()) :].lstrip()[:14]!r}"
    return None


def damages(wanted: Any, got: Any, place: str = "") -> Iterator[str]:
    """Yield a sentence for each text within `wanted` that is damaged in `got`."""
    if wanted is None and got in ("null", "None", ""):
        yield f"{place}: null became the text {got!r}"
    elif isinstance(wanted, str) and isinstance(got, str):
        if (words := damage(wanted, got)) is not None:
            yield f"{place}: {words}"
    elif isinstance(wanted, Mapping) and isinstance(got, Mapping):
        for key in wanted.keys() & got.keys():
            yield from damages(wanted[key], got[key], f"{place}.{key}" if place else str(key))
    elif isinstance(wanted, list) and isinstance(got, list) and len(wanted) == len(got):
        for at, (one, other) in enumerate(zip(wanted, got, strict=True)):
            yield from damages(one, other, f"{place}[{at}]")
