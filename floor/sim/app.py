"""The ASGI application: faults that meet every request, the key, routing, and what is counted of it all."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from floor.sim import control
from floor.sim.exchange import Exchange, Gone, Receive, Reply, Send
from floor.sim.generate import broken
from floor.sim.journal import Entry
from floor.sim.kinds import KINDS
from floor.sim.refusals import Refusal
from floor.sim.simulator import Simulator

PLAIN = "text/plain; charset=utf-8"
# vLLM leaves these out of its http_… families.
UNCOUNTED = ("/metrics", "/health", "/load", "/ping", "/version", "/server_info")
LOADING = {"message": "Loading model", "type": "unavailable_error", "code": 503}  # llama.cpp's words


class App:
    def __init__(self, sim: Simulator) -> None:
        self.sim = sim
        self.kind = KINDS[sim.settings.simulation.dialect]

    async def __call__(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        """ASGI 3; HTTP only."""
        exchange = Exchange(scope, receive, send, lambda: self.sim.doors.drop(scope["client"]), dress=self.kind.dress)
        on_control_port = scope["server"][1] == self.sim.settings.simulation.control_port
        try:
            if exchange.path.startswith(control.PREFIX) and control.allowed(self.sim, exchange):
                await control.handle(self.sim, exchange)
            elif on_control_port:
                await exchange.reply(Reply.json({"error": "this is the control port: /sim/state, /sim/faults"}, 404))
            else:
                await self._take(exchange)
        except Gone:
            return
        finally:
            exchange.close()

    async def _take(self, exchange: Exchange) -> None:
        """One request of a client, from arrival to whatever became of it."""
        started = self.sim.now()
        entry = self.sim.journal.open(exchange.method, exchange.path, time.time())
        entry.host = exchange.header(b"host")
        entry.framing = exchange.header(b"transfer-encoding") or exchange.header(b"content-length")
        self.sim.load += 1
        try:
            body = await exchange.body()
            entry.took(body)
            await self._faults(exchange)
            await self._route(exchange, body, entry)
        except Refusal as refusal:
            await exchange.reply(self.kind.refused(refusal))
        finally:
            self.sim.load -= 1
            entry.status, entry.outcome = exchange.status, exchange.outcome
            self._count(exchange, self.sim.now() - started)

    async def _faults(self, exchange: Exchange) -> None:
        """Faults that meet any request. Raises Refusal where one is the answer, Gone where there is to be none."""
        sim = self.sim
        loading = sim.strike("loading")
        listed = loading is not None and loading.options["models"] and exchange.path == "/v1/models"
        if not sim.loaded or (loading and not listed):
            raise Refusal(503, LOADING)
        if late := sim.strike("slow-headers"):
            exchange.delay = late.number("seconds")
        if sim.strike("drop"):
            await exchange.cut()
        if sim.strike("hang"):
            exchange.watch()
            await exchange.left()
            raise Gone
        error = sim.faults.get("error", sim.now())
        if error is not None and error.options["routes"] == "all":
            sim.strike("error")
            raise broken(int(error.number("status")))

    async def _route(self, exchange: Exchange, body: bytes, entry: Entry) -> None:
        if self.kind.forbids(exchange, self.sim.settings):
            await exchange.reply(Reply(403))
            return
        self._allow_origin(exchange)
        if exchange.method == "OPTIONS" and exchange.header(b"access-control-request-method"):
            await exchange.reply(self._preflight(exchange))
            return
        if not self._may(exchange):
            await exchange.reply(self.kind.unauthorized)
            return
        found = self.kind.find(exchange.path, self.sim.settings)
        if found is None:
            await exchange.reply(self.kind.unknown)
        elif exchange.method not in found[1].methods:
            allow = (b"allow", ", ".join(found[1].methods).encode())
            await exchange.reply(Reply.json({"detail": "Method Not Allowed"}, 405, first=(allow,)))
        else:
            await found[1].handler(self.sim, exchange, body, entry)

    def _allow_origin(self, exchange: Exchange) -> None:
        allowed, origin = self.sim.settings.allowed_origins, exchange.header(b"origin")
        if origin is not None and ("*" in allowed or origin in allowed):
            value = "*" if "*" in allowed else origin
            exchange.more = ((b"access-control-allow-origin", value.encode()),)

    def _preflight(self, exchange: Exchange) -> Reply:
        if exchange.more:
            return Reply(200, b"OK", PLAIN)
        return Reply(400, b"Disallowed CORS origin", PLAIN)

    def _may(self, exchange: Exchange) -> bool:
        if not self.kind.keyed(exchange.path) or exchange.method == "OPTIONS":
            return True
        if self.sim.strike("unauthorized"):
            return False
        keys = self.sim.settings.api_keys
        scheme, _, key = (exchange.header(b"authorization") or "").partition(" ")
        return not keys or (scheme.lower() == "bearer" and key in keys)

    def _count(self, exchange: Exchange, seconds: float) -> None:
        if exchange.path in UNCOUNTED or exchange.status is None:
            return
        stats, method = self.sim.stats, exchange.method
        found = self.kind.find(exchange.path, self.sim.settings)
        handler = found[0] if found else "none"
        stats.count("http_requests_total", handler=handler, method=method, status=f"{exchange.status // 100}xx")
        stats.observe("http_request_size_bytes", float(exchange.header(b"content-length") or 0), handler=handler)
        stats.observe("http_response_size_bytes", float(exchange.sent_bytes or 0), handler=handler)
        stats.observe("http_request_duration_highr_seconds", seconds)
        stats.observe("http_request_duration_seconds", seconds, handler=handler, method=method)
