"""One call of one box's agent: a line of JSON in, a line of JSON out. How it gets there is each transport's own."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import threading
import weakref
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import IO, Any

from floor.apply.session import Session, end, end_all, parse
from floor.box import paths
from floor.box.lease import HeldError
from floor.errors import BoxError, RefusedError

AGENT = (str(paths.PYTHON), "-I", "-m", "floor.agent")
SUDO = ("sudo", "-n", *AGENT)  # exactly what the sudoers file allows, word by word
AT_ONCE = 8  # calls of one box at the same time; sshd takes ten sessions on one connection (MaxSessions)
IDLE = 3  # processes of a box's agent that are kept for the next calls
_UNDER_WAY: set[Session] = set()
OWN = (0, 1)  # what the agent itself ends with; ssh ends with 255 when the connection is lost, sudo with the signal
OUTPUT = 500  # characters of what a box printed that an error repeats


class UnreachableError(BoxError):
    """The box did not answer: no way there, or lost on the way. It may work later; nothing is known about it now."""


class NotInstalledError(BoxError):
    """The box was reached, and floor is not on it."""


class FailedError(BoxError):
    """The box answered that it could not do what was asked."""


class _LeftError(Exception):
    """A process that was kept has done nothing of what it was asked for: it had ended, or ended by itself instead."""


class Transport:
    """Reaches one box. `box` is its name in floor.yaml, `release` what its agent runs, None before the first call.

    Calls may be made from several threads at once.
    """

    def __init__(self, box: str) -> None:
        self.box = box
        self.release: str | None = None
        self._room = threading.BoundedSemaphore(AT_ONCE)
        self._idle: list[Session] = []
        self._keeping = threading.Lock()
        weakref.finalize(self, end_all, self._idle)  # also at the end of this process

    def argv(self) -> list[str]:
        """Return the command that runs the agent."""
        raise NotImplementedError

    def explain(self, code: int, said: str) -> BoxError:
        """Given the exit code and the error output of a command that gave no answer, return what that means."""
        raise NotImplementedError

    def call(
        self,
        name: str,
        params: Mapping[str, Any] | None = None,
        *,
        timeout: float = 30,
        payload: bytes | None = None,
    ) -> Any:
        """Given a call's name and parameters (and bytes for a call that takes some), return what the agent answers.

        Raises HeldError (a BusyError with .record), RefusedError, UnreachableError when the box cannot be reached or
        gives no answer within `timeout` seconds, BoxError for everything else that went wrong there.
        """
        with self._room:
            if payload is not None:
                end_all(self._idle)  # they would go on as what was there before
                sent = request(name, params) + payload
                return self._asked(Session(self._start), name, sent, timeout, fresh=True, last=True)
            line = request(name, params, stays=True)
            while self._idle:
                with suppress(IndexError, _LeftError):  # another call took it, or it takes no more
                    return self._asked(self._idle.pop(), name, line, timeout)
            return self._asked(Session(self._start), name, line, timeout, fresh=True)

    def _asked(
        self, session: Session, name: str, sent: bytes, timeout: float, *, fresh: bool = False, last: bool = False
    ) -> Any:
        """Ask one process; it is kept for the next call where it stays. Raise _LeftError where it is no `fresh` one and
        has left the request to another. What one has done that was lost with a request nobody knows."""
        if not fresh and session.gone():
            session.end()
            raise _LeftError
        said, code, errors = None, 0, ""
        _UNDER_WAY.add(session)
        try:
            said = session.ask(sent, timeout, last=last)
        except subprocess.TimeoutExpired:
            raise UnreachableError(
                f"{self.box}: no answer to `{name}` within {timeout:g} s; is the box up and not overloaded?"
            ) from None
        finally:
            _UNDER_WAY.discard(session)
            if said is None or said.over or last or not self._keep(session):
                code, errors = session.end()
        if session.given_up and said.answer is None:
            raise BoxError(f"{self.box}: `{name}` was given up; what was begun there may go on")
        if not (fresh or said.taken) and said.answer is None and code in OWN:
            raise _LeftError
        return self._result(said.out, code, errors)

    def _keep(self, session: Session) -> bool:
        with self._keeping:
            if room := len(self._idle) < IDLE:
                self._idle.append(session)
            return room

    def stream(self, name: str, params: Mapping[str, Any] | None = None) -> Iterator[str]:
        """Given a call that streams, yield its lines as they come; closing the generator ends the call on the box, too.

        Raises as `call` does when the call was not accepted.
        """
        with self._room, tempfile.TemporaryFile() as errors:
            process = self._start(errors)
            assert process.stdin is not None  # noqa: S101 -- made as a pipe
            assert process.stdout is not None  # noqa: S101
            with suppress(BrokenPipeError):  # the reason stands in what it printed
                process.stdin.write(request(name, params))
                process.stdin.flush()
            try:
                noise = ""
                for raw in process.stdout:
                    line = raw.decode(errors="replace")
                    noise += line
                    if parse(line) is not None:
                        break
                else:
                    process.wait()
                    errors.seek(0)
                    self._result(noise, process.returncode, errors.read().decode(errors="replace"))
                self._result(noise, 0, "")
                for raw in process.stdout:
                    yield raw.decode(errors="replace").rstrip("\n")
            finally:
                end(process)

    def _start(self, errors: IO[bytes]) -> subprocess.Popen[bytes]:
        argv = self.argv()
        environment = {**os.environ, "LC_ALL": "C.UTF-8"}  # its errors are read by `explain`
        try:
            return subprocess.Popen(
                argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=environment,
                start_new_session=True,
            )
        except FileNotFoundError:
            raise self.explain(127, f"{argv[0]}: not found") from None

    def _result(self, out: str, code: int, said: str) -> Any:
        answer = parse(out)
        if answer is None:
            raise self.explain(code, "\n".join(part for part in (said.strip(), out.strip()[-OUTPUT:]) if part))
        self.release = answer.get("release") or self.release
        if "error" in answer:
            raise failure(self.box, answer["error"])
        return answer["ok"]


def give_up() -> None:
    """End every call that is under way in this process. Each of them fails, and not as one that is worth another try:
    whoever gave it up does not want it to begin again."""
    for session in list(_UNDER_WAY):
        session.give_up()


def request(name: str, params: Mapping[str, Any] | None, *, stays: bool = False) -> bytes:
    """Given a call, return the line that asks for it. With `stays` the process waits for another one after its answer;
    it says {"taken": true} before it does anything."""
    more = {"stays": True} if stays else {}
    return (json.dumps({"call": name, "params": dict(params or {}), **more}) + "\n").encode()


def failure(box: str, error: Mapping[str, Any]) -> Exception:
    """Given an error as the agent tells it, return it as an exception that names the box."""
    message = f"{box}: {error.get('message')}"
    match error.get("kind"):
        case "busy":
            return HeldError(message, error.get("data") or {})
        case "refused":
            return RefusedError(message)
        case _:
            return FailedError(message)
