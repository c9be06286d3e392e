"""What a person writes to `floor layout`: boxes, edits to try, traffic, curves. Raises UsageError."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from floor.config.values import NAME, size
from floor.errors import UsageError
from floor.layout import traffic, weights
from floor.layout.cards import Card, named
from floor.layout.fleet import Place, Want, boxes_of
from floor.layout.traffic import Chance, Traffic

_GGML = ("f32", "f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl")
_CACHES = ("auto", "fp8", "fp8_e4m3", "fp8_e5m2", *_GGML)
_COUNTS = ("context", "at_once", "cap", "drafts", "depth", "prompt")
_MOST_CARDS = 16
_MOST_REQUESTS = 20_000  # of a simulation: some seconds


@dataclass(frozen=True)
class Asked:
    """All that was asked for beside the file. `boxes`, `what_if`, `curves` as they were written; None: not said."""

    models: Sequence[str] = ()
    boxes: Sequence[str] = ()
    settings: Mapping[str, object] = field(default_factory=dict)
    critical: Sequence[str] = ()
    curves: Sequence[str] = ()


def box(text: str) -> Place:
    """Given NAME=CARD, NAME=CARDxN or more cards with `+`, and ,others= ,keep_free= ,utilization= ,fabric=no behind it,
    return the box."""
    name, _, rest = text.partition("=")
    first, *more = rest.split(",")
    if not re.fullmatch(NAME, name) or not first:
        raise UsageError(f"--box {text}: write NAME=CARD, such as spark-a=gb10 or rig=rtx-3090x4,others=2GiB")
    place = Place(name, _all_cards(first))
    for word in more:
        place = _of_box(place, *_pair(f"--box {text}", word))
    return place


def edit(text: str, want: Want, places: Sequence[Place]) -> tuple[Want, list[Place]]:
    """Given KEY=VALUE with commas between, a model and boxes, return both as they would be then.

    KEY is context, at_once, cap, kv_cache, drafts, depth, prompt, quant, weights; or a box: BOX=CARD, BOX.others=SIZE.
    """
    changed = list(places)
    names = [place.name for place in places]
    for word in text.split(","):
        key, value = _pair(f"--what-if {text}", word)
        name, _, part = key.rpartition(".") if key not in names else (key, "", "")
        if name in names:
            at = names.index(name)
            kept = changed[at]
            changed[at] = _of_box(kept, part, value) if part else _with_cards(kept, value)
            if not part:  # what was measured there was measured on the cards of now
                measured = {one: told for one, told in want.measured.items() if name not in boxes_of(one)}
                want = replace(want, measured=measured)
        else:
            want = setting(want, key, value, f"--what-if {text}")
    return want, changed


def setting(want: Want, key: str, value: str, where: str) -> Want:
    """Given a model, one of its settings with its value and where that was written, return the model with it."""
    if key in _COUNTS:
        found = _count(value, where, key, least=0 if key == "drafts" else 1)
        if key == "context" and want.shape.context and found > want.shape.context:
            raise UsageError(f"{where}: {want.name} allows requests of {want.shape.context} tokens; found {found}")
        kept = want.as_other() if key == "drafts" and found != want.drafts else want
        return kept.within(found) if key == "context" else replace(kept, **{key: found})  # type: ignore[arg-type]
    if key == "kv_cache":
        if value not in _CACHES:
            raise UsageError(f"{where}: found kv_cache {value!r}; write one of {', '.join(_CACHES)}")
        return replace(want if value == want.kv_cache else want.as_other(), kv_cache=value)
    if key == "quant":
        if value not in weights.BITS:
            raise UsageError(f"{where}: found quant {value!r}; write one of {', '.join(weights.BITS)}")
        return replace(want.as_other(), weights=weights.computed(want.shape, weights.BITS[value]))
    if key == "weights":
        return replace(want.as_other(), weights=weights.scaled(want.weights, _bytes(value, where)))
    known = ", ".join((*_COUNTS, "kv_cache", "quant", "weights"))
    raise UsageError(f"{where}: found {key!r}, no box and no setting; write a box or one of {known}")


def simulated(text: str, chance: Chance) -> Traffic:
    """Given a file of JSON lines, or rate= or users= with lengths and how long, return it as traffic."""
    where = f"--simulate {text}"
    if "=" not in text:
        try:
            return traffic.lines(Path(text).read_text(encoding="utf-8").splitlines(), text)
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"{where}: cannot be read ({error}); write a file of JSON lines, or rate=0.5") from error
    known = {"prompt": 4000.0, "answer": 400.0, "minutes": 30.0, "requests": 500.0}
    said = dict(_pair(where, word) for word in text.split(","))
    for key, value in said.items():
        if key not in (*known, "rate", "users"):
            raise UsageError(f"{where}: found {key!r}; write rate, users, prompt, answer, minutes or requests")
        known[key] = _number(value, where, key) if key in ("rate", "minutes") else _count(value, where, key, least=1)
    if ("rate" in known) == ("users" in known):
        raise UsageError(
            f"{where}: write either rate= (requests a second) or users= (people who ask one after another)"
        )
    prompt, answer = int(known["prompt"]), int(known["answer"])
    if "users" in known:
        if known["requests"] > _MOST_REQUESTS:
            raise UsageError(f"{where}: found requests {known['requests']:.0f}; write at most {_MOST_REQUESTS:,}")
        return traffic.crowd(int(known["users"]), prompt, answer, int(known["requests"]), chance)
    if known["rate"] * known["minutes"] * 60 > _MOST_REQUESTS:
        raise UsageError(f"{where}: that would be more than {_MOST_REQUESTS:,} requests; write fewer minutes")
    return traffic.stated(known["rate"], prompt, answer, known["minutes"] * 60, chance)


def _cards(text: str) -> Iterator[Card]:
    name, sign, many = text.rpartition("x")
    if sign and many.isdigit() and name:
        if not 1 <= int(many) <= _MOST_CARDS:
            raise UsageError(f"{text}: found {many} cards; write at most {_MOST_CARDS}")
        yield from [named(name)] * int(many)
    else:
        yield named(text)


def _all_cards(text: str) -> tuple[Card, ...]:
    cards = tuple(card for some in text.split("+") for card in _cards(some))
    if len(cards) > 1 and any(card.unified for card in cards):
        raise UsageError(
            f"{text}: a card that shares the memory of its machine is the only one there; write a box each"
        )
    return cards


def _with_cards(place: Place, text: str) -> Place:
    cards = _all_cards(text)
    # what others take of a memory that is shared by everything, they do not take of cards with their own
    others = place.others if place.unified == any(card.unified for card in cards) else 0.0
    return replace(place, cards=cards, others=others)


def _of_box(place: Place, key: str, value: str) -> Place:
    where = f"{place.name}.{key}"
    if key in ("others", "keep_free"):
        return replace(place, **{key: float(_bytes(value, where))})  # type: ignore[arg-type]
    if key == "utilization":
        found = _number(value, where, key)
        if found > 1:
            raise UsageError(f"{where}: found {value}; write a share above 0 and at most 1")
        return replace(place, utilization=found)
    if key == "fabric" and value in ("yes", "no"):
        return replace(place, linked=value == "yes")
    raise UsageError(f"{where}={value}: write others=SIZE, keep_free=SIZE, utilization=SHARE or fabric=no")


def _pair(where: str, word: str) -> tuple[str, str]:
    key, sign, value = word.strip().partition("=")
    if not sign or not key or not value:
        raise UsageError(f"{where}: found {word!r}; write KEY=VALUE, with commas between several")
    return key, value


def _bytes(text: str, where: str) -> float:
    try:
        return float(str(size(text)))
    except ValueError as error:
        raise UsageError(f"{where}: found {text!r}; write {error}") from error


def _count(text: str, where: str, key: str, least: int) -> int:
    if not text.isdigit() or not least <= int(text) <= 100_000_000:
        raise UsageError(f"{where}: found {key} {text!r}; write a whole number of at least {least}")
    return int(text)


def _number(text: str, where: str, key: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = -1
    if not 0 < found < 1e9:
        raise UsageError(f"{where}: found {key} {text!r}; write a number above 0")
    return found
