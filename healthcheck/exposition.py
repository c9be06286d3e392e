"""The few families that are needed, out of a Prometheus text page.

A vLLM page is 60 kB in 600 lines and is read twice a second for every backend, so the page is not parsed: each name is
searched for. `benchmarks/health_parse.py` compares that with prometheus_client's parser.
Format: https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

# Labels, value, and what may follow it: a timestamp, an OpenMetrics exemplar. Possessive, so that no line can make it
# look twice at the same byte.
_REST = re.compile(rb'(?:\{((?:[^"}\n]|"(?:[^"\\\n]|\\.)*+")*+)\})?[ \t]++([^\s]++)')

# More series of one name than any engine has: a page beyond that is not believed rather than read.
_MOST_SERIES = 4096


@dataclass(frozen=True)
class Family:
    """One wanted number: `names` newest first, the first one present counts; series whose labels hold one of `without`
    are left out; several series become one by `merge`."""

    names: tuple[bytes, ...]
    without: tuple[bytes, ...] = ()
    merge: Callable[[Iterable[float]], float] = math.fsum


def read(page: bytes, families: Mapping[str, Family]) -> dict[str, float]:
    """Given the bytes of a page and the wanted families, return a value for each one that the page has.

    Whatever else the page holds is passed over, as is a value, or a sum of them, that is no finite
    number: absent, not 0.
    """
    text = b"\n" + page
    found: dict[str, float] = {}
    for key, family in families.items():
        for name in family.names:
            values = _series(text, name, family.without)
            if values:
                with suppress(OverflowError):  # finite numbers whose sum is none
                    found[key] = family.merge(values)
                break
    return found


def _series(text: bytes, name: bytes, without: tuple[bytes, ...]) -> list[float]:
    """Return the values of every line of `text` whose metric is `name` and whose labels hold none of `without`."""
    values: list[float] = []
    needle = b"\n" + name
    at = text.find(needle)
    while at != -1:
        end = at + len(needle)
        match = _REST.match(text, end)
        if match is not None:
            labels = match[1] or b""
            value = _number(match[2])
            if value is not None and not any(word in labels for word in without):
                values.append(value)
                if len(values) > _MOST_SERIES:
                    return []
        at = text.find(needle, end)
    return values


def _number(text: bytes) -> float | None:
    """Given a sample's value, return it if it is a finite number."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
