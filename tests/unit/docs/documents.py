"""The project's documents as tests read them: their code, their links and their headings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])

FENCE = re.compile(r"^```.*?\n(.*?)^```", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)|(?:src|srcset|href)=\"([^\"]+)\"")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
COMMENT = re.compile(r"\s+#.*$")


@dataclass(frozen=True)
class Command:
    """A command that a document names: the words behind the program, and where it stands."""

    words: tuple[str, ...]
    where: str

    @property
    def options(self) -> list[str]:
        return [word.split("=")[0] for word in self.words if re.fullmatch(r"-{1,2}[a-z][a-z-]*(=.*)?", word)]


def commands(document: Path, program: str) -> Iterator[Command]:
    """Every command of `program` in code of the document: in a span of its own, or as a line of a block."""
    text = document.read_text()
    found = [line for block in FENCE.findall(text) for line in block.splitlines()]
    found += SPAN.findall(FENCE.sub("", text))
    for line in found:
        line = COMMENT.sub("", line.strip().removeprefix("$ "))
        words = line.split()
        if words[:1] == [program] and len(words) > 1:
            yield Command(tuple(words[1:]), f"{document.name}: {line}")


def links(document: Path) -> list[str]:
    """Every target of a link or an image."""
    return [one or other for one, other in LINK.findall(document.read_text())]


def anchors(document: Path) -> set[str]:
    """The anchors of the headings, as GitHub makes them."""
    titles = HEADING.findall(FENCE.sub("", document.read_text()))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def tables(document: Path) -> Iterator[list[str]]:
    """The rows of all tables, cells stripped."""
    for line in document.read_text().splitlines():
        if line.startswith("|") and not set(line) <= set("|-: "):
            yield [cell.strip() for cell in line.strip("|").split("|")]
