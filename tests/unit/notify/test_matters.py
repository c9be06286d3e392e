"""What of a box's knowledge needs a person."""

from __future__ import annotations

from typing import Any

import pytest

from floor.notify import matters

BY = {"user": "ann", "host": "laptop"}


@pytest.mark.parametrize(
    ("record", "told"),
    [
        (None, []),
        ({"epoch": 7, "verb": "deploy", "by": BY, "state": "live", "live": True}, []),
        ({"epoch": 7, "verb": "deploy", "by": BY, "state": "done", "live": False}, []),
        (
            {"epoch": 7, "verb": "deploy", "by": BY, "state": "live", "live": False},
            ["`deploy` of ann@laptop was abandoned; run the same command again to finish it"],
        ),
        (
            {"epoch": 7, "verb": "restart", "by": BY, "state": "failed", "live": False},
            ["`restart` of ann@laptop ended failed; run the same command again to finish it"],
        ),
    ],
)
def test_operations(record: dict[str, Any] | None, told: list[str]) -> None:
    assert [matter.text for matter in matters.of_operation(record)] == told


def backend(member: bool, drains: list[str] | None = None) -> dict[str, Any]:
    return {"member": member, "drains": drains or [], "reason": "refused", "evidence": "connection refused"}


@pytest.mark.parametrize(
    ("members", "backends", "told"),
    [
        (["m@a", "m@b"], {"m@a": backend(True), "m@b": backend(True)}, []),
        (["m@a"], {"m@a": backend(True)}, []),
        (
            ["m@a"],
            {"m@a": backend(True), "m@b": backend(False)},
            ["m: only m@a is left", "m@b is out: refused: connection refused"],
        ),
        (["m@a"], {"m@a": backend(True), "m@b": backend(False, ["ann"])}, ["m: only m@a is left"]),
        ([], {}, []),  # a model that is only split, while the boxes serve replicas
        ([], {"m@a": backend(False)}, ["m: nobody serves it", "m@a is out: refused: connection refused"]),
    ],
)
def test_pools(members: list[str], backends: dict[str, Any], told: list[str]) -> None:
    report = {"pools": {"m": {"members": members, "backends": backends}}}
    assert [matter.text for matter in matters.of_pools(report, 1000.0)] == told


def test_a_box_without_a_pool_has_nothing_to_say_of_it() -> None:
    assert matters.of_pools(None, 1000.0) == []


def test_of_a_pool_that_does_not_report_only_that_is_told() -> None:
    report = {"at": 900.0, "pools": {"m": {"members": [], "backends": {"m@a": backend(False)}}}}
    (matter,) = matters.of_pools(report, 1000.0)
    assert matter.text.startswith("floor-pool has not reported for 100 s: nobody takes a copy out that fails")
    assert len(matters.of_pools(report, 950.0)) == 2


def test_an_empty_pool_is_told_at_once_and_a_lost_copy_when_it_lasts() -> None:
    report = {"pools": {"m": {"members": [], "backends": {"m@a": backend(False)}}}}
    assert [matter.after for matter in matters.of_pools(report, 1000.0)] == [0.0, matters.LOST]


def test_what_somebody_stopped_is_told_when_it_stays_stopped() -> None:
    found = matters.of_decisions([("m@a", "stopped", "somebody"), ("m@a", "given up", "why")])
    assert [(matter.key, matter.after) for matter in found] == [("m@a stopped", matters.STOPPED), ("m@a given up", 0.0)]


def test_what_a_switch_keeps_away_is_no_loss() -> None:
    pool = {"members": [], "backends": {"m@a": backend(False)}}
    assert [matter.key for matter in matters.of_pools({"pools": {"m": pool, "n": pool}}, 1000.0, {"m"})] == [
        "nobody n",
        "lost m@a",
    ]
