"""A simulated engine as a child process: what tests and the demo start, break and look into.

with SimulatedEngine("flagship", max_requests=4) as engine:
    httpx.get(engine.url + "/health")
    engine.fault("dead")
    engine.state()["running"]
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from floor.errors import FloorError
from floor.sim.launching import launch


def free_port(host: str = "127.0.0.1") -> int:
    """A port of `host` that nothing has now, below those that Linux gives to outgoing connections.

    One of those could be taken by any client between two starts of an engine. Raises FloorError when none is found.
    """
    for _ in range(200):
        port = 10_000 + secrets.randbelow(22_000)
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
            try:
                probe.bind((host, port))
            except OSError:
                continue
            return port
    raise FloorError(f"{host}: no free port between 10000 and 32000 in 200 tries; is that this machine's address?")


class SimulatedEngine:
    """One engine on `url`, started by `start` or as a context manager, which waits until it answers.

    `port` stays the same through `kill` and `start`. Orders go to a control port of their own, so that they arrive
    while the engine refuses, hangs or loads. `options` are simulation settings by name: `load_time=2`, `preset="long"`,
    `speed_factor=20`, `dialect="llamacpp"`. `args` are further words of the engine's command line, `env` further
    environment.
    """

    def __init__(
        self,
        model: str = "flagship",
        *,
        host: str = "127.0.0.1",
        port: int | None = None,
        max_requests: int | None = None,
        context: int | None = None,
        key: str | None = None,
        args: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        wait: bool = True,
        **options: object,
    ) -> None:
        self.model = model
        self.host = host
        self.port = port or free_port(host)
        self.control_port = free_port()
        self.key = key
        self._wait = wait
        self.dialect = str(options.get("dialect", "vllm"))
        given = launch(self.dialect, model, (host, self.port), max_requests, context)
        keys = {"vllm": "VLLM_API_KEY", "llamacpp": "LLAMA_API_KEY"}
        self._env = {**os.environ, **given.env, **(env or {}), **({keys[self.dialect]: key} if key else {})}
        self._argv = self._command(given.words, options, args)
        self._log: Path | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def _command(self, given: Sequence[str], options: Mapping[str, object], args: Sequence[str]) -> list[str]:
        flags = {f"--sim-{name.replace('_', '-')}": value for name, value in options.items() if value is not None}
        ours = [f"{flag}={value}" for flag, value in flags.items()]
        control = f"--sim-control-port={self.control_port}"
        return [sys.executable, "-m", "floor.sim", *given, control, *ours, *args]

    @property
    def url(self) -> str:
        return f"http://[{self.host}]:{self.port}" if ":" in self.host else f"http://{self.host}:{self.port}"

    @property
    def pid(self) -> int:
        return self._running().pid

    @property
    def log(self) -> str:
        """Everything it has written so far, over all its starts."""
        return self._log.read_text(errors="replace") if self._log else ""

    def start(self, wait: bool | None = None) -> Self:
        """Start it; also again after it ended. Raises FloorError with its log when it ends before it is ready."""
        if self._log is None:
            descriptor, name = tempfile.mkstemp(prefix="floor-sim-", suffix=".log")
            os.close(descriptor)
            self._log = Path(name)
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self._env, start_new_session=True
            )
        if self._wait if wait is None else wait:
            self.wait_ready()
        return self

    def wait_ready(self, timeout: float = 20.0) -> None:
        """Return once it serves. Raises FloorError when it ended, or is not ready in `timeout` seconds."""
        self.wait_until(lambda state: state["ready"], timeout)

    def wait_until(self, holds: Callable[[dict[str, Any]], object], timeout: float = 10.0) -> dict[str, Any]:
        """Return the first state that `holds`. Raises FloorError after `timeout` seconds without."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            try:
                state = self.state()
            except OSError:
                state = None
            if state is not None and holds(state):
                return state
            if self._running().poll() is not None:
                raise FloorError(f"{self.url}: the simulated engine ended with {self._running().poll()}:\n{self.log}")
            time.sleep(0.01)
        raise FloorError(f"{self.url}: not so in {timeout:g} s; last state {state}; its log:\n{self.log}")

    def fault(self, kind: str, **settings: object) -> None:
        """Put a fault in force; `floor sim --help` lists them. A setting `for` is written `for_`."""
        order = {"fault": kind, **{name.rstrip("_"): value for name, value in settings.items()}}
        try:
            self._ask("POST", "/sim/faults", order)
        except (OSError, EOFError):
            if kind != "die":
                raise

    def clear(self, kind: str | None = None) -> None:
        """End one kind of fault, or all."""
        self._ask("POST", "/sim/faults", {"clear": kind or True})

    def state(self) -> dict[str, Any]:
        """What the engine has seen and does, as a dict.

        pid, ready, world (which a group's ranks share), stopping, running, waiting, finished, aborted, faults, `paths`
        (count of each METHOD /path), and `posts`. A post has path, sha256 of its body, size, host, framing
        (content-length or "chunked"), status, tokens generated, and outcome: open, answered, left (the client went away
        or was cut off by a shutdown), cut (a fault).
        Raises OSError when the process does not run.
        """
        return self._ask("GET", "/sim/state")

    def _ask(self, method: str, path: str, order: Mapping[str, object] | None = None) -> dict[str, Any]:
        body = None if order is None else json.dumps(order).encode()
        url = f"http://127.0.0.1:{self.control_port}{path}"
        request = urllib.request.Request(url, data=body, method=method)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=30) as answer:
                return dict(json.load(answer))
        except urllib.error.HTTPError as error:
            with error:
                raise FloorError(f"{url}: {json.load(error)['error']}") from None

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise FloorError(f"{self.url}: the simulated engine was not started; use it in a `with`, or call start()")
        return self._process

    def signal(self, number: signal.Signals) -> None:
        self._running().send_signal(number)

    def kill(self) -> int:
        """SIGKILL, as a crash; returns the exit code once it is gone."""
        self._running().kill()
        return self._running().wait()

    def terminate(self, timeout: float = 30.0) -> int:
        """SIGTERM, as systemd stops it; returns the exit code once it is gone."""
        self._running().terminate()
        return self._running().wait(timeout)

    def wait(self, timeout: float = 30.0) -> int:
        """The exit code, once it has ended by itself."""
        return self._running().wait(timeout)

    def __enter__(self) -> Self:
        try:
            return self.start()
        except BaseException:
            self.__exit__(None, None, None)
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGCONT)
            self._process.kill()
            self._process.wait()
        if self._log is not None:
            self._log.unlink(missing_ok=True)
            self._log = None
