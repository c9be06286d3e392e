"""Steps of a tool test: the baseline of what runs, and the test of what is to come."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from floor.desired import copies, groups
from floor.plan import builds
from floor.plan.aim import Aim, Wanted, check_params
from floor.plan.serving import Serving
from floor.plan.steps import Stage, Step, Until, stage

BASE, GATE, QUICK = "baseline", "gate", "quick"
TEST_SECONDS = 6 * 3600.0  # of a test: 600 trials of a slow model
CONCURRENCY, BESIDE = 8, 4  # trials at once at most: of a copy that serves nobody, of one that serves clients besides
_OVER = Until("over", TEST_SECONDS, advice="see `floor logs`")


@dataclass(frozen=True)
class Swap:
    """What a swap is about: the `model`, by backend the digest of the build that ran at the beginning (`before`), and
    what tells the scenarios from others (`suite`). `accepted` are starts (unit, invocation) that a person lets in,
    `given` the text of a baseline that was made before."""

    model: str
    suite: str
    before: Mapping[str, str]
    accepted: Collection[tuple[str, str]] = field(default=())
    by: str = ""
    given: str = ""


def baseline(serving: Serving, made_by: tuple[Wanted, str, str] | None, name: str, given: str) -> list[Stage]:
    """Given who makes the baseline (None: nobody can) and the text of one that was made before, return the stage that
    makes it, while the copy serves, or that puts it where it is needed."""
    if made_by is None:
        return []
    copy, build, launch = made_by
    if given:
        taken = {"model": copy.model, "name": name, "text": given}
        put = Step(copy.box, "tooltest.put", taken, "take over the baseline that is given", "nobody kept another one")
        return stage(f"baseline of {copy.model}", [put])
    many = CONCURRENCY if copy.backend not in serving.members(copy.model) else BESIDE
    params = {**_params(copy, BASE, name, None, build, launch), "concurrency": _at_once(copy, many)}
    text = f"test {copy.backend} as it is, for comparison"
    step = Step(copy.box, "tooltest.run", params, text, "nobody kept how this build does", _OVER)
    return stage(f"baseline of {copy.model}", [step])


def maker(aim: Aim, copy: Wanted, swap: Swap, name: str) -> tuple[Wanted, str, str] | None:
    """Given a copy and the name of a baseline, return who runs the build that it is of, the copy itself or another one,
    with the digests of that build and of its launch."""
    for one in (copy, *(other for other in aim.copies if other.model == swap.model)):
        now = builds.running(aim, one) if one.backend in aim.replaced and aim.active(one) else None
        if now is not None and f"{now.digest}-{swap.suite}" == name:
            return one, now.digest, aim.seen[one.box].unit(one.unit).launch or "unknown"
    return None


def test(aim: Aim, copy: Wanted, swap: Swap, tier: str, against: str | None) -> Step:
    """Given a copy with the new build, the tier and the baseline to compare with, return the step that tests it."""
    build = builds.wanted(aim, copy).digest
    params = _params(copy, tier, f"{build}-{swap.suite}", against, build, copy.state.launch.digest)
    words = "all of it" if tier == GATE else "in short: this build has passed elsewhere"
    text, why = f"test whether {copy.backend} calls tools, {words}", "a build goes live only if it still calls tools"
    params |= _asked(aim, copy)
    return Step(copy.box, "tooltest.run", {**params, "concurrency": _at_once(copy, CONCURRENCY)}, text, why, _OVER)


def _at_once(copy: Wanted, most: int) -> int:
    """Trials at once: what waits in the engine's own queue meanwhile would only run out of its time."""
    return min(most, copy.resolved.max_requests or most)


def _params(copy: Wanted, tier: str, name: str, against: str | None, build: str, launch: str) -> dict[str, Any]:
    return {
        "unit": copy.unit,
        "backend": copy.backend,
        "model": copy.model,
        "url": str(copy.check.get("url", "")),
        "key": bool(copy.check.get("key")),
        "tier": tier,
        "name": name,
        "against": against,
        "build": build,
        "launch": launch,
    }


def _asked(aim: Aim, copy: Wanted) -> dict[str, Any]:
    """Where the new build answers, which may be another port than that of the old one."""
    settings = groups.settings_path if copy.grouped else copies.settings_path
    file = aim.wanted[copy.box].file(settings(copy.model))
    found = check_params(file.text if file else None)
    return {"url": str(found.get("url", "")), "key": bool(found.get("key"))}


def brought(aim: Aim, copy: Wanted, name: str | None) -> list[Step]:
    """Given a copy and the name of a baseline, return the step that brings it to the copy's box from another one."""
    there = where(aim, copy.model, name) if name is not None else []
    if not there or copy.box in there:
        return []
    params = {"source": there[0], "model": copy.model, "name": name}
    return [Step(copy.box, "tooltest.share", params, f"bring the baseline over from {there[0]}")]


def name(aim: Aim, copy: Wanted, swap: Swap) -> str | None:
    """Given a copy, return the baseline of the build that it had at the beginning, or that another copy had: one that
    somebody has, or can still make."""
    digests = [swap.before.get(copy.backend), *swap.before.values()]
    names = [f"{build}-{swap.suite}" for build in digests if build]
    usable = (name for name in names if where(aim, swap.model, name) or maker(aim, copy, swap, name))
    return next(usable, None)


def where(aim: Aim, model: str, name: str) -> list[str]:
    """Given a model and the name of a baseline, return the boxes where that lies."""
    return [box for box, seen in aim.seen.items() if name in seen.baselines.get(model, ())]
