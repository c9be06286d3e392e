"""Memory: shares that together are more than a card has (vllm-project/vllm#14376)."""

from __future__ import annotations

from collections.abc import Iterator

from floor.config.check import parts
from floor.config.model import Config, ResolvedCopy
from floor.config.problem import KeyPath, Problem

_ENGINE_SHARE = 0.92  # what vLLM takes where none is given; 0.90 in older releases
_CAUTIOUS = 0.90
ALL = "all"


def check(config: Config) -> Iterator[Problem]:
    """Given a configuration, yield shares that cannot be had, and warn of those that leave a box too little."""
    every = (*parts.copies(config), *parts.groups(config))
    copies = [one for one in every if one.box.managed and one.resolved.engine == "vllm"]
    for box in config.boxes:
        here = [placed for placed in copies if placed.copy.box == box]
        told: set[KeyPath] = set()
        for mode in parts.MODES:
            for problem in _sum(box, [placed for placed in here if mode in placed.modes]):
                if problem.path not in told:
                    yield problem
                told.add(problem.path)
    # copies that have their share from the model are told of once
    for where, placed in {placed.where("utilization"): placed for placed in reversed(copies)}.items():
        share = placed.resolved.utilization
        if share is None and cards_of(placed.resolved):
            write = f"a share such as 0.85: vLLM takes {_ENGINE_SHARE:g} where none is given"
            yield Problem(where, write, "no share", warning=True)
        elif share is not None and share > _CAUTIOUS and cards_of(placed.resolved):
            write = f"at most {_CAUTIOUS:g}: start-up takes more for a while, and a box without memory freezes"
            yield Problem(where, write, warning=True)


def _sum(box: str, here: list[parts.Placed]) -> Iterator[Problem]:
    cards = {placed.name: cards_of(placed.resolved) for placed in here}
    for card in sorted({card for some in cards.values() for card in some}):
        sharing = [placed for placed in here if {card, ALL} & cards[placed.name]]
        shares = [_share(placed.resolved) for placed in sharing]
        if len(sharing) > 1 and sum(shares) > 1 + 1e-9:
            said = " + ".join(f"{share:g} of {placed.name}" for placed, share in zip(sharing, shares, strict=True))
            found = f"{said} on {box}, {sum(shares):.2f} in all"
            yield Problem(sharing[-1].where("utilization"), "shares that add up to at most 1", found)
            return


def _share(copy: ResolvedCopy) -> float:
    return _ENGINE_SHARE if copy.utilization is None else copy.utilization


def cards_of(copy: ResolvedCopy) -> set[str]:
    """Given a copy, return the cards it uses: numbers or ids, or the word `all`; none where it runs on the CPU."""
    runtime = copy.runtime
    if runtime is None or (runtime.kind == "docker" and runtime.gpus is None) or "VLLM_CPU_KVCACHE_SPACE" in copy.env:
        return set()
    chosen = copy.env.get("CUDA_VISIBLE_DEVICES", copy.env.get("NVIDIA_VISIBLE_DEVICES", ALL))
    if runtime.kind == "docker" and runtime.gpus and runtime.gpus.startswith("device="):
        chosen = runtime.gpus.removeprefix("device=")
    return {card.strip() for card in chosen.split(",") if card.strip()}
