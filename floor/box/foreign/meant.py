"""Whether somebody else's unit, script or line of cron means engines of floor, or only mentions one. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

SPEAKS = {"vllm": "vllm", "floor.sim": "vllm", "llama-server": "llamacpp", "llama.cpp": "llamacpp", "ollama": "ollama"}
OURS = ("floor-copy-", "floor-group-")


@dataclass(frozen=True)
class Aimed:
    """What tells that somebody means us: the dialects and ports of our engines on this box, and names of units and
    containers, without `.service`. `others` are engines of somebody else's that may stay; `rivals` are units that
    conflict with ours, with those of ours that their start would stop."""

    dialects: Collection[str] = ()
    ports: Collection[int] = ()
    names: Collection[str] = ()
    others: Collection[str] = ()
    rivals: Mapping[str, Collection[str]] | None = None

    def meant(self, mention: Mapping[str, Any]) -> bool:
        """Given one of the mentions that `starters.look` tells, return whether it may start, stop or end ours."""
        word = str(mention["word"]).removesuffix(".service")
        named = word in self.names or word in {str(port) for port in self.ports} or word.startswith(OURS)
        engine = SPEAKS.get(word) in self.dialects and word not in self.others
        return bool(mention["acts"]) and (named or engine or self.rival(word) != ())

    def rival(self, word: str) -> tuple[str, ...]:
        """Given a word, return the units of ours that the unit of this name would stop; empty where it is none."""
        rivals = self.rivals or {}
        return tuple(rivals.get(f"{word.removesuffix('.service')}.service", ()))

    def evidence(self, mention: Mapping[str, Any]) -> str:
        """Given a mention, return where it stands and what it says, and whom that would stop."""
        stops = self.rival(str(mention["word"]))
        more = f", and {mention['word']} conflicts with {', '.join(stops)}" if stops else ""
        return f"{mention['where']} says `{mention['line']}`{more}"
