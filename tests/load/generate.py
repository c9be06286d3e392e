"""Steady load on one address by clients that never retry: `python tests/load/generate.py URL MODEL --clients 24 …`.

Each client sends one chat after the other, streamed or not in turn, and counts a request as good only if it got 200 and
all of its answer. Ends after --requests or --seconds, or on SIGTERM, letting open requests finish. Prints a line once
every client has sent its first request (or the load is over before that), and at the end one JSON object: {"sent",
"good", "statuses": {status: n}, "failures": [...], "requests": [[start, end], ...]}; times are of the machine's
monotonic clock, so that a test on the same machine can compare them with its own.
"""

from __future__ import annotations

import argparse
import asyncio
import collections
import json
import signal
import time
from typing import Any

import httpx

UNDER_WAY = "under way"


class Load:
    """The clients and what they saw."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.begun = time.monotonic()
        self.sent = 0
        self.over = self.told = False
        self.statuses: collections.Counter[str] = collections.Counter()
        self.failures: list[dict[str, Any]] = []
        self.requests: list[tuple[float, float]] = []

    def more(self) -> bool:
        if self.over or (self.options.requests and self.sent >= self.options.requests):
            return False
        return not self.options.seconds or time.monotonic() - self.begun < self.options.seconds

    async def client(self, client: httpx.AsyncClient, number: int) -> None:
        """One client: a request, its whole answer, the next request."""
        while self.more():
            self.sent += 1
            if self.sent >= self.options.clients:
                self.under_way()
            streamed = self.options.stream == "yes" or (self.options.stream == "both" and self.sent % 2 == 0)
            start = time.monotonic()
            status, problem, retry_after = await self.ask(client, number, streamed=streamed)
            end = time.monotonic()
            self.requests.append((start, end))
            self.statuses[status] += 1
            if problem:
                failure = {"status": status, "problem": problem, "start": start, "end": end}
                self.failures.append({**failure, "retry_after": retry_after})
                await asyncio.sleep(0.05)  # a client that is turned away at once must not become a flood

    def under_way(self) -> None:
        """Say once that all clients are at it."""
        if not self.told:
            print(UNDER_WAY, flush=True)
        self.told = True

    async def ask(self, client: httpx.AsyncClient, number: int, *, streamed: bool) -> tuple[str, str, str | None]:
        """Send one request. Return its status, what was wrong with it (empty where nothing was) and its Retry-After."""
        body = {
            "model": self.options.model,
            "messages": [{"role": "user", "content": f"client {number} " + "word " * self.options.words}],
            "max_tokens": self.options.tokens,
            "ignore_eos": True,
            "stream": streamed,
        }
        try:
            async with client.stream("POST", f"{self.options.url}/v1/chat/completions", json=body) as answer:
                text = (await answer.aread()).decode(errors="replace")
        except httpx.HTTPError as error:
            return "error", f"{type(error).__name__}: {error}", None
        if answer.status_code != httpx.codes.OK:
            return str(answer.status_code), text[:300], answer.headers.get("Retry-After")
        whole = "data: [DONE]" in text if streamed else '"finish_reason"' in text
        return "200", "" if whole else f"cut short after {len(text)} bytes", None

    async def run(self) -> None:
        """Run all clients until the load is over."""
        for name in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(name, lambda: setattr(self, "over", True))
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
        timeout = httpx.Timeout(self.options.timeout)
        async with httpx.AsyncClient(limits=limits, timeout=timeout, trust_env=False) as client:
            await asyncio.gather(*(self.client(client, number) for number in range(self.options.clients)))

    def report(self) -> dict[str, Any]:
        """What a test reads."""
        return {
            "sent": self.sent,
            "good": self.sent - len(self.failures),
            "statuses": dict(self.statuses),
            "failures": self.failures,
            "requests": self.requests,
        }


def main() -> None:
    """Read the options, run the load, print the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("model")
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--requests", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("--tokens", type=int, default=40)
    parser.add_argument("--words", type=int, default=20)
    parser.add_argument("--stream", choices=("yes", "no", "both"), default="both")
    parser.add_argument("--timeout", type=float, default=120)
    load = Load(parser.parse_args())
    asyncio.run(load.run())
    load.under_way()
    print(json.dumps(load.report()))


if __name__ == "__main__":
    main()
