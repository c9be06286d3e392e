"""No way there, in a network namespace of the test's own: needs `unshare` (util-linux) and `ip` (iproute2)."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import Any

# Two ends of a cable; what is sent into one comes out of the other, where nobody takes it.
CABLE = """
ip link add near type veth peer name far
ip addr add 192.0.2.1/24 dev near
ip link set near up
ip link set far up
"""


def checked(network: str, address: str, timeout: str) -> tuple[dict[str, Any], float]:
    """Check an engine from inside a network that the lines of `network` make. Return the verdict and its seconds."""
    script = f'set -e\n{network}\nexec "$0" -m floor.healthcheck http://{address}:8000 --json --timeout {timeout}'
    began = time.monotonic()
    result = subprocess.run(
        ["unshare", "--net", "sh", "-c", script, sys.executable],
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    assert result.returncode == 2, result
    return json.loads(result.stdout), time.monotonic() - began


def test_a_network_without_a_route() -> None:
    verdict, _ = checked("", "192.0.2.11", "1")
    assert (verdict["level"], verdict["reason"]) == (0, "unreachable")
    assert verdict["evidence"] == "GET /health: no connection: Network is unreachable"
    assert not verdict["restartable"]


def test_a_box_that_is_off_is_found_in_bounded_time() -> None:
    """What is sent there gets no answer at all: neither refused nor timed out after connecting."""
    known = CABLE + "ip neigh add 192.0.2.11 lladdr 02:00:00:00:00:01 dev near\n"
    verdict, seconds = checked(known, "192.0.2.11", "0.5")
    assert verdict["reason"] == "unreachable"
    assert verdict["evidence"] == "GET /health: no connection within 0.5 s"
    assert seconds < 10, "the kernel would try for two minutes"


def test_a_route_that_ends() -> None:
    """The router's own word."""
    verdict, _ = checked(CABLE + "ip route add unreachable 198.51.100.0/24\n", "198.51.100.7", "1")
    assert verdict["evidence"] == "GET /health: no connection: No route to host"


def test_an_ipv6_box_that_is_off() -> None:
    """The address stays in its brackets from the URL to the socket."""
    verdict, _ = checked(CABLE + "ip addr add fd00::1/64 dev near nodad\n", "[fd00::2]", "0.5")
    assert verdict["url"] == "http://[fd00::2]:8000"
    assert verdict["reason"] == "unreachable"
