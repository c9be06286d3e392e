"""What the parts of groups on a box are told: /etc/floor/group.json, written by `desired`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from floor.box import key_file, paths
from floor.box.document import Document
from floor.box.parts import Mark
from floor.errors import FloorError


@dataclass(frozen=True)
class Other:
    """Another part of the same group: its box, and where that is asked over the fabric."""

    box: str
    status_url: str


@dataclass(frozen=True)
class Group:
    """A group that has a part on this box: its model, which part that is (head or worker), its unit, and the name of
    its container, None for a program of the box."""

    model: str
    part: str
    unit: str
    container: str | None
    others: tuple[Other, ...]


@dataclass(frozen=True)
class Settings:
    """The groups with a part on this box, and where the key to the other boxes' status ports lies."""

    key_file: Path
    groups: tuple[Group, ...]

    def group(self, model: str) -> Group:
        """Given a model, return its group. Raise FloorError where none of it is on this box."""
        for group in self.groups:
            if group.model == model:
                return group
        raise FloorError(f"{paths.GROUP_SETTINGS}: tells of no group of {model}; run `floor deploy`, which writes it")


def load(root: Path = paths.ROOT) -> Settings:
    """Given the root of all paths, read the settings. Raise FloorError if they are missing or not as they must be."""
    document = Document.load(paths.under(root, paths.GROUP_SETTINGS))
    return Settings(document.path("status_key_file"), tuple(_group(group) for group in document.list("groups")))


def _group(found: Document) -> Group:
    others = tuple(Other(one.text("box"), one.text("status_url")) for one in found.list("others"))
    if not others:
        found.fail("others", "the other parts of the group")
    if found.text("part") not in ("head", "worker"):
        found.fail("part", "head or worker")
    container = found.text("container") if found.has("container") else None
    return Group(found.text("model"), found.text("part"), found.text("unit"), container, others)


def regrouped(group: Group, mark: Mark | None) -> str:
    """Given a group and the mark of its part here, return in words that it runs with other boxes than these; empty
    where it does not. What those tell says nothing of it: a deployment drains and replaces it."""
    now = [other.box for other in group.others]
    if mark is None or not mark.among or set(mark.among) == set(now):
        return ""
    return (
        f"runs with {', '.join(mark.among)}, {paths.GROUP_SETTINGS} names {', '.join(now)}: `floor deploy` replaces it"
    )


def keys(settings: Settings, root: Path) -> tuple[str, ...]:
    """Return the status key, and the one that follows it while it is being replaced. Raise FloorError without one."""
    return key_file.keys(settings.key_file, root, "status key")
