"""A plan in words and as JSON."""

from __future__ import annotations

from floor.plan import show
from floor.plan.steps import Plan, Step, Until, stage

WHY = "arguments change"
PLAN = Plan(
    (
        *stage(
            "change flagship@a",
            [
                Step("a", "drain.add", {"backend": "flagship@a"}, "drain flagship@a", WHY),
                Step("a", "files.put", {"files": [{"path": "/etc/x", "text": "key"}]}, "write /etc/x", "missing"),
                Step("a", "unit.start", {"unit": "u"}, "start flagship@a", WHY, Until("active", 1.0)),
                Step("a", "unit.enable", {"unit": "u"}, "enable u"),
            ],
            [],
            outage=("flagship",),
        ),
        *stage("nothing", []),
        *stage("record", [Step("a", "config.put", {"text": "boxes"}, "keep a copy", WHY)]),
    ),
    ("left as it is: b",),
)


def test_in_words() -> None:
    assert show.lines(PLAN) == [
        "1. change flagship@a   (nobody serves flagship meanwhile)",
        "   a: drain flagship@a   [arguments change]",
        "   a: write /etc/x   [missing]",
        "   a: start flagship@a   [arguments change]",
        "   a: enable u",
        "2. record",
        "   a: keep a copy   [arguments change]",
        "note: left as it is: b",
    ]


def test_as_json_without_contents() -> None:
    found = show.as_json(PLAN)
    assert found["notes"] == ["left as it is: b"]
    assert found["stages"][0]["outage"] == ["flagship"]
    assert found["stages"][0]["steps"][1] == {
        "box": "a",
        "call": "files.put",
        "params": {"paths": ["/etc/x"]},
        "text": "write /etc/x",
        "why": "missing",
    }
    assert found["stages"][1]["steps"][0]["params"] == {}


def test_a_plan_knows_its_outages() -> None:
    assert PLAN.outage == ("flagship",)
    assert not Plan()
    assert [len(found.steps) for found in PLAN.stages] == [4, 1]
