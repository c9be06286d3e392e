"""`floor setup` and `floor remove`: which boxes floor may prepare, and leaving one without taking a model away."""

from __future__ import annotations

from collections.abc import Callable

from floor.apply import setup
from floor.apply.transport import NotInstalledError
from floor.config.model import Config
from floor.errors import BoxError, RefusedError, UsageError
from floor.operations.change import Change
from floor.operations.site import Site
from floor.plan.aim import Aim
from floor.plan.removal import plan_removal
from floor.plan.steps import Plan

Say = Callable[[str], None]
Ask = Callable[[str], bool]
TakeOff = Callable[..., bool]


def destination(config: Config, box: str) -> str:
    """Given a box's name, return its ssh destination. Raise UsageError for an unknown or unmanaged box."""
    if box not in config.boxes:
        raise UsageError(f"{box}: no such box in floor.yaml; there are {', '.join(config.boxes)}")
    if not config.boxes[box].managed:
        raise UsageError(f"{box}: has `managed: false`, floor never changes it")
    return config.destination(box)


def remove(
    site: Site,
    box: str,
    say: Say,
    progress: Say,
    ask: Ask,
    *,
    yes: bool,
    purge: bool,
    force: bool,
    take_off: TakeOff = setup.remove,
) -> bool:
    """Drain and stop what runs on `box`, then take floor off it by `take_off`. Return whether the person wanted it.

    Raise RefusedError where that takes a model away, or where the box cannot be asked what runs there, and `force` is
    not given; UsageError for a box that floor does not manage; as `Change.run` and `setup.remove` do.
    """
    target = destination(site.loaded.config, box)
    if _bare(site, box):
        say(f"{box}: floor is not installed there: nothing has to be drained first")
        return take_off(box, target, yes=yes, purge=purge, say=say, ask=ask)
    change = Change("remove", site, None, lambda aim: plan_removal(aim, box), say, progress, box, force)
    aim, plan, why = _look(change, box)
    if why and not force:
        raise RefusedError(
            f"{why}\nwhat runs on {box} cannot be drained first; mend that, or add --force to stop it as it is"
        )
    if why or aim is None:
        say(f"{box}: nothing is drained first: {why}")
        return take_off(box, target, yes=yes, purge=purge, say=say, ask=ask)
    if not force:
        _refuse_only_proxy(aim, box)
    change.refuse_outage(plan)
    if not yes and not ask(f"Drain and stop all engines and services on {box} and remove floor from it?"):
        return False
    if plan:
        change.run(aim, plan)
    return take_off(box, target, yes=True, purge=purge, say=say, ask=ask)


def _bare(site: Site, box: str) -> bool:
    """Whether floor is not on a box: it was removed, or it never was there."""
    try:
        site.boxes[box].call("observe", {})
    except NotInstalledError:
        return True
    except BoxError:
        return False  # looked at again, and told, by what follows
    return False


def _look(change: Change, box: str) -> tuple[Aim | None, Plan, str]:
    """What is to do before floor can go, and why that cannot be known where it cannot."""
    try:
        aim, plan = change.look()
    except BoxError as error:
        return None, Plan(), str(error)
    return aim, plan, aim.absent.get(box, "")


def _refuse_only_proxy(aim: Aim, box: str) -> None:
    served = [model for model in aim.config.models if any(seen.serving(model) for seen in aim.proxies)]
    if aim.config.proxy.boxes == [box] and served:
        raise RefusedError(
            f"{box} is the only proxy box: every client would lose {', '.join(served)}; accept it with --force"
        )
