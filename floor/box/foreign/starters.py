"""Units, timers and lines of cron that mention an engine: they may start one, stop one, or fight with ours."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from floor.box import paths
from floor.box.command import Run, run
from floor.box.foreign import hidden, known
from floor.box.foreign.rivals import rivals

PROPERTIES = (
    "Id,FragmentPath,UnitFileState,ActiveState,ExecStart,ExecStartPre,ExecStop,Environment,User,Conflicts,Triggers,"
    "Restart"
)
LARGEST = 256 * 1024  # bytes of a script that is looked into
_ARGV = re.compile(r"argv\[\]=(.*?) ; ignore_errors=")
_PLACES = re.compile(r"(?<![\w./-])(/[\w./+@-]+)")
# what does something to engines; what only asks for their health does not
_ACTS = re.compile(
    r"(?<![\w.-])(systemctl|service|docker|podman|kill|pkill|killall|tmux|screen|nohup|reboot|llama-server|floor\.sim)\b"
    r"|\b(vllm|ollama) serve\b|vllm\.entrypoints"
)
_COMMENT = re.compile(r"\s*(#|$)")
_ASSIGNMENT = re.compile(r"\s*[A-Za-z_]\w*\s*=")


def look(names: Iterable[str], ports: Iterable[int], root: Path = paths.ROOT, run: Run = run) -> dict[str, Any]:
    """Given names of units and containers that run engines, and the ports that floor wants, return what mentions them.

    {units: [{name, fragment, enabled, active, conflicts, argv, triggers, restart, mentions}], cron: [{path, number,
    user, line, mentions}], rivals: {unit: [units of ours that it conflicts with]}}. `mentions` is a list of {word,
    where, line, acts}: the word, the file and line it stands in, the line, and whether that does something to engines.
    """
    against = rivals(root)
    seek = Seek([*names, *against], ports, root)
    return {"units": units(seek, run), "cron": cron(seek), "rivals": against}


class Seek:
    """Words that are looked for in command lines and in the scripts that they name."""

    def __init__(self, names: Iterable[str], ports: Iterable[int], root: Path) -> None:
        self.root = root
        plain = sorted({name.removesuffix(".service") for name in names}, key=len, reverse=True)
        self._words = [re.compile(rf"(?<![\w-]){re.escape(name)}(?!\w)") for name in plain]
        self._words += [re.compile(r"\bfloor-(?:copy|group)-[\w.-]*"), known.WORDS]
        self._ports = [re.compile(rf"(?<![\d.])(?:[\w.\]]*:)?{port}(?!\d)") for port in sorted(set(ports))]

    def mentions(self, command: str, where: str) -> list[dict[str, Any]]:
        """Given a command line and where it stands, return what it mentions, also in scripts of the box that it runs.

        `acts` tells whether that line's script or command line does something to engines, or only looks.
        """
        found = self._text([command], where, numbered=False)
        for place in dict.fromkeys(_PLACES.findall(command)):
            found += self._script(place)
        return found[:8]

    def _script(self, place: str) -> list[dict[str, Any]]:
        """What a script mentions. A file that nobody can run is its program's configuration, and starts nothing."""
        path = paths.under(self.root, place)
        try:
            if not path.is_file() or path.stat().st_size > LARGEST:
                return []
            text = path.read_text()
        except (OSError, UnicodeError):
            return []
        return self._text(text.splitlines(), place, numbered=True) if text.startswith("#!") else []

    def _text(self, lines: list[str], where: str, *, numbered: bool) -> list[dict[str, Any]]:
        said = [(number, line) for number, line in enumerate(lines, start=1) if not _COMMENT.match(line)]
        acts = any(_ACTS.search(line) for _, line in said)
        found = []
        for number, line in said:
            place = f"{where}:{number}" if numbered else where
            shown = hidden.shown(line)[:200]
            found += [{"word": word, "where": place, "line": shown, "acts": acts} for word in self._words_in(line)]
        return found

    def _words_in(self, line: str) -> Iterator[str]:
        """The first name or engine of a line, and the first port."""
        for patterns in (self._words, self._ports):
            if hit := next((hit for pattern in patterns if (hit := pattern.search(line))), None):
                yield hit[0].rpartition(":")[2]


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
    # what a timer starts is told with the timer; once that is gone, a run of it that is left is told by itself
    triggered = {name for one in shown.values() for name in one.get("Triggers", "").split()}
    shown |= _shown(sorted(triggered - set(shown)), run)
    found = []
    for name, one in shown.items():
        if name.startswith("floor-") or name == "floor.target" or name in triggered:
            continue
        told = [name, *(one.get("Triggers", "").split() if name.endswith(".timer") else ())]
        mentions = [hit for each in told for hit in _commands(each, shown.get(each, {}), seek)]
        conflicts = [other for other in one.get("Conflicts", "").split() if other.startswith("floor-")]
        if mentions or conflicts:
            found.append(_unit(name, one, mentions, conflicts))
    return found


def _commands(name: str, one: Mapping[str, str], seek: Seek) -> Iterator[dict[str, Any]]:
    where = one.get("FragmentPath") or name
    for key in ("ExecStartPre", "ExecStart", "ExecStop"):
        for argv in _ARGV.findall(one.get(key, "")):
            yield from seek.mentions(argv, where)


def _unit(name: str, one: Mapping[str, str], mentions: list[dict[str, Any]], conflicts: list[str]) -> dict[str, Any]:
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
            # as cron counts them; str.splitlines would end a line at a form feed, too
            lines = path.read_bytes().decode(errors="surrogateescape").split("\n")
        except OSError:
            continue
        place = f"/{path.relative_to(seek.root)}"
        for number, line in enumerate(lines, start=1):
            command = None if _COMMENT.match(line) or _ASSIGNMENT.match(line) else _command(line, system=system)
            if command and (mentions := seek.mentions(command[1], f"{place}:{number}")):
                user = command[0] or path.name
                found.append(
                    {
                        "digest": digest(line),
                        "path": place,
                        "number": number,
                        "user": user,
                        "line": hidden.shown(line),
                        "mentions": mentions,
                    }
                )
    return found


def digest(line: str) -> str:
    """Given a line of cron, return what names it without telling it."""
    return hashlib.sha256(line.encode(errors="surrogateescape")).hexdigest()


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
