"""Settings of the pools while copies change: old and new backends alike, each where it can be reached just then."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from floor.box import paths
from floor.plan.aim import Aim

PLACE = ("url", "server", "dialect", "key")  # by what a backend is reached; a change of the rest moves nothing


@dataclass(frozen=True)
class Between:
    """Pool settings for now: their text, and the backends that the present ones reach and these do not."""

    text: str
    lost: frozenset[str]


def between(
    present: str | None,
    wanted: str,
    leaving: Collection[str],
    moving: Collection[str],
    adopted: Mapping[str, Mapping[str, Any]] | None = None,
) -> Between:
    """Given pool settings as they lie on a box and as wanted, return those for the time until all copies are changed.

    `leaving` are backends whose copies are yet to be stopped: they are kept, so that they can be drained. `moving` are
    those whose process is yet to be replaced: while it answers elsewhere than wanted, that is where it is asked.
    `adopted` are those in whose place somebody else's engine still runs, with what differs in their settings until
    then. A backend that nginx would now send other headers than before is not kept: they could hold a key that it must
    not see.
    """
    settings = json.loads(wanted)
    old = {pool["model"]: pool for pool in _pools(present)}
    lost: set[str] = set()
    for pool in settings["pools"]:
        before = _backends(old.pop(pool["model"], {}))
        kept = [_kept(pool, before.get(new["name"]), new, moving) for new in pool["backends"]]
        kept = [_adopted(one, (adopted or {}).get(one["name"])) for one in kept]
        kept += [one for one in before.values() if one["name"] in leaving and _direct(pool, one)]
        after = {one["name"]: one for one in kept}
        lost |= set(before) - set(after)
        lost |= {name for name in set(before) & set(after) & set(moving) if _moved(before[name], after[name])}
        pool["backends"] = kept
    for pool in old.values():
        staying = [one for one in _backends(pool).values() if one["name"] in leaving]
        lost |= set(_backends(pool))
        settings["pools"] += [{**pool, "backends": staying}] if staying else []
    text = wanted if settings == json.loads(wanted) else json.dumps(settings, indent=1, sort_keys=True) + "\n"
    return Between(text, frozenset(lost))


def forgotten(aim: Aim) -> list[str]:
    """Given the aim, return the backends that a pool has in its settings and that are no longer wanted."""
    path = str(paths.POOL_SETTINGS)
    names: set[str] = set()
    for seen in aim.proxies:
        file = aim.wanted[seen.box].file(path)
        names |= set(_every(seen.texts.get(path))) - set(_every(file.text if file else None))
    return sorted(names)


def elsewhere(aim: Aim, backend: str) -> bool:
    """Whether a pool's present settings reach `backend` at another place than wanted."""
    path = str(paths.POOL_SETTINGS)
    for seen in aim.proxies:
        file = aim.wanted[seen.box].file(path)
        old, new = _every(seen.texts.get(path)), _every(file.text if file else None)
        if backend in old and backend in new and _moved(old[backend], new[backend]):
            return True
    return False


def _kept(
    pool: Mapping[str, Any], old: Mapping[str, Any] | None, new: dict[str, Any], moving: Collection[str]
) -> Mapping[str, Any]:
    elsewhere = old is not None and new["name"] in moving and _moved(old, new)
    return old if old is not None and elsewhere and _direct(pool, old) else new


def _adopted(one: Mapping[str, Any], place: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """A backend as it is reached while an old engine runs in its place. A detour leads to the wanted port alone."""
    if place is None or (_detoured(one) and place["port"] != one["port"]):
        return one
    return {**one, **place, "server": one["server"] if _detoured(one) else place["server"]}


def _moved(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    return any(old.get(key) != new.get(key) for key in PLACE)


def _direct(pool: Mapping[str, Any], one: Mapping[str, Any]) -> bool:
    """Whether nginx, as wanted, may send `one` what it sends the members of `pool` that it reaches directly."""
    shared = [other for other in pool["backends"] if not _detoured(other)]
    same = all((other["key"], other["dialect"]) == (one.get("key"), one.get("dialect")) for other in shared)
    # In a mode in which nobody answers for a model nginx sends what it does in the other one: a group is never keyless
    # unless its engine is.
    nobody = not pool["backends"] and bool(one.get("key"))
    return (bool(shared) or nobody) and same and not _detoured(one)


def _detoured(one: Mapping[str, Any]) -> bool:
    return str(one.get("server", "")).startswith("unix:")


def _backends(pool: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    return {str(one["name"]): one for one in pool.get("backends", ())}


def _every(text: str | None) -> dict[str, Mapping[str, Any]]:
    return {name: one for pool in _pools(text) for name, one in _backends(pool).items()}


@lru_cache(maxsize=64)  # a plan reads the same few texts again and again
def _pools(text: str | None) -> list[dict[str, Any]]:
    try:
        found = json.loads(text) if text else {}
    except ValueError:
        return []  # a settings file that somebody broke holds no backends to keep; it is written anew
    return list(found.get("pools", ())) if isinstance(found, Mapping) else []
