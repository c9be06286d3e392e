"""The tool test as a box makes it: baseline, gate and quick look at an engine of its own, and what is kept of them."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from floor.agent import fetch, tested
from floor.agent.call import Call
from floor.agent.calls import tooltest
from floor.agent.params import Params
from floor.box import observe, paths, secrets, task
from floor.box import tested as records
from floor.box.locked import mine
from floor.box.units import UnitFacts
from floor.errors import FloorError, UsageError
from floor.sim.process import SimulatedEngine
from floor.tooltest.run.plan import Tier
from floor.tooltest.suite import book, read

MODEL, UNIT, KEY = "flagship", "floor-copy-flagship.service", "the-engine-key-of-all"
OLD, NEW = f"{'0' * 16}-{'a' * 16}", f"{'1' * 16}-{'a' * 16}"
SHORT = {"gate": Tier("gate", 1, 2), "quick": Tier("quick", 1, 1)}  # 12 scenarios: what is shown needs no more


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimulatedEngine]:
    path = tmp_path_factory.mktemp("book") / "answers.json"
    path.write_text(book.text(read.suite()))
    args = ["--enable-auto-tool-choice"]
    with SimulatedEngine(MODEL, context=131072, args=args, answers=path, speed_factor=500, key=KEY) as running:
        yield running


@pytest.fixture
def box(tmp_path: Path, engine: SimulatedEngine, monkeypatch: pytest.MonkeyPatch) -> Box:
    engine.clear()
    monkeypatch.setattr(tested, "BASELINE", 2)
    monkeypatch.setattr(tested, "TIERS", SHORT)
    return Box(tmp_path, engine.url, monkeypatch)


class Box:
    """A folder as the root of a box, with systemd and the units of tasks played."""

    def __init__(self, root: Path, url: str, patch: pytest.MonkeyPatch) -> None:
        self.root, self.url, self.invocation, self.active = root, url, "run-1", "active"
        self.tasks: list[str] = []
        secrets.put(KEY, "the-status-key-of-all", root, mine())
        paths.under(root, paths.LIB).mkdir(parents=True, exist_ok=True)
        for module in (tooltest.systemctl, tested.systemctl):
            patch.setattr(module, "show", self.show)
        patch.setattr(tooltest.task, "start", self.start)
        patch.setattr(Call, "work", lambda _call: _nothing())

    def show(self, names: list[str], _run: object) -> dict[str, UnitFacts]:
        facts = UnitFacts.__new__(UnitFacts)
        for name, value in {"name": names[0], "active": self.active, "invocation": self.invocation}.items():
            object.__setattr__(facts, name, value)
        return {names[0]: facts}

    def start(self, name: str, job: dict[str, Any], *_given: object) -> bool:
        """Do the task at once, in this process."""
        self.tasks.append(job["tier"])
        place = task.place(name, "json", self.root)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps(job))
        fetch.work(name, self.root)
        return True

    def run(
        self, tier: str, name: str = NEW, against: str | None = OLD, epoch: int = 1, **other: Any
    ) -> dict[str, Any]:
        given = {
            "unit": UNIT,
            "backend": "flagship@spark-a",
            "model": MODEL,
            "url": self.url,
            "key": True,
            "tier": tier,
            "name": name,
            "against": against,
            "build": name[:16],
            "launch": "abc",
            "concurrency": 4,
            "epoch": epoch,
            "timeout": 0,
        }
        return tooltest.run(self.call("tooltest.run", {**given, **other}))

    def call(self, name: str, params: dict[str, Any]) -> Call:
        return Call(Params(name, params), root=self.root, stdin=io.BytesIO())


class _nothing:  # noqa: N801 -- a context that holds nothing
    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


def test_a_baseline_then_a_gate_then_a_look_at_the_next_copy(box: Box) -> None:
    assert box.run("baseline", OLD, None) == {"over": True, "word": "DONE"}
    assert records.baselines(box.root) == {MODEL: [OLD]}
    kept = json.loads(records.baseline(MODEL, OLD, box.root).read_text())
    assert (len(kept["trials"]), {bool(one["exchanges"]) for one in kept["trials"]}) == (24, {False})
    passed = {"over": True, "word": "PASS", "said": "PASS: 100.0 of 100, 100.0 before"}
    assert box.run("gate") == passed
    found = observe.tested.last(box.root)[UNIT]
    shown = {name: found[name] for name in ("invocation", "launch", "tier", "against", "word", "score", "baseline")}
    assert shown == {
        "invocation": "run-1",
        "launch": "abc",
        "tier": "gate",
        "against": OLD,
        "word": "PASS",
        "score": 100.0,
        "baseline": 100.0,
    }
    assert records.page(UNIT, box.root).startswith("# Does flagship call tools? PASS")
    assert box.run("gate") == passed
    assert box.run("baseline", OLD, None) == {"over": True, "word": "DONE"}
    assert box.tasks == ["baseline", "gate"]  # what is over is not made again
    box.invocation = "run-2"
    assert box.run("quick") == passed
    events = paths.under(box.root, paths.EVENTS).read_text()
    assert "tool test of flagship@spark-a, gate: PASS" in events
    assert KEY not in events + json.dumps(kept)
    assert list(paths.under(box.root, paths.TESTS).glob("*.trials")) == []


def test_a_fault_is_blocked_and_the_page_shows_it(box: Box, engine: SimulatedEngine) -> None:
    box.run("baseline", OLD, None)
    engine.fault("tools", what="no-id")
    assert box.run("gate")["word"] == "BLOCK"
    assert "ids" in records.last(box.root)[UNIT]["reasons"][0]
    page = tooltest.page(box.call("tooltest.page", {"unit": UNIT}))["page"]
    assert "- **ids**, first in " in page


def test_a_model_whose_thoughts_take_all_its_tokens_passes_and_that_is_said(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tested, "SAMPLING", {"temperature": 0.0, "max_tokens": 2})
    box.run("baseline", OLD, None)
    told = box.run("gate")["said"]
    assert " trials of the baseline were cut off at 2 tokens, so it shows little: a model that thinks needs" in told


def test_without_a_baseline_it_is_left_open_until_a_person_takes_it(box: Box) -> None:
    assert box.run("gate", against=None)["word"] == "HOLD"
    assert records.last(box.root)[UNIT]["reasons"] == [tested.NOTHING]
    with pytest.raises(FloorError, match="was started anew since it was tested"):
        tooltest.accept(box.call("tooltest.accept", {"unit": UNIT, "invocation": "run-9", "by": "ada", "epoch": 1}))
    tooltest.accept(box.call("tooltest.accept", {"unit": UNIT, "invocation": "run-1", "by": "ada", "epoch": 1}))
    assert records.last(box.root)[UNIT]["accepted"] == "ada"


def test_an_engine_that_is_gone_is_no_verdict(box: Box) -> None:
    box.run("baseline", OLD, None)
    box.url = "http://127.0.0.1:9"
    assert box.run("gate")["word"] == "FAILED"
    found = records.last(box.root)[UNIT]
    assert found["down"] is True
    assert "http://127.0.0.1:9: does not answer" in found["reasons"][0]
    with pytest.raises(FloorError, match=r"tool test of flagship@spark-a, baseline: .* does not answer"):
        box.run("baseline", NEW, None)


def test_a_baseline_that_fails_is_told_in_its_operation_and_tried_again_in_the_next(box: Box) -> None:
    box.url = "http://127.0.0.1:9"
    for _ in range(2):
        with pytest.raises(FloorError, match="does not answer"):
            box.run("baseline", OLD, None)
    assert box.tasks == ["baseline"]
    with pytest.raises(FloorError, match="does not answer"):
        box.run("baseline", OLD, None, epoch=2)
    assert box.tasks == ["baseline", "baseline"]


def test_an_engine_that_starts_anew_meanwhile_was_not_tested(box: Box) -> None:
    box.run("baseline", OLD, None)
    begin = box.start

    def start(name: str, job: dict[str, Any], *given: object) -> bool:
        box.invocation = "run-2"
        return begin(name, job, *given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tooltest.task, "start", start)
        assert box.run("gate")["word"] == "FAILED"
    assert "was stopped or started anew while it was tested" in records.last(box.root)[UNIT]["reasons"][0]


def test_what_is_not_up_is_not_tested(box: Box) -> None:
    box.active = "activating"
    assert box.run("gate") == {"over": True, "word": "", "log": f"{UNIT} is activating"}
    with pytest.raises(FloorError, match=f"{UNIT} is activating: there is nothing to compare with"):
        box.run("baseline", OLD, None)


def test_a_baseline_goes_from_box_to_box(box: Box, tmp_path_factory: pytest.TempPathFactory) -> None:
    box.run("baseline", OLD, None)
    text = tooltest.read(box.call("tooltest.read", {"model": MODEL, "name": OLD}))["text"]
    other = tmp_path_factory.mktemp("other")
    paths.under(other, paths.LIB).mkdir(parents=True)
    put = {"model": MODEL, "name": OLD, "text": text, "epoch": 1}
    tooltest.put(Call(Params("tooltest.put", put), root=other, stdin=io.BytesIO()))
    assert records.baselines(other) == {MODEL: [OLD]}
    assert len(text) < 100_000


WRONG = [
    ({"name": "../x"}, "baseline '../x' of 'flagship': is no name of one"),
    ({"model": ".."}, f"baseline '{OLD}' of '..': is no name of one"),
]


@pytest.mark.parametrize(("other", "told"), WRONG)
def test_names_lead_nowhere_else(box: Box, other: dict[str, str], told: str) -> None:
    with pytest.raises(UsageError) as error:
        tooltest.read(box.call("tooltest.read", {"model": MODEL, "name": OLD, **other}))
    assert str(error.value) == told


def test_of_a_model_the_last_few_baselines_are_kept(box: Box) -> None:
    for number in range(8):
        records.put(MODEL, f"{number:016x}-{'a' * 16}", "{}", box.root)
    assert len(records.baselines(box.root)[MODEL]) == records.KEPT
