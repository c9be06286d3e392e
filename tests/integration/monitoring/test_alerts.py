"""Prometheus' own checker (Debian package prometheus) reads the files, and every alert fires when it should, alone."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from floor.config import parse
from floor.desired.monitoring.alerts import ALERTS, alerts
from floor.desired.monitoring.grafana import CHARTS
from floor.desired.monitoring.prometheus import RULES, prometheus

CASES = yaml.safe_load((Path(__file__).parents[2] / "cases" / "monitoring" / "alerts.yaml").read_text())
CONFIG = parse("""
boxes:
  a: {host: 192.0.2.1}
  b.lan: {host: "fd00::2", keep_free: 4GiB}
  mac: {host: 192.0.2.9, managed: false}
models:
  m: {source: /m, utilization: 0.1, runtime: {kind: native, command: /x}, replicas: [a, b.lan]}
proxy: {boxes: [a, b.lan]}
metrics: {listen: 8097}
""")
MADE = ("FloorPoolMissing", "FloorMemoryLow")  # of what floor.yaml says
MINUTES = 60
# Two proxy boxes, two copies at work, and nothing wrong.
HEALTHY = {
    'up{job="floor",instance="a"}': "1x60",
    'floor_pool_members{instance="a",model="m"}': "2x60",
    'floor_pool_age_seconds{instance="a"}': "1x60",
    'floor_pool_member{instance="a",copy="m@a",model="m"}': "1x60",
    'floor_pool_member{instance="a",copy="m@b",model="m"}': "1x60",
    # A restart takes it out once and brings it back.
    'floor_pool_changes_total{instance="a",copy="m@b",change="out",reason="drained"}': "_x10 1x50",
    'floor_target_up{instance="a",copy="m@b",model="m"}': "1x10 0+0x2 1x50",
    'floor_target_restarts_total{instance="a",copy="m@b",model="m"}': "0+0x12 1x50",
    'floor_copy_requests_running{instance="a",copy="m@b",model="m"}': "8x60",
    'floor_copy_steps_total{instance="a",copy="m@b",model="m"}': "0+1000x60",
    'floor_copy_requests_running{instance="a",copy="m@a",model="m"}': "0+0x60",
    'floor_copy_steps_total{instance="a",copy="m@a",model="m"}': "500x60",
    'floor_model_requests_waiting{instance="a",model="m"}': "3x60",
    'floor_model_requests_running{instance="a",model="m"}': "8x60",
    'floor_copy_kv_cache_usage_ratio{instance="a",copy="m@b",model="m"}': "0.8x60",
    'floor_model_time_to_first_token_seconds_bucket{instance="a",model="m",le="1.0"}': "0+10x60",
    'floor_model_time_to_first_token_seconds_bucket{instance="a",model="m",le="+Inf"}': "0+10x60",
    'floor_proxy_requests_total{instance="a",model="m",copy="m@b",status="200"}': "0+100x60",
    'floor_proxy_requests_total{instance="a",model="m",copy="",status="503"}': "_x20 1x40",
    'floor_decisions_total{instance="a",service="guard",action="would_kill",copy="x"}': "_x10 1x50",
    'floor_box_memory_available_bytes{instance="a",box="a"}': "9000000000x60",
    # A switch within its time, an operation at work, and somebody who went past the proxy once, long before.
    'floor_model_away_seconds{instance="a",model="m",mode="split"}': "_x5 120 60 0 -60 stale _x50",
    'floor_operation_unfinished{instance="a",verb="switch"}': "0x60",
    'floor_held{instance="a",unit="floor-copy-m.service"}': "_x5 1x5 stale _x50",
}


def promtool(*words: str, folder: Path) -> str:
    found = subprocess.run(["promtool", *words], cwd=folder, text=True, capture_output=True, check=False)
    said = found.stdout + found.stderr
    assert found.returncode == 0, said
    return said


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / RULES).write_text(alerts(CONFIG))
    (tmp_path / "prometheus.yml").write_text(prometheus(CONFIG))
    return tmp_path


def told(folder: Path, series: dict[str, str], *expected: tuple[str, str, str | None]) -> None:
    """Given series and (minute, alert, labels of the firing one or None), have promtool hold the rules to it."""
    tests = [
        {
            "eval_time": at,
            "expr": f'ALERTS{{alertstate="firing"{alert}}}',
            "exp_samples": [] if labels is None else [{"labels": labels, "value": 1}],
        }
        for at, alert, labels in expected
    ]
    case: dict[str, Any] = {
        "rule_files": [RULES],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": [{"series": name, "values": values} for name, values in series.items()],
                "promql_expr_test": tests,
            }
        ],
    }
    (folder / "case.yml").write_text(yaml.safe_dump(case))
    promtool("test", "rules", "case.yml", folder=folder)


def test_prometheus_takes_both_files(folder: Path) -> None:
    said = promtool("check", "config", "prometheus.yml", folder=folder)
    assert "1 rule files found" in said
    assert f"{len(ALERTS) + len(MADE)} rules found" in said


def test_every_alert_has_a_case() -> None:
    assert set(CASES) == {alert.name for alert in ALERTS} | set(MADE)


SEVERITIES = {alert.name: alert.severity for alert in ALERTS} | dict.fromkeys(MADE, "critical")


@pytest.mark.parametrize("name", list(CASES))
def test_it_fires_and_nothing_else_does(folder: Path, name: str) -> None:
    case = CASES[name]
    labels = {"alertname": name, "alertstate": "firing", "severity": SEVERITIES[name], **case["labels"]}
    words = ",".join(f'{key}="{value}"' for key, value in labels.items())
    told(folder, case["series"], (case["silent"], "", None), (case["fires"], "", f"ALERTS{{{words}}}"))


def test_a_healthy_hour_is_silent(folder: Path) -> None:
    told(folder, HEALTHY, *((f"{minute}m", "", None) for minute in range(0, MINUTES, 3)))


def test_every_query_of_the_dashboard_can_be_read(folder: Path) -> None:
    """As recording rules, which promtool parses; Grafana's own words are replaced."""
    queries = [query for chart in CHARTS for query, _ in chart.lines]
    plain = [query.replace("$__rate_interval", "1m").replace("$model", "m") for query in queries]
    rules = [{"record": f"query:{at}", "expr": query} for at, query in enumerate(plain)]
    (folder / "queries.yml").write_text(yaml.safe_dump({"groups": [{"name": "x", "rules": rules}]}))
    assert f"{len(plain)} rules found" in promtool("check", "rules", "queries.yml", folder=folder)
