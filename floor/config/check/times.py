"""Times that follow from each other."""

from __future__ import annotations

from collections.abc import Iterator

from floor.config.model import Config
from floor.config.problem import Problem

_LONGEST_CONNECT = 75  # nginx: proxy_connect_timeout "cannot usually exceed 75 seconds"
_LONGEST_INTERVAL = 60
_LONGEST_LOOK = 30  # the status page makes its rates of looks within a minute


def check(config: Config) -> Iterator[Problem]:
    """Given a configuration, yield times that contradict each other."""
    health, proxy = config.health, config.proxy
    if not 0.1 <= health.interval <= _LONGEST_INTERVAL:
        yield Problem(("health", "interval"), "a duration from 100ms to 60s")
    if not 0.5 <= config.metrics.interval <= _LONGEST_LOOK:
        yield Problem(("metrics", "interval"), "a duration from 500ms to 30s")
    if health.stall <= health.interval:
        found = f"{health.stall:g} s, not longer than health.interval ({health.interval:g} s)"
        yield Problem(("health", "stall"), "the time that the longest prompt takes to read, such as 300s", found)
    if proxy.connect_timeout > _LONGEST_CONNECT:
        yield Problem(("proxy", "connect_timeout"), f"at most {_LONGEST_CONNECT}s: nginx waits no longer")
    for name, model in config.models.items():
        if model.request_time < 1:
            yield Problem(("models", name, "request_time"), "at least 1s: the proxy cuts what takes longer")
        elif model.request_time <= health.stall:
            found = f"{model.request_time:g} s, not longer than health.stall ({health.stall:g} s)"
            write = "a longer one: a hung copy would lose every request before it is noticed"
            yield Problem(("models", name, "request_time"), write, found, warning=True)
        if model.start_time < 1:
            yield Problem(("models", name, "start_time"), "the time that the longest start may take, such as 40m")
