"""Which pages Prometheus reads. Format: https://prometheus.io/docs/prometheus/latest/configuration/configuration/"""

from __future__ import annotations

from typing import Any

import yaml

from floor.config.hosts import netloc
from floor.config.model import Config
from floor.errors import UsageError

JOB = "floor"
RULES = "floor-alerts.yml"
_HEAD = """\
# Made by `floor export prometheus`. Every box has a page of its own figures; those of proxy boxes hold every copy, too,
# so what comes from several of them is the same: take the maximum over `instance`, never the sum.
# `floor export alerts > {rules}` makes the rules; put both into your own configuration, or use this file as it is.
"""


def demand(config: Config) -> int:
    """Return the port of the pages. Raise UsageError where floor.yaml has none."""
    if config.metrics.listen is None:
        raise UsageError(
            "metrics.listen: there is no page to read; write `metrics: {listen: 8097, allow: [ADDRESS OF PROMETHEUS]}` "
            "into floor.yaml and deploy"
        )
    return config.metrics.listen


def prometheus(config: Config) -> str:
    """Given the config, return a prometheus.yml that reads every managed box. Raise UsageError without a port."""
    port = demand(config)
    boxes = {name: box for name, box in config.boxes.items() if box.managed}
    targets: list[dict[str, Any]] = [
        {"targets": [netloc(box.host, port)], "labels": {"instance": name}} for name, box in boxes.items()
    ]
    found = {
        "global": {"scrape_interval": "15s", "evaluation_interval": "15s"},
        "rule_files": [RULES],
        "scrape_configs": [{"job_name": JOB, "scrape_timeout": "10s", "static_configs": targets}],
    }
    return _HEAD.format(rules=RULES) + yaml.safe_dump(found, sort_keys=False)
