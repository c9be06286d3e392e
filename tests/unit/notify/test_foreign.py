"""Units and lines of cron of somebody else's that mention or conflict with ours."""

from __future__ import annotations

from typing import Any

import pytest

from floor.notify.foreign import matters, words

RESTART = "systemctl restart floor-copy-flagship"
OURS = ["floor-copy-flagship.service"]


def hit(word: str, *, acts: bool = True) -> dict[str, Any]:
    return {"word": word, "where": "/opt/heal.sh:3", "line": f"systemctl restart {word}", "acts": acts}


def unit(name: str, conflicts: list[str], *mentions: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "conflicts": conflicts, "mentions": list(mentions)}


@pytest.mark.parametrize(
    ("one", "told"),
    [
        (
            unit("vllm-split.service", OURS),
            ["vllm-split.service (somebody else's) conflicts with floor-copy-flagship.service: its start stops that"],
        ),
        (
            unit("heal.timer", [], hit("llama-server"), hit("floor-copy-flagship")),
            [
                f"heal.timer (somebody else's) may start or stop engines: /opt/heal.sh:3 says `{RESTART}`",
            ],
        ),
        (unit("other.service", [], hit("llama-server")), []),  # an engine of their own
        (unit("other.service", [], hit("floor-copy-flagship", acts=False)), []),  # only asks
    ],
)
def test_units(one: dict[str, Any], told: list[str]) -> None:
    assert words({"units": [one], "cron": []}, OURS) == told
    assert [matter.key for matter in matters(told)] == [f"foreign {one['name']}" for _ in told]


def test_cron() -> None:
    line = {"path": "/etc/crontab", "number": 7, "user": "root", "mentions": [hit("floor-copy-flagship.service")]}
    assert words({"units": [], "cron": [line]}, OURS) == [
        f"/etc/crontab:7 (cron of root) may start or stop engines: /opt/heal.sh:3 says `{RESTART}.service`",
    ]
