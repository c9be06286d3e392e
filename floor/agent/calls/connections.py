"""Who is connected to engines: to those of this box from elsewhere, and to any from this box."""

from __future__ import annotations

import ipaddress
import re
from collections import Counter
from typing import Any

from floor.agent.call import Call
from floor.box import connections, direct, status_ask

LOOKS, PAUSE = 6, 0.15  # at the connections, and the seconds between them: short requests are seen by chance in one
_TURNED = re.compile(r'^http_requests_total\{[^}]*handler="none"[^}]*status="4xx"[^}]*\} (\S+)$', re.MULTILINE)


def look(call: Call) -> dict[str, Any]:
    """{listen: [port of each engine here], engines: ["ADDRESS:PORT" of each anywhere], pages: [metrics page of each
    vLLM here]} → {come: [{port, address, connections}], go: [{address, port, unit, command, pid, floors, connections}],
    direct: [{address, connections}], turned: {page: requests that the engine turned away}}."""
    ports = {int(word) for word in call.params.texts("listen")}
    engines = set(filter(None, map(_place, call.params.texts("engines"))))
    come: Counter[tuple[int, str]] = Counter()
    go: Counter[tuple[tuple[str, int], connections.Program]] = Counter()
    known: dict[int, connections.Program] = {}
    for look_at in range(LOOKS):
        if look_at:
            call.sleep(PAUSE)
        seen, others = connections.established(), connections.elsewhere()
        out = [one for one in (*seen, *others) if one.peer in engines]
        known |= connections.programs({one.inode for one in out} - set(known))
        named = {one.own for one in others if one.peer in engines}  # a container here that asks an engine here
        # At one time, at most: who comes and goes is one client.
        come |= Counter((one.own[1], one.peer[0]) for one in seen if one.own[1] in ports and one.peer not in named)
        go |= Counter((one.peer, known[one.inode]) for one in out if one.inode in known)
    return {
        "come": [{"port": port, "address": peer, "connections": count} for (port, peer), count in come.items()],
        "go": [
            {
                "address": peer[0],
                "port": peer[1],
                "unit": program.unit,
                "command": program.command,
                "pid": program.pid,
                "floors": program.floors,
                "connections": count,
            }
            for (peer, program), count in go.items()
        ],
        "direct": direct.look(call.run),
        "turned": {page: _turned(page) for page in call.params.texts("pages")},
    }


def _place(word: str) -> tuple[str, int] | None:
    """`192.0.2.1:8000` or `[fd00::1]:8000` as a connection has it; None where that is a name."""
    address, _, port = word.rpartition(":")
    try:
        return str(ipaddress.ip_address(address.strip("[]"))), int(port)
    except ValueError:
        return None


def _turned(page: str) -> int | None:
    """How many requests a vLLM turned away before they came to any of its paths: without its key, or to a path that it
    has not. What comes through the proxy has both. None where it does not answer."""
    try:
        text = status_ask.get(page, None).decode("utf-8", "replace")
    except OSError:
        return None
    return round(sum(float(count) for count in _TURNED.findall(text)))
