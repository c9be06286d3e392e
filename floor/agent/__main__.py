"""`python -I -m floor.agent`: one request line of JSON on stdin, one answer line on stdout.

An answer line begins with MARKER, since a login shell may print what it likes before it. It holds {"ok": …} or
{"error": {"kind": "busy|refused|usage|failed", "message", "data"}}, and the release that answered. Another request may
follow one that says {"stays": true}; before anything is done for such a one, a line {"taken": true} says that it was
read.
"""

from __future__ import annotations

import json
import os
import select
import sys
import syslog
import traceback
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO

from floor.agent.call import Call, Stream
from floor.agent.params import Params
from floor.agent.registry import find
from floor.box import paths, releases
from floor.errors import BusyError, ConfigError, FloorError, RefusedError, UsageError

MARKER = "@floor "
SILENCE = 600.0  # seconds for the next request: of a caller whose machine is gone nobody tells the end
LONGEST_LINE = 16 * 1024 * 1024  # bytes of a request: all files of a box are some 100 kB
KINDS: tuple[tuple[type[FloorError], str], ...] = (
    (BusyError, "busy"),
    (RefusedError, "refused"),
    (UsageError, "usage"),
    (ConfigError, "usage"),
    (FloorError, "failed"),
)


def main(argv: list[str], stdin: BinaryIO, stdout: BinaryIO) -> int:
    """Given the words after the program, answer one request, and those that follow where it says that it `stays`;
    return 0 when the last one was done, 1 when its answer is an error.

    `--root DIR` serves the files below another folder (tests); sudo on a box allows the call without any word only.
    """
    root = Path(argv[1]) if len(argv) == 2 and argv[0] == "--root" else paths.ROOT
    own = releases.running()  # now: what this process was started through points at another one later
    code, line = 0, _next(stdin)
    while True:
        code, stays = _answer(line, stdin, stdout, root, own)
        line = _next(stdin) if stays else b""
        if not line or _replaced(own, root):
            return code


def _next(stdin: BinaryIO) -> bytes:
    """The next request line; empty at the end of what is sent, and when nothing has come for `SILENCE` seconds."""
    if not isinstance(stdin, BufferedReader):  # all of it is there
        return stdin.readline(LONGEST_LINE)
    line = bytearray()
    while not line.endswith(b"\n") and len(line) < LONGEST_LINE:
        os.set_blocking(stdin.fileno(), False)
        there = stdin.peek()  # what came along with the line before, or is there by now
        os.set_blocking(stdin.fileno(), True)
        if not there:
            if not select.select([stdin], [], [], SILENCE)[0]:
                return b""
            if not (there := stdin.peek()):
                break
        line += stdin.read(there.find(b"\n") + 1 or len(there))
    return bytes(line)


def _replaced(own: str | None, root: Path) -> bool:
    """Whether another release is in use than this process runs from, or none; whoever asked starts one of that."""
    return own is not None and own != releases.current(root)


def _answer(line: bytes, stdin: BinaryIO, stdout: BinaryIO, root: Path, own: str | None) -> tuple[int, bool]:
    """Answer one request line as release `own`. Return the exit code, and whether another one may follow."""
    stays, stream = False, None
    try:
        call, function, stays = request(line, stdin, stdout, root)
        if stays:
            say(stdout, {"taken": True})
        call.note()
        result = function(call)
        stream = result if isinstance(result, Stream) else None
        answer: dict[str, Any] = {"ok": {} if stream else result}
    except FloorError as error:
        answer = {"error": refusal(error)}
    except Exception as error:  # whatever it was: words for the caller, the place for the journal
        syslog.openlog("floor-agent", syslog.LOG_PID, syslog.LOG_DAEMON)
        for text in traceback.format_exc().splitlines():
            syslog.syslog(syslog.LOG_ERR, text)
        message = f"{type(error).__name__}: {error} (a fault of floor; where: journalctl -t floor-agent)"
        answer = {"error": {"kind": "failed", "message": message, "data": None}}
    say(stdout, {**answer, "release": own})
    if stream is not None:
        stream.pump(stdin, stdout)
    return 1 if "error" in answer else 0, stays and stream is None


def request(line: bytes, stdin: BinaryIO, stdout: BinaryIO, root: Path) -> tuple[Call, Any, bool]:
    """Given a request line, return the call, its function and whether its caller may ask again. Raises UsageError for a
    line that is none."""
    try:
        asked = json.loads(line)
        name, params = asked["call"], asked.get("params") or {}
        json.dumps(asked, ensure_ascii=False).encode()  # half a surrogate pair cannot be written into any file
        good = isinstance(name, str) and isinstance(params, dict)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        good = False
    if not good:
        raise UsageError('the request is not one line of {"call": "NAME", "params": {…}}')
    return Call(Params(name, params), root, stdin, stdout), find(name), asked.get("stays") is True


def refusal(error: FloorError) -> dict[str, Any]:
    """Given an error, return it as the caller gets it; a busy one carries the record of who holds the box."""
    kind = next(word for kinds, word in KINDS if isinstance(error, kinds))
    return {"kind": kind, "message": str(error), "data": getattr(error, "record", None)}


def say(stdout: BinaryIO, answer: dict[str, Any]) -> None:
    """Print one answer line; a caller that has gone away is nobody's error."""
    try:
        stdout.write((MARKER + json.dumps(answer) + "\n").encode())
        stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stdout.fileno())  # what the interpreter flushes at its end goes there


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], sys.stdin.buffer, sys.stdout.buffer))
