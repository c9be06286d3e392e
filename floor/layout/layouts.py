"""The layouts of one model that a deployment can bring about: copies, or one group over several boxes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from floor.layout.backend import PIPELINE, TENSOR, WHOLE, Backend, Misfit
from floor.layout.fleet import Place, Want
from floor.layout.ledger import Books
from floor.layout.placing import build

REPLICAS, SPLIT = "replicas", "split"


@dataclass(frozen=True)
class Layout:
    """Backends that serve a model side by side in one mode."""

    mode: str
    backends: tuple[Backend, ...]

    @property
    def throughput(self) -> float:
        """Tokens a second of all backends, each at its cap."""
        return sum(backend.all for backend in self.backends)

    @property
    def one(self) -> float:
        """Tokens a second of one stream, on the slowest backend."""
        return min(backend.one for backend in self.backends)

    @property
    def at_once(self) -> float:
        """Requests of the longest kind that the backend with the least room holds: a request may come to any."""
        return min(backend.at_once for backend in self.backends)

    @property
    def boxes(self) -> tuple[str, ...]:
        """The boxes that it needs, each once."""
        return tuple(dict.fromkeys(box for backend in self.backends for box in backend.boxes))

    def survives(self) -> dict[str, tuple[str, ...]]:
        """Return, for the loss of each box, the backends that go on."""
        return {box: tuple(b.name for b in self.backends if box not in b.boxes) for box in self.boxes}

    @property
    def fatal(self) -> tuple[str, ...]:
        """The boxes of which each takes the model away when it is lost."""
        return tuple(box for box, left in self.survives().items() if not left)

    @property
    def lasts(self) -> bool:
        """Whether the model survives the loss of any one box."""
        return not self.fatal

    @property
    def title(self) -> str:
        """What it is, in words."""
        if self.mode == SPLIT:
            (group,) = self.backends
            shared = "by tensor" if group.how == TENSOR else "by pipeline"
            return f"split {shared} over {' + '.join(group.boxes)}"
        if len(self.backends) == 1:
            return f"a copy on {self.backends[0].boxes[0]}"
        return f"copies on {', '.join(backend.boxes[0] for backend in self.backends)}"


@dataclass(frozen=True)
class Found:
    """The layouts of a model, and why others are not among them, by what they would have been."""

    layouts: tuple[Layout, ...]
    misfits: dict[str, Misfit]


def find(books: Books, places: Sequence[Place], size: str = WHOLE) -> Found:
    """Given a model's books, the boxes that it may stand on and the size of its caches, return what fits there."""
    misfits: dict[str, Misfit] = {}
    copies = []
    for place in places:
        backend = copy(books, place, size)
        if isinstance(backend, Misfit):
            misfits[f"a copy on {place.name}"] = backend
        else:
            copies.append(backend)
    groups = _groups(books, places, misfits, size, _plenty(books.want, copies))
    return Found((*_replicas(books.want, copies), *groups), misfits)


def copy(books: Books, place: Place, size: str = WHOLE) -> Backend | Misfit:
    """Given a box and the size of its cache, return the best copy on it: over all of its cards or over fewer."""
    if not place.cards:
        return Misfit("it has no card")
    best: Backend | None = None
    worst: Misfit | None = None
    for cards in _some(place):
        for how in (TENSOR, PIPELINE) if len(cards.cards) > 1 else (TENSOR,):
            backend = build(books, [cards], how, size)
            if isinstance(backend, Misfit):
                worst = worst if worst and worst.short else backend
            elif best is None or _better(books.want, backend, best):
                best = backend
    return best or worst or Misfit("its cards cannot hold it")


def _some(place: Place) -> Iterator[Place]:
    """The box with all of its cards, and with the largest half, quarter… of them."""
    many = len(place.cards)
    ordered = sorted(place.cards, key=place.usable, reverse=True)
    sizes = [many, *(size for size in (16, 8, 4, 2, 1) if size < many)]
    for size in sizes:
        yield place if size == many else replace(place, cards=tuple(ordered[:size]))


def _better(want: Want, one: Backend, other: Backend) -> bool:
    return _value(want, one) > _value(want, other)


def _value(want: Want, backend: Backend) -> tuple[bool, float, float]:
    return backend.at_once >= want.at_once, backend.all, backend.holds


def _replicas(want: Want, copies: Sequence[Backend]) -> Iterator[Layout]:
    """A copy wherever one fits; where some hold less than is needed, also only those that hold it."""
    if not copies:
        return
    yield Layout(REPLICAS, tuple(copies))
    enough = tuple(one for one in copies if one.at_once >= want.at_once)
    if enough and len(enough) < len(copies):
        yield Layout(REPLICAS, enough)
    if len(copies) > 1:
        largest = max(copies, key=lambda one: one.at_once)
        if (largest,) != enough:
            yield Layout(REPLICAS, (largest,))


def _plenty(want: Want, copies: Sequence[Backend]) -> int:
    """1 where copies on two boxes hold what is needed: groups are only shown for comparison then."""
    return int(sum(copy.at_once >= want.at_once for copy in copies) >= 2)


def _groups(
    books: Books, places: Sequence[Place], misfits: dict[str, Misfit], caches: str, enough: int
) -> Iterator[Layout]:
    """Groups of few boxes first: two sizes that hold what is needed are enough (one, where copies hold it as well), and
    all boxes together are tried."""
    if books.want.engine != "vllm" or not books.want.shape.causal:
        return
    linked = books.want.linked(places)
    apart = [place.name for place in places if place.cards and not place.linked]
    if apart and len(linked) + len(apart) > 1:
        misfits[f"split with {', '.join(apart)}"] = Misfit("no fabric links it to other boxes")
    for size in range(2, len(linked) + 1):
        if enough >= 2 and size < len(linked):
            continue
        best: dict[str, Backend] = {}
        for some in unlike(linked, size):
            for how in (TENSOR, PIPELINE):
                backend = build(books, some, how, caches)
                if isinstance(backend, Misfit):
                    shared = "by tensor" if how == TENSOR else "by pipeline"
                    misfits[f"split {shared} over {' + '.join(place.name for place in some)}"] = backend
                elif how not in best or _better(books.want, backend, best[how]):
                    best[how] = backend
        enough += any(backend.at_once >= books.want.at_once for backend in best.values())
        for backend in best.values():
            yield Layout(SPLIT, (backend,))


def unlike(places: Sequence[Place], size: int) -> Iterator[tuple[Place, ...]]:
    """Yield the choices of so many boxes; of those that only differ by the boxes' names the first."""
    seen = set()
    for some in combinations(places, size):
        alike = tuple(sorted(repr(replace(place, name="")) for place in some))
        if alike not in seen:
            seen.add(alike)
            yield some
