"""A strict reader of metrics pages, for what floor itself writes: it shares no line with floor's own.

It refuses what Prometheus or promtool would: a second TYPE, a family in two places, a line twice, buckets that are not
cumulative, a histogram without +Inf or whose count is another.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

LINE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\n"])*",?)*\})? (\S+)')
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"')
Series = tuple[str, frozenset[tuple[str, str]]]


def check(page: str) -> dict[Series, float]:
    """Given a page, return its lines by name and labels. Raise AssertionError where it is not valid."""
    assert page.endswith("\n")
    found: dict[Series, float] = {}
    types: dict[str, str] = {}
    current, closed = "", set()
    for line in page.splitlines():
        if line.startswith("# HELP "):
            name = line.split(" ", 3)[2]
            assert name not in closed
            assert name not in types, f"a second HELP of {name}"
            closed.add(name)
            current = name
        elif line.startswith("# TYPE "):
            name, kind = line.split(" ")[2:]
            assert name == current, f"TYPE of {name} below HELP of {current}"
            assert name not in types, f"a second TYPE of {name}"
            types[name] = kind
        else:
            match = LINE.fullmatch(line)
            assert match, f"no sample: {line!r}"
            assert _family(match[1], types) == current, f"{match[1]} below {current}"
            labels = LABEL.findall(match[2] or "")
            assert len(dict(labels)) == len(labels), f"a label twice: {line}"
            key = (match[1], frozenset(labels))
            assert key not in found, f"twice: {line}"
            found[key] = float(match[3])
    _histograms(found, types)
    return found


def _family(name: str, types: Mapping[str, str]) -> str:
    for suffix in ("_bucket", "_sum", "_count"):
        base = name.removesuffix(suffix)
        if base != name and types.get(base) in ("histogram", "summary") and name not in types:
            return base
    return name


def _histograms(found: Mapping[Series, float], types: Mapping[str, str]) -> None:
    children: dict[tuple[str, frozenset[tuple[str, str]]], list[tuple[float, float]]] = {}
    for (name, labels), value in found.items():
        base = name.removesuffix("_bucket")
        if base != name and types.get(base) == "histogram":
            bound = next(float(text) for label, text in labels if label == "le")
            rest = frozenset(pair for pair in labels if pair[0] != "le")
            children.setdefault((base, rest), []).append((bound, value))
    for (base, labels), buckets in children.items():
        ordered = sorted(buckets)
        assert len({bound for bound, _ in ordered}) == len(ordered), f"{base}: a bound twice"
        counts = [count for _, count in ordered]
        assert counts == sorted(counts), f"{base}: not cumulative: {ordered}"
        assert ordered[-1][0] == float("inf"), f"{base}: no +Inf"
        assert found[f"{base}_count", labels] == counts[-1], f"{base}: count is not that of +Inf"
