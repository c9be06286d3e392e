"""Labels and help texts as a metrics page writes them. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

from .values import Labels

TAKEN = ("copy", "box", "model")  # labels that we set ourselves; an engine's own go by another name, as in Prometheus
RESERVED = "__name__"  # Prometheus' own word for the name of the family; it takes no page that has it as a label
_LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)[ \t]*+=[ \t]*+"((?:[^"\\]|\\.)*+)"[ \t]*+(,?)[ \t]*+')
_ESCAPE = re.compile(r"\\(.)")


def read(text: str) -> dict[str, str]:
    """Given what stands between the braces, return the labels by name. Raise ValueError if that is none."""
    labels: dict[str, str] = {}
    at = 0
    while at < len(text):
        match = _LABEL.match(text, at)
        if match is None or match[1] in (*labels, RESERVED) or (not match[3] and match.end() < len(text)):
            raise ValueError(f"labels that cannot be read: {text[:60]!r}")
        labels[match[1]] = _ESCAPE.sub(lambda found: "\n" if found[1] == "n" else found[1], match[2])
        at = match.end()
    return labels


def own(labels: Mapping[str, str]) -> Labels:
    """Given an engine's labels, return them as we show them: those that are named like ours go by another name."""
    found = dict(labels)
    for label in TAKEN:
        if label in found:
            found[_exported(label, found)] = found.pop(label)
    return tuple(sorted(found.items()))


def _exported(label: str, labels: Mapping[str, str]) -> str:
    """A name that no other label has: a page may have each once."""
    name = f"exported_{label}"
    return _exported(name, labels) if name in labels else name


def help_text(text: str) -> str:
    r"""Given a help text as it is written, return what it says: `\\` and `\n` are escapes, any other `\` is none."""
    return _ESCAPE.sub(lambda found: {"n": "\n", "\\": "\\"}.get(found[1], found[0]), text)
