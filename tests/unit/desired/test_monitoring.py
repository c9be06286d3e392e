"""What Prometheus and Grafana are given."""

from __future__ import annotations

import json
import re

import pytest
import yaml

from floor.config import parse
from floor.config.model import Config
from floor.desired.monitoring.alerts import ALERTS, alerts
from floor.desired.monitoring.grafana import CHARTS, HEIGHT, WIDTH, grafana
from floor.desired.monitoring.prometheus import prometheus
from floor.errors import UsageError
from floor.metrics.catalogue import FIGURES

FILE = """
boxes:
  a: {host: 192.0.2.1}
  b.lan: {host: "fd00::2", keep_free: 4GiB}
  mac: {host: 192.0.2.9, managed: false}
models:
  m: {source: /m, utilization: 0.1, runtime: {kind: native, command: /x}, replicas: [a, b.lan, mac]}
proxy: {boxes: [a]}
"""


def config(section: str = "metrics: {listen: 8097}\n") -> Config:
    return parse(FILE + section)


@pytest.mark.parametrize("made", [prometheus, alerts, grafana])
def test_without_a_page_there_is_nothing_to_read(made: object) -> None:
    with pytest.raises(UsageError, match=r"metrics.listen: there is no page to read; write `metrics: \{listen: 8097"):
        made(config(""))  # type: ignore[operator]


def test_every_managed_box_is_read() -> None:
    found = yaml.safe_load(prometheus(config()))
    assert found["scrape_configs"][0]["static_configs"] == [
        {"targets": ["192.0.2.1:8097"], "labels": {"instance": "a"}},
        {"targets": ["[fd00::2]:8097"], "labels": {"instance": "b.lan"}},
    ]


def test_memory_has_the_bound_of_each_box() -> None:
    rules = yaml.safe_load(alerts(config()))["groups"][0]["rules"]
    (memory,) = [rule for rule in rules if rule["alert"] == "FloorMemoryLow"]
    assert memory["expr"] == (
        f'floor_box_memory_available_bytes{{box=~"b\\\\.lan"}} < {2 * 2**30} or '
        f'floor_box_memory_available_bytes{{box=~"a"}} < {4 * 2**30}'
    )


def test_an_alert_names_what_it_is_about() -> None:
    for alert in ALERTS:
        assert re.search(r"\{\{ \$labels\.\w+ \}\}", alert.says), alert.name
        assert alert.severity in ("critical", "warning")


KNOWN = {f"floor_{part}_{figure.name}" for part in ("copy", "model") for figure in FIGURES}
OTHERS = {
    "floor_box_memory_available_bytes",
    "floor_decisions_total",
    "floor_direct_connections",
    "floor_gpu_utilization_ratio",
    "floor_held",
    "floor_model_away_seconds",
    "floor_operation_unfinished",
    "floor_pool_age_seconds",
    "floor_pool_changes_total",
    "floor_pool_member",
    "floor_pool_members",
    "floor_proxy_requests_total",
    "floor_target_restarts_total",
    "floor_target_up",
}


def test_only_names_that_there_are_are_asked_for() -> None:
    """Every name of the rules and the dashboard is one that the page has, so that no panel stays empty."""
    asked = " ".join([alert.when for alert in ALERTS] + [query for chart in CHARTS for query, _ in chart.lines])
    names = {re.sub(r"_(bucket|count|sum)$", "", name) for name in re.findall(r"floor_[a-z0-9_]+", asked)}
    assert names <= KNOWN | OTHERS


def test_the_dashboard() -> None:
    found = json.loads(grafana(config()))
    places = [panel["gridPos"] for panel in found["panels"]]
    assert len({panel["id"] for panel in found["panels"]}) == len(CHARTS)
    cells = [
        (x, y) for at in places for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])
    ]
    assert len(set(cells)) == len(cells)
    assert all(at["x"] + at["w"] <= WIDTH and at["h"] == HEIGHT for at in places)
    # A proxy box more changes no figure: nothing is added up over pages that tell the same.
    for chart in CHARTS:
        for query, _ in chart.lines:
            assert "floor_proxy" in query or "floor_pool_changes" in query or query.startswith(("max by", "min by"))
