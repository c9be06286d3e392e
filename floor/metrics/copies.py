"""What is remembered of each copy, and the parts of the page that it makes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from .absorb import Past, absorb, totals
from .exposition import Reader, UnreadableError
from .look import Look
from .merge import Part, remainder
from .normalise import Figures, figures
from .settings import Backend
from .values import Family, Kind, Page, Value

HOLD = 3  # looks that may fail before a copy's gauges are left out: nobody knows then how busy it is


@dataclass
class Copy:
    """One copy. Times are a monotonic clock; `read_at` is when its page was read last, None if it never was."""

    backend: Backend
    reader: Reader = field(default_factory=Reader)
    past: Past = field(default_factory=Past)
    page: Page = field(default_factory=dict)
    told: Figures = field(default_factory=dict)
    read_at: float | None = None
    latest: Look = field(default_factory=lambda: Look("not_yet", "not looked at yet", 0.0))
    failures: Counter[str] = field(default_factory=Counter)

    def take(self, look: Look, now: float) -> None:
        """Remember one look; one that failed leaves what was known."""
        if look.up:
            try:
                self.past = absorb(self.past, look.page)
            except UnreadableError as error:
                look = Look("unreadable", f"the page {error}", look.seconds)
            else:
                self.page, self.told, self.read_at = look.page, look.figures or {}, now
        if not look.up:
            self.failures[look.reason] += 1
        self.latest = look

    def part(self, now: float, hold: float) -> Part:
        """What to show of it: counters as they are known, gauges unless they are older than `hold` seconds."""
        fresh = self.read_at is not None and now - self.read_at <= hold
        page = totals(self.past, self.page if fresh else {})
        found = self.told if fresh and self.told else figures(self.backend.dialect, page)
        return Part(self.backend.name, self.backend.box, self.backend.model, page, found)


@dataclass(frozen=True)
class Gone:
    """A copy that is no longer in floor.yaml: what it counted stays in its model's sums."""

    name: str
    model: str
    dialect: str
    past: Past

    def part(self) -> Part:
        page = totals(self.past, {})
        return Part(self.name, "", self.model, page, figures(self.dialect, page))


def parts(copies: Iterable[Copy], gone: Sequence[Gone], now: float, hold: float) -> list[Part]:
    """Every part of the page: each copy, and for each model one part for those that are gone."""
    found = [copy.part(now, hold) for copy in copies]
    models = dict.fromkeys(part.model for part in found)
    rests = (remainder(model, [one.part() for one in gone if one.model == model]) for model in models)
    return [*found, *(rest for rest in rests if rest is not None)]


def own(copies: Sequence[Copy], now: float) -> list[Family]:
    """What floor knows of its looks: whether each copy's page can be read, why not, and how old the last one is."""

    def family(name: str, kind: Kind, words: str, value: Callable[[Copy], Mapping[str, float | None]]) -> Family:
        children: dict[tuple[tuple[str, str], ...], Value] = {}
        for copy in copies:
            labels = (("box", copy.backend.box), ("copy", copy.backend.name), ("model", copy.backend.model))
            for reason, number in value(copy).items():
                if number is not None:
                    children[(*labels, ("reason", reason)) if reason else labels] = float(number)
        return Family(f"floor_target_{name}", kind, words, children)

    def age(copy: Copy) -> float | None:
        return None if copy.read_at is None else now - copy.read_at

    return [
        family("up", Kind.GAUGE, "Whether the copy's metrics were read at the last look.", lambda c: {"": c.latest.up}),
        family("reason", Kind.GAUGE, "How the last look ended; 1 beside the reason.", lambda c: {c.latest.reason: 1}),
        family("age_seconds", Kind.GAUGE, "Time since the copy's metrics were read.", lambda c: {"": age(c)}),
        family("look_seconds", Kind.GAUGE, "How long the last look took.", lambda c: {"": c.latest.seconds}),
        family("failures_total", Kind.COUNTER, "Looks that failed, by reason.", lambda c: dict(c.failures)),
        family(
            "restarts_total", Kind.COUNTER, "Fresh starts seen in the copy's counters.", lambda c: {"": c.past.resets}
        ),
    ]
