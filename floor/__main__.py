"""The `floor` command: runs the command line and turns every error into words and an exit code."""

from __future__ import annotations

import os
import sys

from floor.errors import FloorError

INTERRUPTED = 130
USAGE = 2
HEALTH_UNKNOWN = 3  # `floor health` follows monitoring plugins, where 2 says critical


def main() -> None:
    """Run the command line given in sys.argv and exit."""
    sys.exit(run(sys.argv[1:]))


def run(argv: list[str]) -> int:
    """Given the words after `floor`, run them and return the exit code. No exception leaves it."""
    code = _run(argv)
    return HEALTH_UNKNOWN if code == 2 and argv[:1] == ["health"] else code  # click's usage error


def _run(argv: list[str]) -> int:
    import typer

    from floor.cli.app import app

    try:
        code = app(argv, standalone_mode=False)
    except typer.Exit as error:
        return error.exit_code
    except FloorError as error:
        return _tell(f"error: {error}", error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        return _tell("interrupted; the same command goes on where this one stopped", INTERRUPTED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader left: nothing more to say to it
        return 1
    except Exception as error:
        return _unexpected(error)
    return int(code or 0)


def _unexpected(error: Exception) -> int:
    """A usage error says so itself; anything else is our defect, told without a traceback."""
    show = getattr(error, "show", None)  # typer carries a click of its own and does not export its exceptions
    if callable(show):
        show()
        return int(getattr(error, "exit_code", USAGE))
    if os.environ.get("FLOOR_DEBUG"):
        raise error
    what = f"{type(error).__name__}: {error}"
    return _tell(f"error: this is a defect of floor: {what}\n  FLOOR_DEBUG=1 shows where; please report it", 1)


def _tell(line: str, code: int) -> int:
    print(line, file=sys.stderr)
    return code


if __name__ == "__main__":
    main()
