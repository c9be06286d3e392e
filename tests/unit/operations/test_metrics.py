"""The metrics page is deployed and taken away like any service, and no engine notices."""

from __future__ import annotations

import pytest

from floor.errors import BoxError
from floor.operations import logs
from floor.operations.metrics import metrics
from tests.simulated.situation import Situation

UNIT, ENGINE = "floor-metrics.service", "floor-copy-flagship.service"
PLAIN, SECTION = "proxy: {boxes", "metrics: {listen: 8097}\nproxy: {boxes"


def test_it_comes_and_goes_beside_running_engines(deployed: Situation) -> None:
    boxes = [deployed.box(name) for name in ("spark-a", "spark-b")]
    said = len(deployed.said)
    deployed.edit(PLAIN, SECTION)
    assert deployed.deploy()
    assert [box.state(UNIT) for box in boxes] == ["active", "active"]
    assert not deployed.deploy()
    deployed.edit(SECTION, PLAIN)
    assert deployed.deploy()
    assert [box.state(UNIT) for box in boxes] == ["inactive", "inactive"]
    assert any(UNIT in line for line in deployed.said[said:])
    assert not [line for line in deployed.said[said:] if ENGINE in line or "flagship@" in line]


def test_its_log_is_read_where_it_runs(deployed: Situation) -> None:
    deployed.edit(PLAIN, SECTION)
    assert logs.wanted_units(deployed.site(), ["metrics"]) == {"spark-a": [UNIT], "spark-b": [UNIT]}


def test_the_first_proxy_box_that_answers_is_asked(deployed: Situation) -> None:
    assert metrics(deployed.site(), 2.0)["asked"] == "spark-a"
    deployed.box("spark-a").up = False
    assert metrics(deployed.site(), 2.0)["asked"] == "spark-b"
    deployed.box("spark-b").up = False
    with pytest.raises(BoxError, match=r"(?s)spark-a.*spark-b"):
        metrics(deployed.site(), 2.0)
