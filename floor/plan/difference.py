"""Where a box differs from what is wanted: files, units, and the processes that run."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import PurePosixPath

from floor.box import paths
from floor.desired.state import BoxState, File, Kind, Unit
from floor.engines.build import flag_changes, pieces
from floor.plan.seen import Seen, UnitSeen

COPY_PREFIX = "floor-copy-"
GROUP_PREFIX = "floor-group-"
ENGINE_PREFIXES = (COPY_PREFIX, GROUP_PREFIX)
NGINX_TITLE = "nginx: master process "
_UNITS, _ENGINES, _GROUPS = f"{paths.UNITS}/", f"{paths.ENGINES}/", f"{paths.GROUPS}/"
# What each kind of process reads of the keys when it starts (nginx: at a reload, too).
KEYS: dict[Kind, tuple[str, ...]] = {
    Kind.COPY: (str(paths.ENGINE_ENV),),
    Kind.GROUP: (str(paths.ENGINE_ENV),),
    Kind.GROUPS: (str(paths.STATUS_KEY), str(paths.STATUS_NEXT)),
    Kind.PROXY: tuple(map(str, (paths.ENGINE_KEY_CONF, paths.ENGINE_NEXT_CONF, paths.CLIENTS_CONF))),
    Kind.POOL: tuple(map(str, (paths.ENGINE_KEY, paths.ENGINE_NEXT, paths.STATUS_KEY, paths.STATUS_NEXT))),
    Kind.METRICS: tuple(map(str, (paths.ENGINE_KEY, paths.ENGINE_NEXT))),
    Kind.STATUS: tuple(map(str, (paths.STATUS_KEY, paths.STATUS_NEXT))),
}


@dataclass(frozen=True)
class FileDifference:
    """One file that is not as wanted. `wanted` is None where it should not be there."""

    path: str
    wanted: File | None
    what: str


def belongs_to(path: str) -> str | None:
    """Given an absolute path, return the engine's unit that it belongs to, of a copy or of a part of a group, or None
    where it is the whole box's.

    A unit file, its drop-ins and an engine's settings change together with it, never before its turn. A drop-in of
    several units at once (`floor-.service.d`, systemd.unit(5)) is the whole box's.
    """
    if path.startswith(_UNITS):
        name = path.removeprefix(_UNITS).partition("/")[0].removesuffix(".d")
        return name if name.startswith(ENGINE_PREFIXES) and not name.endswith("-.service") else None
    if path.startswith(_ENGINES):
        return f"{COPY_PREFIX}{path.removeprefix(_ENGINES).removesuffix('.json')}.service"
    if path.startswith(_GROUPS):
        return f"{GROUP_PREFIX}{path.removeprefix(_GROUPS).removesuffix('.json')}.service"
    return None


def model_of(unit: str) -> str:
    """Given an engine's unit, return the model that it serves."""
    return unit.removeprefix(COPY_PREFIX).removeprefix(GROUP_PREFIX).removesuffix(".service")


def files(wanted: BoxState, seen: Seen) -> list[FileDifference]:
    """Every file of the box that is missing, differs or should not be there."""
    found = [different for file in wanted.files if (different := compare(file, seen))]
    ours = {file.path for file in wanted.files}
    return found + [FileDifference(path, None, _stray(path)) for path in seen.owned if path not in ours]


def compare(file: File, seen: Seen) -> FileDifference | None:
    """How a file that is wanted differs from what lies on the box; None where it does not."""
    there = seen.files.get(file.path)
    if there is None:
        return FileDifference(file.path, file, "missing")
    if there.sha256 != file.sha256:
        return FileDifference(file.path, file, "differs")
    if (there.mode, there.owner) != (file.mode, file.owner):
        what = f"is {there.owner} {there.mode:04o}, should be {file.owner} {file.mode:04o}"
        return FileDifference(file.path, file, what)
    return None


def _stray(path: str) -> str:
    drop_in = path.startswith(_UNITS) and PurePosixPath(path).parent.name.endswith(".d")
    return "is a drop-in that floor did not write" if drop_in else "is no longer wanted"


def relaunch(unit: Unit, seen: UnitSeen, box: Seen) -> str | None:
    """Why the running process of `unit` must be replaced, or None.

    Given the unit as wanted, the unit as seen and its box. Bytes of a file alone are no reason, and a unit without
    a process has nothing to replace.
    """
    if not seen.argv:
        return None
    if unit.kind is Kind.PROXY:
        return _title(unit, seen)
    if not seen.launch:
        return _untold(unit, seen, box)
    if seen.launch != unit.launch.digest:
        return _changed(unit, seen)
    running = command(unit.launch.argv, seen.argv)
    if running != unit.launch.argv and len(running) > 1:
        return f"it runs with other arguments: {_words(unit.launch.argv, running)}"
    for key, value in unit.launch.env.items():
        if seen.env.get(key) != value:
            return f"it runs with {key}={seen.env.get(key, '')!r}, wanted {value!r}"
    image = unit.launch.image
    if image and seen.image and box.images.get(image) not in (None, seen.image):
        return f"{image} is another image now ({(box.images[image] or '')[:19]}), it runs {seen.image[:19]}"
    if drop_ins := strays(seen, box):
        return f"drop-in {', '.join(drop_ins)} may have changed how it runs"
    # A process that tells its key needs no guess by its age.
    return stale(unit, seen, box) if unit.kind in (Kind.COPY, Kind.GROUP) and not seen.key else None


def command(wanted: tuple[str, ...], running: tuple[str, ...]) -> tuple[str, ...]:
    """Given a command line as planned and as /proc shows it, return the latter from the program's name on.

    The kernel puts the interpreter of a script, and one word more, in front of it (execve(2)): vLLM's `vllm` is one.
    A process that gave itself a title shows that alone, a single word.
    """
    for place in range(min(3, len(running))):
        if running[place] == wanted[0]:
            return running[place:]
    return running


def _untold(unit: Unit, seen: UnitSeen, box: Seen) -> str | None:
    """A process whose title was written over its environment tells nothing: then its age against its unit's decides."""
    file = box.files.get(f"{_UNITS}{unit.name}")
    if file is not None and seen.main_started is not None and seen.main_started > file.mtime:
        return None
    return "it does not tell what it was started with, and its unit is younger"


def strays(seen: UnitSeen, box: Seen) -> list[str]:
    """The drop-ins of a unit that floor takes away together with it.

    One for all services of the box (`service.d`) is not floor's; one for all copies (`floor-copy-.service.d`) goes with
    what is the whole box's.
    """
    own = seen.name if seen.name.startswith(ENGINE_PREFIXES) else None
    return [path for path in seen.dropins if path in box.owned and belongs_to(path) == own]


def stale(unit: Unit, seen: UnitSeen, box: Seen) -> str | None:
    """Why a running process must read its files again, or None: one of them is younger than it is.

    For nginx the youngest worker counts, which a reload makes anew; keepalived's unit notes what was read last.
    """
    if unit.kind is Kind.ADDRESS:
        return _unread(unit, box)
    read_at = seen.youngest_child if unit.kind is Kind.PROXY else seen.main_started
    for path in (*unit.reload_on, *KEYS.get(unit.kind, ())):
        there = box.files.get(path)
        if there is not None and read_at is not None and there.mtime > read_at:
            return f"{path} changed after it was read"
    return None


def _unread(unit: Unit, box: Seen) -> str | None:
    """A reload of keepalived changes no process: what it has read is kept beside it, and compared by its digest."""
    for path in unit.reload_on:
        there, read = box.files.get(path), box.texts.get(str(paths.ADDRESS_READ))
        if there is not None and (read is None or hashlib.sha256(read.encode()).hexdigest() != there.sha256):
            return f"{path} changed after it was read"
    return None


def _title(unit: Unit, seen: UnitSeen) -> str | None:
    """nginx overwrites its arguments with a title that still holds them."""
    title = NGINX_TITLE + " ".join(unit.launch.argv)
    running = " ".join(seen.argv)
    return None if running.startswith(title) else f"it runs as {running!r}"


def _changed(unit: Unit, seen: UnitSeen) -> str:
    running = command(unit.launch.argv, seen.argv)
    if running != unit.launch.argv and len(running) > 1:
        return _words(unit.launch.argv, running)
    return "its settings, environment or release changed"


def _words(wanted: tuple[str, ...], running: tuple[str, ...]) -> str:
    """What differs between two command lines: `--flag old → new`, what is gone, what is new."""
    told = flag_changes(pieces(running), pieces(wanted))
    return "arguments change: " + ", ".join(told) if told else "arguments change their order"
