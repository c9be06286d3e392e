"""The mock tools of one turn: they answer what is wanted, and note what else was called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..suite.filled import content, matches
from ..suite.scenario import Scenario, Turn, Wanted

UNKNOWN = {"error": "nothing is known of that"}
NO_OBJECT = {"error": "the arguments are no JSON object"}


class Tools:
    """`left`: wanted calls that did not come yet. `strays`: other calls, in words. `harmless`: how many were repeats,
    or of tools that may be called besides."""

    def __init__(self, scenario: Scenario, turn: Turn) -> None:
        self._optional = scenario.optional or {}
        self._harmless = scenario.harmless
        self._answered: list[Wanted] = []
        self.left = list(turn.calls)
        self.strays: list[str] = []
        self.harmless = 0

    def call(self, tool: Any, arguments: Mapping[str, Any] | None) -> str:
        """Given a call as a strict client reads it (None: no JSON object), return the text of its result."""
        if arguments is None:
            self.strays.append(f"{tool} with arguments that are no JSON object")
            return content(NO_OBJECT)
        wanted = self._find(self.left, tool, arguments)
        if wanted is not None:
            self.left.remove(wanted)
            self._answered.append(wanted)
            return content(wanted.result)
        repeated = self._find(self._answered[::-1], tool, arguments)
        if repeated is not None or (isinstance(tool, str) and tool in self._harmless):
            self.harmless += 1
            return content(repeated.result if repeated else UNKNOWN)
        self.strays.append(f"{tool}({', '.join(f'{name}={value!r}'[:60] for name, value in arguments.items())})")
        return content(UNKNOWN)

    def _find(self, among: list[Wanted], tool: Any, arguments: Mapping[str, Any]) -> Wanted | None:
        return next((one for one in among if one.tool == tool and self._fits(one, arguments)), None)

    def _fits(self, wanted: Wanted, arguments: Mapping[str, Any]) -> bool:
        optional = self._optional.get(wanted.tool, {})
        kept = {
            name: value
            for name, value in arguments.items()
            if name in wanted.args or not any(matches(right, value) for right in optional.get(name, ()))
        }
        return matches(wanted.args, kept)
