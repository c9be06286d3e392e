"""A unit file as its settings: section and key to the values in their order."""

from __future__ import annotations

from floor.desired.state import BoxState


class UnitFile(dict[tuple[str, str], list[str]]):
    """`[("Service", "ExecStart")]` is the list of what stands there; comments are left out."""

    def one(self, section: str, key: str) -> str:
        """The only value of a key."""
        (value,) = self[section, key]
        return value


def read(state: BoxState, name: str) -> UnitFile:
    """The unit file `name` of a box, which must be there."""
    file = state.file(f"/etc/systemd/system/{name}")
    assert file is not None, name
    return parse(file.text)


def parse(text: str) -> UnitFile:
    """Given a unit file's text, return its settings."""
    found = UnitFile()
    section = ""
    for line in text.split("\n"):  # not splitlines: systemd ends a line nowhere else
        if line.startswith("["):
            section = line.strip("[]")
        elif line and not line.startswith("#"):
            key, _, value = line.partition("=")
            found.setdefault((section, key), []).append(value)
    return found
