"""What can go wrong, as a tree. Every message says where, what was found and what to do.

FloorError                 exit 1  the work failed
├── UsageError             exit 2  the command line cannot be meant
├── ConfigError            exit 2  floor.yaml is wrong; carries every problem at once
├── BusyError              exit 4  another operation holds the boxes
├── RefusedError           exit 5  doing it would take the model away, or lose something
├── BoxError               exit 1  a box could not be reached, or its agent failed
└── EndpointError          exit 7  a test's endpoint is down before there is a verdict
"""

from __future__ import annotations

from collections.abc import Sequence


class FloorError(Exception):
    """The work failed. `exit_code` is what the command ends with."""

    exit_code = 1


class UsageError(FloorError):
    """The command line cannot be meant."""

    exit_code = 2


class ConfigError(FloorError):
    """floor.yaml is wrong. `problems` holds one line for each thing found, with its place."""

    exit_code = 2

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


class BusyError(FloorError):
    """Another operation holds the boxes."""

    exit_code = 4


class RefusedError(FloorError):
    """Refused for safety."""

    exit_code = 5


class BoxError(FloorError):
    """A box could not be reached, or its agent could not do what was asked."""


class EndpointError(FloorError):
    """What was to be tested does not answer, or the test itself cannot go on: there is no verdict."""

    exit_code = 7
