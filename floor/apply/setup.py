"""`floor setup BOX` and `floor remove BOX`: from a bare Debian or Ubuntu to a box, and back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from floor.apply import own_wheel, wheels
from floor.apply.preparation import Action, Preparation, prepare
from floor.apply.reach import Reach
from floor.apply.transport import open_to
from floor.errors import RefusedError

Say = Callable[[str], None]
Ask = Callable[[str], bool]


@dataclass(frozen=True)
class Prepared:
    """What came of it: `changed` is False where there was nothing to do, `done` False where the person said no."""

    changed: bool
    done: bool
    release: str


def look(box: str, destination: str) -> Preparation:
    """Given a box and its ssh destination, return what it lacks; nothing is changed. Raises BoxError."""
    seen = Reach(box, destination).look()
    return prepare(box, _whole(seen), wheels.release_id())


def _whole(seen: dict[str, object]) -> dict[str, object]:
    """An old Python tells its version only: the rest is filled in so that it is refused for that alone."""
    return {"os": {"ID": "debian"}, "systemd": True, "sudo": "root", "user": "root", **seen}


def setup(box: str, destination: str, *, yes: bool, say: Say, ask: Ask, shares: bool = False) -> Prepared:
    """Prepare a box: say what will be done, ask unless `yes`, do it, and see that its agent answers. `shares` where it
    is one of the proxy boxes that share an address.

    Raises RefusedError for a machine that cannot be a box, BoxError when something failed there, FloorError when the
    wheels cannot be had.
    """
    reach = Reach(box, destination)
    seen = _whole(reach.look())
    release = wheels.release_id()
    plan = prepare(box, seen, release, shares=shares)
    if plan.refusals:
        raise RefusedError("\n".join(plan.refusals))
    for warning in plan.warnings:
        say(warning)
    if not plan.actions:
        say(f"{box}: nothing to do")
        return Prepared(changed=False, done=True, release=release)
    say(f"{box} ({destination}) will be prepared:")
    for action in plan.actions:
        say(f"  - {action.text}")
    if not yes and not ask(f"Prepare {box}?"):
        return Prepared(changed=False, done=False, release=release)
    _, own = own_wheel.build(wheels.own_files())
    carried = {"floor.whl": own}
    if any(action.do == "release" for action in plan.actions):
        carried["release.tar"] = wheels.bundle(seen).payload
    reach.as_root(str(seen["sudo"]), _plan(box, plan.actions), carried, say)
    open_to(box, destination).call("observe")
    say(f"{box}: ready, floor {release}")
    return Prepared(changed=True, done=True, release=release)


def _plan(box: str, actions: tuple[Action, ...]) -> dict[str, object]:
    return {"box": box, "actions": [action.as_json() for action in actions]}


def remove(box: str, destination: str, *, yes: bool, purge: bool, say: Say, ask: Ask) -> bool:
    """Take floor off a box: engines are stopped, so the caller has to know that nobody is served from there.

    Model files are kept; the state, caches and the user `floor` too unless `purge`. Returns whether the person (asked
    unless `yes`) wanted it. Raises BoxError, RefusedError.
    """
    reach = Reach(box, destination)
    seen = _whole(reach.look())
    if seen["sudo"] == "none":
        raise RefusedError(f"{box}: {seen['user']} is not root and there is no sudo; remove it as root")
    if not yes and not ask(f"Stop all engines and services on {box} and remove floor from it?"):
        return False
    kept = "" if purge else "; /var/lib/floor, /var/cache/floor and the user floor are kept (--purge removes them)"
    action = Action("remove", f"stop and remove floor{kept}", {"purge": purge})
    _, own = own_wheel.build(wheels.own_files())
    reach.as_root(str(seen["sudo"]), _plan(box, (action,)), {"floor.whl": own}, say)
    say(f"{box}: floor is removed")
    return True
