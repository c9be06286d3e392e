"""The `floor` command: runs the command line and turns every error into words and an exit code."""

from __future__ import annotations

import os
import sys

from floor.errors import FloorError

INTERRUPTED = 130
HEALTH_UNKNOWN = 3  # `floor health` follows monitoring plugins, where 2 says critical


def main() -> None:
    """Run the command line given in sys.argv and exit."""
    sys.exit(run(sys.argv[1:]))


def run(argv: list[str]) -> int:
    """Given the words after `floor`, run them and return the exit code. No exception leaves it."""
    code = _run(argv)
    return HEALTH_UNKNOWN if code == 2 and argv[:1] == ["health"] else code  # click's usage error


def _run(argv: list[str]) -> int:
    import click

    from floor.cli.app import app

    try:
        code = app(argv, standalone_mode=False)
    except FloorError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        print("interrupted; the same command goes on where this one stopped", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader left: nothing more to say to it
        return 1
    except Exception as error:
        if os.environ.get("FLOOR_DEBUG"):
            raise
        print(f"error: this is a defect of floor: {type(error).__name__}: {error}", file=sys.stderr)
        print("  FLOOR_DEBUG=1 shows where; please report it", file=sys.stderr)
        return 1
    return int(code or 0)


if __name__ == "__main__":
    main()
