"""Running commands on this machine, with an error that shows what the command said."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.lab.machine import LabError


class CommandFailed(LabError):  # noqa: N818 - it reads as what happened
    """A command ended with another status than 0; the text holds its status, stdout and stderr."""

    def __init__(self, argv: Sequence[str], status: int, stdout: str, stderr: str) -> None:
        super().__init__(
            f"{shlex.join(argv)} ended with status {status}\nstdout: {stdout[-4000:]}\nstderr: {stderr[-4000:]}"
        )
        self.status = status
        self.stdout = stdout
        self.stderr = stderr


def run(
    argv: Sequence[str | Path],
    *,
    check: bool = True,
    input: str | None = None,  # noqa: A002 - subprocess's name
    timeout: float = 60.0,
    env: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run `argv` and return its result, text on both streams.

    Raises CommandFailed if `check` and the status is not 0, subprocess.TimeoutExpired after `timeout` seconds.
    """
    words = [str(word) for word in argv]
    result = subprocess.run(
        words, input=input if input is not None else "", capture_output=True, text=True, timeout=timeout, env=env
    )
    if check and result.returncode != 0:
        raise CommandFailed(words, result.returncode, result.stdout, result.stderr)
    return result
