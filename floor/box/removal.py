"""Takes floor off this machine again: its units, its files, its releases and its rule for sudo. As root."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from floor.box import command, containers, firewall, observe, paths, processes, systemctl
from floor.box.foreign import taken
from floor.box.foreign.undo import undo
from floor.box.operation import Operation
from floor.errors import FloorError

PATIENCE = 60.0  # seconds for an engine to end by itself before its processes are ended
STOPPED = ("inactive", "failed")
SETUP = paths.LIB / "setup.json"


def remove(
    *,
    purge: bool,
    root: Path = paths.ROOT,
    run: command.Run = command.run,
    sleep: Callable[[float], None] = time.sleep,
) -> list[str]:
    """Stop and remove floor's units and files. Models stay; /var/lib/floor, caches and the user unless `purge`.

    What floor had taken over comes back last, when its ports and memory are free; return a line for each of it.
    Raises HeldError while an operation holds this box, FloorError when something cannot be stopped.
    """
    with Operation(root).idle():
        names = observe.listed_units(root, run)
        for name in names:
            _stop(name, root, run, sleep)
        for place in sorted(paths.under(root, paths.UNITS).glob("floor*")):
            _delete(place)
        if run(["nft", "list", "table", *firewall.TABLE]).ok:  # its unit was stopped, or had lost sight of it
            run(["nft", "delete", "table", *firewall.TABLE])
        systemctl.do(["daemon-reload"], run)
        systemctl.do(["reset-failed"], run)
        for path in (paths.RUN, paths.ETC, paths.NEEDRESTART, paths.OPT):
            _delete(paths.under(root, path))
        for place in paths.under(root, "/etc/sudoers.d").glob("zz-floor-*"):
            _delete(place)
        _unmask(root, run)
        back = undo(root, run)
    if purge:
        # what could not be brought back stays on record: it tells a person what to do
        for path in (paths.CACHE, *(() if taken.read(root) else (paths.LIB,))):
            _delete(paths.under(root, path))
        if run(["getent", "passwd", "floor"]).ok:
            result = run(["userdel", "floor"])
            if not result.ok:
                raise FloorError(f"the user floor cannot be removed: {result.said}")
    return back


def _stop(name: str, root: Path, run: command.Run, sleep: Callable[[float], None]) -> None:
    unit = systemctl.show([name], run)[name]
    if unit.exists:
        systemctl.do(["disable", "--", name], run)
    if unit.active not in STOPPED:
        systemctl.do(["stop", "--no-block", "--", name], run)
    waited = 0.0
    while _there(name, root, run) and waited < PATIENCE:
        sleep(0.5)
        waited += 0.5
    if _there(name, root, run):
        systemctl.do(["kill", "--signal=SIGKILL", "--", name], run)
        sleep(1.0)
    boxed = containers.of_unit(name)
    if boxed in containers.inspect([boxed], run):
        containers.remove(boxed, run)
    if left := processes.in_cgroup(systemctl.show([name], run)[name].cgroup, root):
        raise FloorError(f"{name}: processes {left} cannot be ended; a driver may hold them: restart the box")


def _there(name: str, root: Path, run: command.Run) -> bool:
    unit = systemctl.show([name], run)[name]
    return unit.active not in STOPPED or bool(processes.in_cgroup(unit.cgroup, root))


def _delete(place: Path) -> None:
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    else:
        place.unlink(missing_ok=True)


def _unmask(root: Path, run: command.Run) -> None:
    """Put nginx's own service back as it was found: unmasked, and enabled if it was; it is not started."""
    try:
        before = json.loads(paths.under(root, SETUP).read_text())
    except FileNotFoundError:
        return
    systemctl.do(["unmask", "nginx.service"], run)
    if before["was"] == "enabled":
        systemctl.do(["enable", "nginx.service"], run)
    paths.under(root, SETUP).unlink()
