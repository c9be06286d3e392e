"""What single values cannot show: parts of floor.yaml that contradict each other. One file for each subject."""

from __future__ import annotations

from collections.abc import Iterator

from floor.config.check import (
    boxes,
    copies,
    critical,
    engines,
    fetch,
    flags,
    memory,
    ports,
    proxy,
    runtime,
    split,
    times,
    watch,
)
from floor.config.model import Config
from floor.config.problem import Problem


def check(config: Config) -> Iterator[Problem]:
    """Given a configuration whose values are each right, yield what is wrong between them, and warnings."""
    for subject in (boxes, proxy, copies, split, ports, runtime, engines, fetch, flags, memory, times, watch, critical):
        yield from subject.check(config)
