"""The `floor` command: runs the command line and turns every error into words and an exit code."""

from __future__ import annotations

import errno
import io
import os
import sys

from floor.errors import FloorError

FAILED = 1
INTERRUPTED = 130
STOPPED = "interrupted; the same command goes on where this one stopped"
USAGE = 2
FULL = (errno.ENOSPC, errno.EDQUOT)
HEALTH_UNKNOWN = 3  # `floor health` follows monitoring plugins, where 2 says critical


def main() -> None:
    """Run the command line given in sys.argv and exit."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that knows ASCII only gets the rest of it all the same
            stream.reconfigure(errors="backslashreplace")
    sys.exit(run(sys.argv[1:]))


def run(argv: list[str]) -> int:
    """Given the words after `floor`, run them and return the exit code. No exception leaves it."""
    try:
        import typer

        from floor.cli.app import app
    except KeyboardInterrupt:  # so early that nothing was begun
        return _tell(STOPPED, INTERRUPTED)
    health = argv[:1] == ["health"]
    try:
        code = int(app(argv, prog_name="floor", standalone_mode=False) or 0)
    except typer.Exit as error:
        return error.exit_code
    except FloorError as error:
        return _tell(f"error: {error}", error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED  # what typer returns by itself for a Ctrl-C that it has caught
    except BrokenPipeError:
        return _unread()
    except SystemExit as error:  # click's own answer to a reader that left
        return error.code if isinstance(error.code, int) else FAILED
    except Exception as error:
        return _unexpected(error, HEALTH_UNKNOWN if health else USAGE)
    if code == INTERRUPTED:
        return _tell(STOPPED, INTERRUPTED)
    return code


def _unread() -> int:
    """The reader left: nothing more to say to it, and nothing to be flushed at the end either."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return FAILED


def _unexpected(error: Exception, usage: int) -> int:
    """A usage error says so itself; anything else is our defect, told without a traceback."""
    show = getattr(error, "show", None)  # typer carries a click of its own and does not export its exceptions
    if callable(show):
        show()
        return usage
    if isinstance(error, OSError) and error.errno in FULL:
        where = error.filename or "where the output goes"
        told = f"error: {where}: cannot be written: {error.strerror}; make room there and run it again"
        return _tell(told, usage if usage == HEALTH_UNKNOWN else FAILED)
    if os.environ.get("FLOOR_DEBUG"):
        raise error
    what = f"{type(error).__name__}: {error}"
    return _tell(f"error: this is a defect of floor: {what}\n  FLOOR_DEBUG=1 shows where; please report it", FAILED)


def _tell(line: str, code: int) -> int:
    print(line, file=sys.stderr)
    return code


if __name__ == "__main__":
    main()
