"""Runs a program of this machine: an argv list, a time limit, no shell."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from floor.errors import FloorError

# What a login shell of root has; services and sudo may come with less, and nginx lives in sbin.
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True)
class Result:
    """What a program ended with; `code` is None where the program does not exist."""

    code: int | None
    out: str
    err: str

    @property
    def ok(self) -> bool:
        return self.code == 0

    @property
    def said(self) -> str:
        """Whatever it printed, errors first, on as few lines as it did."""
        return "\n".join(part for part in (self.err.strip(), self.out.strip()) if part)


Run = Callable[[Sequence[str]], Result]


def run(argv: Sequence[str], *, timeout: float = 20, text: str | None = None) -> Result:
    """Given an argv and text for its stdin, return what the program printed and ended with.

    A program that is not installed gives code None. Raises FloorError when it cannot be run, and when it takes longer
    than `timeout` seconds.
    """
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "PATH": os.environ.get("PATH", "") + ":" + PATH}
    try:
        done = subprocess.run(
            list(argv),
            input=text,
            stdin=subprocess.DEVNULL if text is None else None,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            check=False,
            env=environment,
        )
    except FileNotFoundError:
        return Result(None, "", f"{argv[0]}: not installed")
    except subprocess.TimeoutExpired:
        raise FloorError(f"`{' '.join(argv)}` gave no answer within {timeout:g} s") from None
    except OSError as error:  # it may not be run, is no program, or there is no memory for one more
        raise FloorError(f"{argv[0]}: cannot be run: {error.strerror or error}") from None
    return Result(done.returncode, done.stdout, done.stderr)
