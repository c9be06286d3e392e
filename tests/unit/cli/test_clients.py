"""`floor clients` from its words to what is printed."""

from __future__ import annotations

import json

from tests.simulated.situation import Situation
from tests.unit.cli.conftest import Floor

EMPTY = {"come": [], "go": [], "direct": [], "turned": {}}
NOBODY = "nobody is connected to an engine past the proxy"


def test_nobody_is_said_of_the_boxes_that_told(deployed: Situation, floor: Floor) -> None:
    for name in ("spark-a", "spark-b"):
        deployed.box(name).connections = EMPTY
    done = floor("clients")
    assert (done.code, done.lines) == (0, [NOBODY])
    deployed.box("spark-b").up = False
    done = floor("clients")
    assert (done.code, done.lines) == (1, [f"{NOBODY}, as far as spark-a can tell"])
    assert done.err == "error: spark-b: no way there\n"
    deployed.box("spark-a").up = False
    done = floor("clients")
    assert (done.code, done.lines) == (1, [])


def test_as_json(deployed: Situation, floor: Floor) -> None:
    for name in ("spark-a", "spark-b"):
        deployed.box(name).connections = EMPTY
    found = json.loads(floor("clients", "--json").out)
    assert found["asked"] == ["spark-a", "spark-b"]
    assert set(found) == {"asked", "connections", "turned_away", "refused", "failed"}
