"""`python -I -m floor.agent.leave UNIT /etc/floor/engines/MODEL.json --within SECONDS`: a copy leaves before it stops.

It is the first ExecStop= of a copy's unit, whoever stops it: a person, a reboot, floor. It marks the copy as leaving,
which the status port tells at once, so that pools take it out; it ends when every pool has let go of it and its engine
has nothing left to do. Then systemd goes on with the stop.

It does not wait where the engine is dead already, nor where floor itself stops it: that has drained it before.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from floor.box import alive, leaving, paths
from floor.box.document import Document
from floor.errors import FloorError

FRESH = 30.0  # seconds for which floor's own word counts that it stops a copy; systemd acts on it at once
POLL = 0.1


def main(argv: Sequence[str] | None = None, environ: Mapping[str, str] = os.environ) -> int:
    """Given the arguments and what systemd put into the environment, wait. Return the exit code."""
    options = _options(argv)
    pid = environ.get("MAINPID", "")
    if not pid.isdigit() or alive.began(pid) is None:
        return 0  # it died: there is nothing to wait for
    invocation = environ.get("INVOCATION_ID", "")
    drained = leaving.read(paths.DRAINED, options.root).get(options.unit)
    if drained and drained.invocation == invocation and time.monotonic() - drained.monotonic < FRESH:
        return 0
    try:
        mark = leaving.Mark(invocation, time.time(), time.monotonic())
        leaving.put(paths.LEAVING, options.unit, mark, options.root)
        _wait(options, pid)
    except FloorError as error:
        _log(f"floor-leave: {options.unit}: stops without having been drained: {error}")
        return error.exit_code
    return 0


def _wait(options: argparse.Namespace, pid: str) -> None:
    """Wait until the copy is out of every pool and its engine is idle, as long as there is an engine."""
    # Imported late: who need not wait, does not pay for it.
    from floor.agent.leave_ask import Engine, Proxies, load
    from floor.agent.leave_decide import holding, idle
    from floor.box.status_ask import either

    settings = Document.load(options.settings)
    backend = settings.text("backend")
    key = _secret(settings.path("key_file"), options.root) if settings.has("key_file") else None
    engine = Engine(backend, settings.text("url"), settings.text("dialect"), key)
    began, process = time.monotonic(), alive.began(pid)
    get = either(_following(options.root))
    proxies = Proxies(*_proxies(options.root), backend, get)
    quiet, said, looked = 0, "", float("-inf")
    while process is not None and alive.began(pid) == process and time.monotonic() - began < options.within:
        waited = time.monotonic() - began
        if held := holding(proxies.now(), waited):
            said = _say(f"{backend}: leaves; waits for the pools of {', '.join(held)}", said)
        elif time.monotonic() - looked >= 2 * POLL:
            count = load(engine, get)
            looked = time.monotonic()
            quiet = quiet + 1 if not (_connected(engine.url) if count is None else count) else 0
            if idle(quiet):
                break
            if not quiet:
                said = _say(f"{backend}: leaves; is out of the pools, and finishes what it has", said)
        time.sleep(POLL)
    proxies.close()
    _log(f"{backend}: may be stopped, {time.monotonic() - began:.1f} s after it was told to")


def _connected(url: str) -> int:
    """How many connections an engine has that does not tell what it works on."""
    from urllib.parse import urlsplit

    from floor.box import facts, processes

    parts = urlsplit(url)
    return processes.connections(parts.hostname or "", parts.port or 80, facts.addresses())


def _proxies(root: Path) -> tuple[dict[str, str], str | None]:
    """Return the status ports of the proxy boxes by name, and the key to them. Raise FloorError if unknown."""
    settings = Document.load(paths.under(root, paths.LEAVE_SETTINGS))
    ports = {one.text("box"): one.text("status_url") for one in settings.list("proxies")}
    return ports, _secret(settings.path("status_key_file"), root)


def _following(root: Path) -> dict[str, str]:
    """The key that follows each of the two, while it is being replaced."""
    pairs = ((paths.ENGINE_KEY, paths.ENGINE_NEXT), (paths.STATUS_KEY, paths.STATUS_NEXT))
    there = [(old, new) for old, new in pairs if paths.under(root, new).exists()]
    return {_secret(old, root): _secret(new, root) for old, new in there}


def _secret(path: Path, root: Path) -> str:
    place = paths.under(root, path)
    try:
        return place.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise FloorError(f"{place}: the key cannot be read ({error}); `floor deploy` makes it") from error


def _say(words: str, said: str) -> str:
    if words != said:
        _log(words)
    return words


def _log(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m floor.agent.leave", description=__doc__)
    parser.add_argument("unit", help="the unit that is stopped")
    parser.add_argument("settings", type=Path, help="/etc/floor/engines/MODEL.json")
    parser.add_argument("--within", type=float, default=60.0, metavar="SECONDS", help="the longest that it may wait")
    parser.add_argument("--root", type=Path, default=paths.ROOT, help="folder that all paths lie below (default: /)")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
