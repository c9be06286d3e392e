"""The load generator as a process of its own, so that it can stand in another network namespace."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.load.generate import UNDER_WAY

SCRIPT = Path(__file__).with_name("generate.py")


class Running:
    """Load that runs until it is stopped. `enter` are the words before the command, such as those of a namespace."""

    def __init__(self, url: str, model: str, *options: str, enter: Sequence[str] = ()) -> None:
        self._argv = [*enter, sys.executable, str(SCRIPT), url, model, *options]
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        # No buffer: the load may be over before this is read, and what follows the first line is for `report`.
        self._process = subprocess.Popen(self._argv, stdout=subprocess.PIPE, bufsize=0)
        assert self._process.stdout is not None
        said = self._process.stdout.readline().decode()
        if said != f"{UNDER_WAY}\n":
            self._process.kill()
            self._process.communicate()
            raise AssertionError(f"the load did not begin: {said!r}")
        time.sleep(0.3)  # what was sent first is with an engine
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if self._process and self._process.poll() is None:  # a test failed before it stopped the load
            self._process.kill()
            self._process.communicate()

    def stop(self, timeout: float = 180) -> Report:
        """Let open requests finish and return what the clients saw."""
        assert self._process is not None
        self._process.terminate()
        return self.report(timeout)

    def report(self, timeout: float = 600) -> Report:
        """Wait until the load is over by itself and return what the clients saw."""
        assert self._process is not None
        out, _ = self._process.communicate(timeout=timeout)
        return Report(json.loads(out))


class Report:
    """What the clients saw."""

    def __init__(self, found: dict[str, Any]) -> None:
        self.sent: int = found["sent"]
        self.good: int = found["good"]
        self.statuses: dict[str, int] = found["statuses"]
        self.failures: list[dict[str, Any]] = found["failures"]
        self.requests: list[tuple[float, float]] = [(start, end) for start, end in found["requests"]]

    def spanning(self, moment: float) -> int:
        """How many requests were open at a moment of the monotonic clock."""
        return sum(start < moment < end for start, end in self.requests)

    def __str__(self) -> str:
        return f"{self.good} of {self.sent} good, {self.statuses}, failures {self.failures[:5]}"
