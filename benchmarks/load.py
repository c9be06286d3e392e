"""Load on one address: requests a second and the median time of one, by wrk or, where that is missing, by asyncio."""

from __future__ import annotations

import asyncio
import re
import shutil
import statistics
import subprocess
import tempfile
import time
from dataclasses import dataclass

PATH = "/v1/chat/completions"
BODY = '{"model":"flagship","messages":[{"role":"user","content":"' + "word " * 70 + '"}]}'
_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}


@dataclass(frozen=True)
class Load:
    """How a client behaves: `connections` at once for `seconds`; `keeps` its connections or opens one a request."""

    connections: int = 8
    seconds: int = 2
    keeps: bool = False


@dataclass(frozen=True)
class Result:
    """Requests a second, the median time of one in seconds, and how many failed."""

    rate: float
    median: float
    failed: int


def run(port: int, load: Load) -> Result:
    """Given a port of this machine, return what a client sees that behaves as `load`."""
    return _wrk(port, load) if shutil.which("wrk") else asyncio.run(_asyncio(port, load))


def tool() -> str:
    """What makes the load here."""
    return "wrk" if shutil.which("wrk") else "asyncio (install wrk for steadier figures)"


def _wrk(port: int, load: Load) -> Result:
    header = "" if load.keeps else 'wrk.headers["Connection"] = "close"\n'
    script = f'wrk.method = "POST"\nwrk.body = [[{BODY}]]\nwrk.headers["Content-Type"] = "application/json"\n{header}'
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as file:
        file.write(script)
        file.flush()
        command = ["wrk", "-t1", f"-c{load.connections}", f"-d{load.seconds}s", "--latency", "-s", file.name]
        said = subprocess.run(
            [*command, f"http://127.0.0.1:{port}{PATH}"], capture_output=True, text=True, check=True, timeout=60
        ).stdout
    rate = re.search(r"Requests/sec:\s+([0-9.]+)", said)
    median = re.search(r"50%\s+([0-9.]+)(us|ms|s)", said)
    if rate is None or median is None:
        raise RuntimeError(f"wrk said: {said}")
    refused = re.search(r"Non-2xx or 3xx responses: (\d+)", said)
    broken = re.search(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", said)
    failed = int(refused[1]) if refused else 0
    failed += int(broken[1]) + int(broken[4]) if broken else 0  # wrk counts an orderly close as a read error
    return Result(float(rate[1]), float(median[1]) * _UNITS[median[2]], failed)


async def _asyncio(port: int, load: Load) -> Result:
    times: list[float] = []
    failed = 0
    end = time.perf_counter() + load.seconds
    close = "" if load.keeps else "Connection: close\r\n"
    head = f"POST {PATH} HTTP/1.1\r\nHost: a\r\nContent-Length: {len(BODY)}\r\n{close}\r\n"
    request = (head + BODY).encode()

    async def client() -> None:
        nonlocal failed
        streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        while time.perf_counter() < end:
            began = time.perf_counter()
            reader, writer = streams or await asyncio.open_connection("127.0.0.1", port)
            writer.write(request)
            answer = await reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"(?i)content-length: (\d+)", answer)
            await reader.readexactly(int(length[1]) if length else 0)
            times.append(time.perf_counter() - began)
            failed += not answer.startswith(b"HTTP/1.1 200")
            streams = (reader, writer) if load.keeps and b"Connection: close" not in answer else None
            if streams is None:
                writer.close()

    await asyncio.gather(*(client() for _ in range(load.connections)))
    return Result(len(times) / load.seconds, statistics.median(times), failed)
