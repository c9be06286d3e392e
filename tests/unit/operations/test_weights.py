"""A deployment does not start on weights that are missing, half there or others, and says which command brings them."""

from __future__ import annotations

from typing import Any

import pytest

from floor.errors import FloorError
from tests.simulated.situation import ONE_BOX, Situation

SOURCE = "/models/flagship"
REVISION = "a" * 40
TEXT = ONE_BOX.replace(
    f"source: {SOURCE}", f"source: {SOURCE}\n    fetch: {{repo: org/flagship, revision: {REVISION}}}"
)


def origin(revision: str = REVISION) -> dict[str, Any]:
    return {"repo": "org/flagship", "revision": revision, "include": []}


@pytest.mark.parametrize(
    ("known", "lacking", "told"),
    [
        ({}, True, "there is no /models/flagship (flagship@spark-a); run `floor fetch flagship`"),
        (
            {"partial": 3 << 30},
            True,
            "there is no /models/flagship (flagship@spark-a); run `floor fetch flagship`, which goes on from 3.0 GiB",
        ),
        (
            {"origin": origin(), "incomplete": "1 files: x"},
            False,
            "/models/flagship is not whole, 1 files: x; run `floor fetch flagship` (flagship@spark-a)",
        ),
        (
            {"origin": origin("b" * 40)},
            False,
            (
                "/models/flagship holds org/flagship at bbbbbbbbbbbb, floor.yaml says org/flagship at aaaaaaaaaaaa; "
                "write another `source` for that, and run `floor fetch flagship` (flagship@spark-a)"
            ),
        ),
    ],
)
def test_what_is_wrong_with_weights_is_told_with_the_way_out(
    situation: Situation, known: dict[str, Any], lacking: bool, told: str
) -> None:
    situation.text = TEXT
    situation.site()
    box = situation.box("spark-a")
    box.weights[SOURCE] = known
    box.lacking = {SOURCE} if lacking else set()
    with pytest.raises(FloorError) as caught:
        situation.deploy()
    assert str(caught.value) == f"nothing was changed:\n  spark-a: {told}"
    assert box.starts == []


@pytest.mark.parametrize("known", [{}, {"origin": origin()}])
def test_whole_weights_and_those_that_somebody_copied_there_are_started_on(
    situation: Situation, known: dict[str, Any]
) -> None:
    situation.text = TEXT
    situation.site()
    situation.box("spark-a").weights[SOURCE] = known
    assert situation.deploy()
    assert situation.starts("spark-a") == 1


def test_a_fetch_that_runs_is_left_alone(situation: Situation) -> None:
    """Its unit begins with `floor`, as those that a deployment takes away where floor.yaml no longer has them."""
    situation.text = TEXT
    situation.deploy()
    situation.box("spark-a").enabled.add("floor-fetch-0123456789ab.service")
    assert not situation.deploy()
