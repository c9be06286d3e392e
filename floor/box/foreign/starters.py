"""Units, timers and lines of cron that mention an engine: they may start one, stop one, or fight with ours."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from floor.box import paths
from floor.box.command import Run, run
from floor.box.foreign import hidden, known

PROPERTIES = (
    "Id,FragmentPath,UnitFileState,ActiveState,ExecStart,ExecStartPre,ExecStop,Environment,User,Conflicts,Triggers,"
    "Restart"
)
LARGEST = 256 * 1024  # bytes of a script that is looked into
_ARGV = re.compile(r"argv\[\]=(.*?) ; ignore_errors=")
_PLACES = re.compile(r"(?<![\w./-])(/[\w./+@-]+)")
_COMMENT = re.compile(r"\s*(#|$)")
_ASSIGNMENT = re.compile(r"\s*[A-Za-z_]\w*\s*=")


def look(names: Iterable[str], ports: Iterable[int], root: Path = paths.ROOT, run: Run = run) -> dict[str, Any]:
    """Given names of units and containers that run engines, and the ports that floor wants, return what mentions them.

    {units: [{name, fragment, enabled, active, conflicts, argv, triggers, restart, mentions}], cron: [{path, number,
    user, line, mentions}]}. `mentions` is a list of {word, where, line}: the word, the file and line it stands in, and
    the line.
    """
    seek = Seek(names, ports, root)
    return {"units": units(seek, run), "cron": cron(seek)}


class Seek:
    """Words that are looked for in command lines and in the scripts that they name."""

    def __init__(self, names: Iterable[str], ports: Iterable[int], root: Path) -> None:
        self.root = root
        plain = sorted({name.removesuffix(".service") for name in names}, key=len, reverse=True)
        self._words = [re.compile(rf"(?<![\w-]){re.escape(name)}(?!\w)") for name in plain]
        self._words += [re.compile(r"\bfloor-copy-[\w.-]*"), known.WORDS]
        self._ports = [re.compile(rf"(?<![\d.])(?:[\w.\]]*:)?{port}(?!\d)") for port in sorted(set(ports))]

    def mentions(self, command: str, where: str) -> list[dict[str, str]]:
        """Given a command line and where it stands, return what it mentions, also in scripts of the box that it
        runs."""
        found = list(self._line(command, where))
        for place in dict.fromkeys(_PLACES.findall(command)):
            found += self._script(place)
        return found[:8]

    def _script(self, place: str) -> Iterator[dict[str, str]]:
        path = paths.under(self.root, place)
        try:
            if not path.is_file() or path.stat().st_size > LARGEST:
                return
            text = path.read_text()
        except (OSError, UnicodeError):
            return
        for number, line in enumerate(text.splitlines(), start=1):
            if not _COMMENT.match(line):
                yield from self._line(line, f"{place}:{number}")

    def _line(self, line: str, where: str) -> Iterator[dict[str, str]]:
        for pattern in self._words:
            if hit := pattern.search(line):
                yield {"word": hit[0], "where": where, "line": hidden.text(line.strip())[:200]}
                return
        for pattern in self._ports:
            if hit := pattern.search(line):
                yield {"word": hit[0].rpartition(":")[2], "where": where, "line": hidden.text(line.strip())[:200]}
                return


def units(seek: Seek, run: Run = run) -> list[dict[str, Any]]:
    """Return the services and timers that are enabled or active, are not floor's, and mention something."""
    listed = run(
        [
            "systemctl",
            "list-unit-files",
            "--type=service,timer",
            "--state=enabled,enabled-runtime",
            "--no-legend",
            "--plain",
        ]
    )
    active = run(
        ["systemctl", "list-units", "--type=service,timer", "--state=active,activating", "--no-legend", "--plain"]
    )
    names = {line.split()[0] for line in (*listed.out.splitlines(), *active.out.splitlines()) if line.split()}
    shown = _shown(sorted(name for name in names if "@." not in name), run)
    triggered = sorted({name for one in shown.values() for name in one.get("Triggers", "").split()} - set(shown))
    shown |= _shown(triggered, run)
    found = []
    for name, one in shown.items():
        if name.startswith("floor") or name in triggered:
            continue
        told = [name, *(one.get("Triggers", "").split() if name.endswith(".timer") else ())]
        mentions = [hit for each in told for hit in _commands(each, shown.get(each, {}), seek)]
        conflicts = [other for other in one.get("Conflicts", "").split() if other.startswith("floor-")]
        if mentions or conflicts:
            found.append(_unit(name, one, mentions, conflicts))
    return found


def _commands(name: str, one: Mapping[str, str], seek: Seek) -> Iterator[dict[str, str]]:
    where = one.get("FragmentPath") or name
    for key in ("ExecStartPre", "ExecStart", "ExecStop"):
        for argv in _ARGV.findall(one.get(key, "")):
            yield from seek.mentions(argv, where)


def _unit(name: str, one: Mapping[str, str], mentions: list[dict[str, str]], conflicts: list[str]) -> dict[str, Any]:
    return {
        "name": name,
        "fragment": one.get("FragmentPath", ""),
        "enabled": one.get("UnitFileState", ""),
        "active": one.get("ActiveState", ""),
        "conflicts": conflicts,
        "argv": [hidden.text(argv) for argv in _ARGV.findall(one.get("ExecStart", ""))],
        "triggers": one.get("Triggers", "").split(),
        "restart": one.get("Restart", ""),
        "mentions": mentions,
    }


def _shown(names: list[str], run: Run) -> dict[str, dict[str, str]]:
    if not names:
        return {}
    told = run(["systemctl", "show", "--no-pager", f"--property={PROPERTIES}", "--", *names])
    found: dict[str, dict[str, str]] = {}
    for block in told.out.split("\n\n"):
        rows: dict[str, str] = {}
        for line in block.splitlines():
            key, mark, value = line.partition("=")
            if mark:
                rows[key] = f"{rows[key]}\n{value}" if key in rows else value
        if rows.get("Id"):
            found[rows["Id"]] = rows
    return found


def cron(seek: Seek) -> list[dict[str, Any]]:
    """Return the lines of cron that mention something: the system's files and every user's."""
    found = []
    for path, system in _tables(seek.root):
        try:
            lines = path.read_text(errors="replace").splitlines()
        except OSError:
            continue
        place = f"/{path.relative_to(seek.root)}"
        for number, line in enumerate(lines, start=1):
            command = None if _COMMENT.match(line) or _ASSIGNMENT.match(line) else _command(line, system=system)
            if command and (mentions := seek.mentions(command[1], f"{place}:{number}")):
                user = command[0] or path.name
                found.append(
                    {"path": place, "number": number, "user": user, "line": hidden.text(line), "mentions": mentions}
                )
    return found


def _tables(root: Path) -> list[tuple[Path, bool]]:
    """Where cron reads its lines (cron(8)); those of the system name a user in front of the command."""
    system = [paths.under(root, "/etc/crontab"), *sorted(paths.under(root, "/etc/cron.d").glob("*"))]
    users = sorted(paths.under(root, "/var/spool/cron/crontabs").glob("*")) + sorted(
        paths.under(root, "/var/spool/cron").glob("*")
    )
    return [(path, True) for path in system if path.is_file()] + [(path, False) for path in users if path.is_file()]


def _command(line: str, *, system: bool) -> tuple[str, str] | None:
    words = line.split(None, (1 if line.lstrip().startswith("@") else 5) + system)
    least = (2 if line.lstrip().startswith("@") else 6) + system
    if len(words) < least:
        return None
    return (words[-2] if system else ""), words[-1]
