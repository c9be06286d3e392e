"""When somebody is to be called. Format: https://prometheus.io/docs/prometheus/latest/configuration/alerting_rules/

Several proxy boxes tell the same of each copy: a rule takes the maximum over them, or the worst, as it says.
"""

from __future__ import annotations

from dataclasses import dataclass

import yaml

from floor.config.model import Config
from floor.desired.monitoring.prometheus import JOB, demand

CRITICAL, WARNING = "critical", "warning"

_KILLS = 'floor_decisions_total{service="guard",action="kill"}'


@dataclass(frozen=True)
class Alert:
    """One rule: `when` holds for `lasting` (Prometheus' durations) before anybody is called."""

    name: str
    when: str
    lasting: str
    severity: str
    says: str


ALERTS = (
    Alert(
        "FloorPoolEmpty",
        "max by (model) (floor_pool_members) == 0",
        "1m",
        CRITICAL,
        "No proxy has a copy of {{ $labels.model }}: clients get 503. `floor status` says why each copy is out.",
    ),
    Alert(
        "FloorBoxSilent",
        f'up{{job="{JOB}"}} == 0',
        "2m",
        CRITICAL,
        "The metrics page of {{ $labels.instance }} does not answer. `floor status` tells whether the box does.",
    ),
    Alert(
        "FloorPoolSilent",
        "floor_pool_age_seconds > 30",
        "1m",
        CRITICAL,
        "floor-pool on {{ $labels.instance }} has not reported for {{ $value }} s: it keeps to the members of then."
        " `floor logs pool`.",
    ),
    Alert(
        "FloorCopyOut",
        "max by (copy, model) (floor_pool_member) == 0",
        "15m",
        WARNING,
        "{{ $labels.copy }} has been in no pool for a quarter of an hour. `floor status` says why.",
    ),
    Alert(
        "FloorCopyFlaps",
        'max by (copy) (sum by (instance, copy) (increase(floor_pool_changes_total{change="out"}[1h]))) > 5',
        "0m",
        WARNING,
        "{{ $labels.copy }} left a pool {{ $value }} times within an hour. `floor events` says why each time.",
    ),
    Alert(
        "FloorCopyUnread",
        "max by (copy, model) (floor_target_up) == 0",
        "5m",
        WARNING,
        "The metrics of {{ $labels.copy }} cannot be read from any proxy box. `floor metrics` says why.",
    ),
    Alert(
        "FloorCopyRestarts",
        "max by (copy, model) (increase(floor_target_restarts_total[1h])) > 2",
        "0m",
        WARNING,
        "{{ $labels.copy }} began anew {{ $value }} times within an hour. `floor logs {{ $labels.copy }}`.",
    ),
    Alert(
        "FloorCopyStands",
        "max by (copy, model) (floor_copy_requests_running) > 0"
        " and max by (copy, model) (rate(floor_copy_steps_total[5m])) == 0",
        "5m",
        CRITICAL,
        "{{ $labels.copy }} holds requests and has made no step for five minutes. `floor health`.",
    ),
    Alert(
        "FloorQueueGrows",
        "max by (model) (floor_model_requests_waiting) > 2 * max by (model) (floor_model_requests_running)",
        "10m",
        WARNING,
        "{{ $value }} requests wait for {{ $labels.model }}, more than twice as many as run.",
    ),
    Alert(
        "FloorCacheFull",
        "max by (copy, model) (floor_copy_kv_cache_usage_ratio) > 0.95",
        "10m",
        WARNING,
        "The KV cache of {{ $labels.copy }} is {{ $value | humanizePercentage }} full: requests will lose their place.",
    ),
    Alert(
        "FloorFirstTokenLate",
        "max by (model) (histogram_quantile(0.9, sum by (instance, model, le)"
        " (rate(floor_model_time_to_first_token_seconds_bucket[10m])))) > 30",
        "10m",
        WARNING,
        "A tenth of the requests to {{ $labels.model }} wait {{ $value | humanizeDuration }} or longer for a token.",
    ),
    Alert(
        "FloorRefuses",
        'sum by (model) (rate(floor_proxy_requests_total{status=~"5.."}[5m]))'
        " / sum by (model) (rate(floor_proxy_requests_total[5m])) > 0.05",
        "5m",
        CRITICAL,
        "{{ $value | humanizePercentage }} of the requests to {{ $labels.model }} end with a server error.",
    ),
    Alert(
        "FloorHeld",
        "floor_held == 1",
        "10m",
        WARNING,
        "The guard keeps {{ $labels.unit }} on {{ $labels.instance }} down for want of memory. `floor guard`.",
    ),
    Alert(
        "FloorModelAwayLate",
        "min by (model) (floor_model_away_seconds) < -120",
        "0m",
        CRITICAL,
        "{{ $labels.model }} is away two minutes longer than a switch or a swap expected. `floor status --watch`.",
    ),
    Alert(
        "FloorOperationLeft",
        "max by (verb) (floor_operation_unfinished) == 1",
        "10m",
        WARNING,
        "A `floor {{ $labels.verb }}` did not end well. `floor status` names the command that finishes it.",
    ),
    Alert(
        "FloorPastProxy",
        "floor_direct_connections > floor_direct_connections offset 5m"
        " or floor_direct_connections unless floor_direct_connections offset 5m",
        "0m",
        WARNING,
        "Seen by {{ $labels.instance }}: {{ $labels.address }} asks an engine past the proxy. `floor clients`.",
    ),
    Alert(
        "FloorGuardActed",
        f"increase({_KILLS}[15m]) > 0 or {_KILLS} unless {_KILLS} offset 15m",  # the first one begins the series
        "0m",
        CRITICAL,
        "The guard took {{ $labels.copy }} on {{ $labels.instance }} down for memory. `floor events`.",
    ),
)


def alerts(config: Config) -> str:
    """Given the config, return the file of rules: those above, one for pools with the boxes that have one, and one for
    memory with the bounds that boxes have.

    Raise UsageError without metrics.listen.
    """
    demand(config)
    rules = [*ALERTS, _pools(config), *_memory(config)]
    group = {
        "name": "floor",
        "rules": [
            {
                "alert": rule.name,
                "expr": rule.when,
                "for": rule.lasting,
                "labels": {"severity": rule.severity},
                "annotations": {"summary": rule.says},
            }
            for rule in rules
        ],
    }
    return "# Made by `floor export alerts`.\n" + yaml.safe_dump({"groups": [group]}, sort_keys=False, width=120)


def _pools(config: Config) -> Alert:
    """A proxy box whose pool has told nothing since the box booted: nothing that the pool tells can say so."""
    boxes = "|".join(sorted(map(_literal, config.proxy.boxes)))
    return Alert(
        "FloorPoolMissing",
        f'up{{job="{JOB}",instance=~"{boxes}"}} == 1 unless on (instance) floor_pool_age_seconds',
        "5m",
        CRITICAL,
        "floor-pool on {{ $labels.instance }} has told nothing since the box booted: its proxy has nobody to send to."
        " `floor logs pool`.",
    )


def _memory(config: Config) -> list[Alert]:
    """A box that has less left than half of what floor.yaml says must stay free."""
    bounds: dict[int, list[str]] = {}
    for name, box in config.boxes.items():
        if box.managed:
            bounds.setdefault(int(box.keep_free) // 2, []).append(name)
    each = [
        f'floor_box_memory_available_bytes{{box=~"{"|".join(sorted(map(_literal, names)))}"}} < {bound}'
        for bound, names in sorted(bounds.items())
        if bound
    ]
    says = "{{ $labels.box }} has {{ $value | humanize1024 }}B left, less than half of its keep_free."
    return [Alert("FloorMemoryLow", " or ".join(each), "2m", CRITICAL, says)] if each else []


def _literal(name: str) -> str:
    """A box's name as a regular expression within a text: a dot stands for itself."""
    return name.replace(".", "\\\\.")
