"""What floor's nginx files cost: the rendered proxy against the plainest one, in turns, medians.

python benchmarks/proxy.py [--rounds 9] [--seconds 1] [--json]

Both stand in front of the same backend, an nginx that answers at once. In each round both get the same load, first one
and then the other. Goals, with clients that open a connection a request: p50 at most 1.05 times, requests a second at
least 0.95 times the plain one's. Clients that keep their connections are measured too: floor's proxy closes them after
each answer, so that no reload loses a request, and that is what it costs them.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.load import Load, Result, run, tool
from benchmarks.plain import BACKEND, PROXY, free_port, nginx
from tests.integration.proxy import Copy, Proxy, site

SLOWEST, LEAST = 1.05, 0.95


@contextmanager
def _rendered(backend: int) -> Iterator[int]:
    """The proxy as floor renders it, but for where its log goes: a file, as the plain one's."""
    proxy = Proxy(site([Copy("127.0.0.1", backend)]))
    path = "/etc/floor/nginx/http/log.conf"
    journal, file = "syslog:server=unix:", f"{proxy.root}/access.log floor if=$floor_log; #"
    if journal not in proxy.files[path]:
        raise RuntimeError(f"{path} does not log to the journal any more: this benchmark must follow")
    proxy.files[path] = proxy.files[path].replace(journal, file)
    with proxy:
        yield proxy.port()


def measure(rounds: int, load: Load) -> tuple[list[Result], list[Result]]:
    """Given how often and how, return what clients of the plain and of the rendered proxy saw, round by round."""
    backend, port = free_port(), free_port()
    plain, rendered = [], []
    http = PROXY.format(backend=backend, port=port)
    with nginx(BACKEND.format(port=backend), backend, "1"), nginx(http, port, "auto"), _rendered(backend) as ours:
        for which in (port, ours):
            run(which, replace(load, seconds=1))
        for number in range(rounds):
            turns = [(port, plain), (ours, rendered)]
            for which, found in turns if number % 2 else reversed(turns):
                found.append(run(which, load))
    return plain, rendered


def ratios(plain: list[Result], rendered: list[Result]) -> tuple[float, float]:
    """The medians over the rounds of rendered / plain: of the p50, and of the requests a second."""
    pairs = list(zip(plain, rendered, strict=True))
    p50 = statistics.median(ours.median / theirs.median for theirs, ours in pairs)
    return p50, statistics.median(ours.rate / theirs.rate for theirs, ours in pairs)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=int, default=1)
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    found = {}
    for name, keeps in (("a connection a request", False), ("connections kept", True)):
        plain, rendered = measure(chosen.rounds, Load(chosen.connections, chosen.seconds, keeps))
        p50, rate = ratios(plain, rendered)
        found[name] = {
            "plain_rate": statistics.median(result.rate for result in plain),
            "rendered_rate": statistics.median(result.rate for result in rendered),
            "plain_p50": statistics.median(result.median for result in plain),
            "rendered_p50": statistics.median(result.median for result in rendered),
            "p50_ratio": p50,
            "rate_ratio": rate,
            "failed": sum(result.failed for result in (*plain, *rendered)),
        }
    if chosen.json:
        print(json.dumps(found, indent=1))
    else:
        _print(found, chosen.rounds)
    goal = found["a connection a request"]
    met = goal["p50_ratio"] <= SLOWEST and goal["rate_ratio"] >= LEAST and not goal["failed"]
    return 0 if met else 1


def _print(found: dict[str, dict[str, float]], rounds: int) -> None:
    print(f"load by {tool()}, medians of {rounds} rounds in turns\n")
    print(f"{'clients':24} {'':10} {'plain':>9} {'rendered':>9} {'ratio':>7}")
    for name, one in found.items():
        goal = (f"   goal <= {SLOWEST}", f"   goal >= {LEAST}") if "request" in name else ("", "")
        p50 = f"{one['plain_p50'] * 1e6:9.0f} {one['rendered_p50'] * 1e6:9.0f} {one['p50_ratio']:7.3f}{goal[0]}"
        rate = f"{one['plain_rate']:9.0f} {one['rendered_rate']:9.0f} {one['rate_ratio']:7.3f}{goal[1]}"
        print(f"{name:24} {'p50, us':10} {p50}")
        print(f"{'':24} {'req/s':10} {rate}")
        if one["failed"]:
            print(f"{'':24} {int(one['failed'])} requests failed")


if __name__ == "__main__":
    sys.exit(main())
