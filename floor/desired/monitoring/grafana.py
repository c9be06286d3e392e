"""A dashboard. Format: https://grafana.com/docs/grafana/latest/dashboards/build-dashboards/view-dashboard-json-model/"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from floor.config.model import Config
from floor.desired.monitoring.prometheus import demand

WIDTH = 24  # columns of Grafana's grid
SOURCE = {"type": "prometheus", "uid": "${source}"}
_MODEL = '{model=~"$model"}'


@dataclass(frozen=True)
class Chart:
    """One panel: `lines` are (query, legend); `unit` is Grafana's word for it."""

    title: str
    lines: tuple[tuple[str, str], ...]
    unit: str = "short"
    width: int = 12
    about: str = ""
    stacked: bool = False


def _rate(metric: str, by: str) -> str:
    """Several proxy boxes tell the same: the maximum over them, and a sum over nothing."""
    return f"max by ({by}) (rate({metric}{_MODEL}[$__rate_interval]))"


def _late(share: float, what: str = "time_to_first_token") -> str:
    buckets = f"rate(floor_model_{what}_seconds_bucket{_MODEL}[$__rate_interval])"
    return f"max by (model) (histogram_quantile({share}, sum by (instance, model, le) ({buckets})))"


CHARTS = (
    Chart("Tokens a second, all copies", ((_rate("floor_model_generated_tokens_total", "model"), "{{model}}"),)),
    Chart(
        "Tokens a second, each copy",
        ((_rate("floor_copy_generated_tokens_total", "copy"), "{{copy}}"),),
        stacked=True,
    ),
    Chart(
        "Requests running",
        ((f"max by (copy) (floor_copy_requests_running{_MODEL})", "{{copy}}"),),
        width=8,
        stacked=True,
    ),
    Chart(
        "Requests waiting",
        ((f"max by (copy) (floor_copy_requests_waiting{_MODEL})", "{{copy}}"),),
        width=8,
        stacked=True,
    ),
    Chart(
        "KV cache in use",
        (
            (f"max by (copy) (floor_copy_kv_cache_usage_ratio{_MODEL})", "{{copy}}"),
            (f"max by (model) (floor_model_kv_cache_usage_ratio{_MODEL})", "{{model}}, all"),
        ),
        "percentunit",
        8,
    ),
    Chart("Time to the first token", ((_late(0.5), "{{model}} half"), (_late(0.9), "{{model}} nine in ten")), "s"),
    Chart(
        "Time between tokens, nine in ten",
        ((_late(0.9, "inter_token"), "{{model}}"),),
        "s",
    ),
    Chart(
        "Answers of the proxies",
        (
            (
                f"sum by (model, status) (rate(floor_proxy_requests_total{_MODEL}[$__rate_interval]))",
                "{{model}} {{status}}",
            ),
        ),
        "reqps",
        about="By the status that clients got.",
    ),
    Chart(
        "Copies in the pools",
        ((f"min by (model) (floor_pool_members{_MODEL})", "{{model}}"),),
        width=6,
        about="As the proxy that has the fewest sees it.",
    ),
    Chart(
        "Changes of the pools",
        (
            (
                "sum by (copy, change, reason) (increase(floor_pool_changes_total[$__rate_interval]))",
                "{{copy}} {{change}}: {{reason}}",
            ),
        ),
        width=6,
    ),
    Chart("Memory left", (("max by (box) (floor_box_memory_available_bytes)", "{{box}}"),), "bytes", 8),
    Chart("Cards busy", (("max by (box, gpu) (floor_gpu_utilization_ratio)", "{{box}} {{gpu}}"),), "percentunit", 8),
    Chart(
        "Copies that can be read",
        ((f"max by (copy) (floor_target_up{_MODEL})", "{{copy}}"),),
        width=8,
        about="1: its metrics were read at the last look.",
    ),
    Chart(
        "What guard, watchdog and group did",
        (
            (
                "max by (service, action, copy) (increase(floor_decisions_total[$__rate_interval]))",
                "{{service}} {{action}} {{copy}}",
            ),
            ("max by (unit) (floor_held)", "{{unit}} is kept down"),
        ),
        width=8,
    ),
    Chart(
        "A switch or a swap keeps it away",
        ((f"max by (model) (floor_model_away_seconds{_MODEL})", "{{model}}, seconds left"),),
        "s",
        8,
        about="Until it is expected back.",
    ),
    Chart(
        "Past the proxy",
        (("max by (address, instance) (floor_direct_connections)", "{{address}} on {{instance}}"),),
        width=8,
        about="Connections to engines that neither a proxy nor a check of floor's made; see `floor clients`.",
    ),
)
HEIGHT = 8


def grafana(config: Config) -> str:
    """Given the config, return the dashboard as JSON. Raise UsageError without metrics.listen."""
    demand(config)
    found = {
        "title": "floor",
        "uid": "floor",
        "tags": ["floor", "llm"],
        "schemaVersion": 39,
        "refresh": "15s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": [_source(), _models()]},
        "panels": panels(CHARTS),
    }
    return json.dumps(found, indent=1) + "\n"


def panels(charts: Sequence[Chart]) -> list[dict[str, Any]]:
    """Given charts in reading order, return the panels: from left to right, row after row, none over another."""
    made, left, top = [], 0, 0
    for number, chart in enumerate(charts, 1):
        if left + chart.width > WIDTH:
            left, top = 0, top + HEIGHT
        place = {"x": left, "y": top, "w": chart.width, "h": HEIGHT}
        made.append(_panel(number, chart, place))
        left += chart.width
    return made


def _panel(number: int, chart: Chart, place: dict[str, int]) -> dict[str, Any]:
    custom = {"fillOpacity": 20, "stacking": {"mode": "normal", "group": "A"}} if chart.stacked else {"fillOpacity": 5}
    return {
        "id": number,
        "type": "timeseries",
        "title": chart.title,
        "description": chart.about,
        "datasource": SOURCE,
        "gridPos": place,
        "fieldConfig": {"defaults": {"unit": chart.unit, "min": 0, "custom": custom}, "overrides": []},
        "options": {"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi"}},
        "targets": [
            {"refId": chr(ord("A") + at), "datasource": SOURCE, "expr": query, "legendFormat": legend}
            for at, (query, legend) in enumerate(chart.lines)
        ],
    }


def _source() -> dict[str, Any]:
    return {"name": "source", "label": "Prometheus", "type": "datasource", "query": "prometheus"}


def _models() -> dict[str, Any]:
    return {
        "name": "model",
        "label": "Model",
        "type": "query",
        "datasource": SOURCE,
        "query": "label_values(floor_target_up, model)",
        "refresh": 2,
        "multi": True,
        "includeAll": True,
        "current": {"text": "All", "value": "$__all"},
    }
