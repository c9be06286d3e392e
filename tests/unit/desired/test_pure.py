"""What boxes must hold is worked out without looking at anything: no file, no socket, no process."""

from __future__ import annotations

import sys

from tests.unit.desired.example import make

_watching = False
_seen: list[str] = []


def _hook(event: str, args: tuple[object, ...]) -> None:
    if _watching and event.startswith(("open", "socket.", "subprocess.", "os.", "shutil.", "tempfile.", "glob.")):
        _seen.append(f"{event} {args!r}")


def test_nothing_is_looked_at() -> None:
    global _watching
    make()  # templates are read once
    sys.addaudithook(_hook)
    _watching = True
    try:
        states = make(("listen: 8080}", "listen: 8088}"), ipv6=True)
    finally:
        _watching = False
    assert len(states) == 2
    assert _seen == []
