"""Who serves each model behind each proxy box: as seen, and then as a plan goes on."""

from __future__ import annotations

from floor.plan import gate
from floor.plan.aim import Aim, Copy
from floor.plan.holders import people


class Serving:
    """Starts from what the pools say. A planner tells it what its stages change, and asks who would be left.

    Each proxy box counts by itself: clients of one know nothing of the other's pool. Where no proxy box answers nobody
    can tell who serves; then every copy that is up counts as the only one.
    """

    def __init__(self, aim: Aim) -> None:
        self._aim = aim
        self._blind = not aim.proxies
        self._members: dict[str, list[set[str]]] = {}

    def anyone(self, model: str) -> bool:
        """Whether `model` is served anywhere."""
        if self._blind:
            up = (copy for copy in self._aim.copies if self._aim.active(copy))
            return any(copy.model == model for copy in up)
        return any(self._pools(model))

    def everywhere(self, model: str, backend: str) -> bool:
        """Whether `backend` is in every pool of `model` that has anybody in it."""
        return all(backend in pool for pool in self._pools(model) if pool)

    def only(self, model: str, backends: set[str]) -> bool:
        """Whether clients of some proxy box would have nobody left for `model` without `backends`."""
        return self._blind or any(pool <= backends for pool in self._pools(model) if pool)

    def members(self, model: str) -> frozenset[str]:
        """The backends of `model` that are in the pool of any proxy box."""
        return frozenset().union(*self._pools(model))

    def joins(self, copy: Copy, *, passes: bool = False) -> None:
        """From here on `copy` is in every pool, but where a person holds it out, or a test unless it `passes`."""
        for proxy, pool in zip(self._aim.proxies, self._pools(copy.model), strict=True):
            drains = proxy.drained(copy.backend)
            if not (people(drains) if passes else gate.stays_out(self._aim, copy, drains)):
                pool.add(copy.backend)

    def leaves(self, model: str, backends: set[str]) -> None:
        """From here on `backends` are in no pool."""
        for pool in self._pools(model):
            pool -= backends

    def _pools(self, model: str) -> list[set[str]]:
        if model not in self._members:
            self._members[model] = [set(proxy.serving(model)) for proxy in self._aim.proxies]
        return self._members[model]
