"""/run/floor/metrics/state.json: what copies have counted, so that a restart of the service loses nothing. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from floor.errors import FloorError

from .absorb import Past, Totals
from .copies import Copy, Gone
from .values import Family, Histogram, Kind, Summary, Value

VERSION = 1


def compose(copies: Sequence[Copy], gone: Sequence[Gone]) -> str:
    """Given the copies that are read and those that are gone, return the text to keep."""
    now = [Gone(copy.backend.name, copy.backend.model, copy.backend.dialect, copy.past) for copy in copies]
    return json.dumps({"version": VERSION, "copies": {one.name: _entry(one) for one in [*gone, *now]}})


def restore(text: str, where: str) -> dict[str, Gone]:
    """Given what was kept and the file's name, return the past of each copy by its name. Raise FloorError if it is not
    of this version of floor, or is broken."""
    try:
        document = json.loads(text)
        if document["version"] != VERSION:
            raise FloorError(f"{where}: is of another version of floor; counting anew")
        return {str(name): _gone(str(name), entry) for name, entry in document["copies"].items()}
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError) as error:
        raise FloorError(f"{where}: is no record of floor-metrics ({error!r:.80}); counting anew") from error


def _entry(one: Gone) -> dict[str, Any]:
    past = one.past
    return {
        "model": one.model,
        "dialect": one.dialect,
        "started": past.started,
        "resets": past.resets,
        "base": [_family(family) for family in past.base.values()],
        "last": [_family(family) for family in past.last.values()],
    }


def _gone(name: str, entry: Mapping[str, Any]) -> Gone:
    started = entry["started"]
    past = Past(
        _totals(entry["base"]),
        _totals(entry["last"]),
        None if started is None else float(started),
        int(entry["resets"]),
    )
    return Gone(name, str(entry["model"]), str(entry["dialect"]), past)


def _family(family: Family) -> list[Any]:
    children = [[list(map(list, labels)), _value(value)] for labels, value in family.children.items()]
    return [family.name, str(family.kind), family.help, children]


def _totals(found: Sequence[Any]) -> Totals:
    families = {}
    for name, kind, words, children in found:
        read = {tuple((str(key), str(text)) for key, text in labels): _read(value) for labels, value in children}
        families[str(name)] = Family(str(name), Kind(kind), str(words), read)
    return families


def _value(value: Value) -> Any:
    if isinstance(value, Histogram):
        return [list(value.bounds), list(value.counts), value.sum]
    if isinstance(value, Summary):
        return [value.count, value.sum]
    return value


def _read(value: Any) -> Value:
    if isinstance(value, list) and len(value) == 3:
        bounds, counts, total = value
        return Histogram(tuple(map(float, bounds)), tuple(map(float, counts)), _number(total))
    if isinstance(value, list):
        count, total = value
        return Summary(_number(count), _number(total))
    return float(value)


def _number(value: Any) -> float | None:
    return None if value is None else float(value)
