"""Figures of the box, its cards and its pool."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from floor.metrics import machine
from floor.metrics.values import Family


def flat(families: list[Family]) -> dict[str, object]:
    return {
        " ".join([family.name.removeprefix("floor_"), *(text for _, text in labels)]): value
        for family in families
        for labels, value in family.children.items()
    }


def test_two_cards() -> None:
    text = "0, 97, 40000, 49140, 71, 301.55\n1, 0, 12, 49140, 30, 20.1\n"
    found = flat(machine.gpus(text, "a"))
    assert found["gpu_utilization_ratio a 0"] == pytest.approx(0.97)
    assert found["gpu_memory_used_bytes a 1"] == 12 * 1024**2
    assert found["gpu_power_watts a 0"] == 301.55


def test_a_card_that_shares_the_memory_of_the_box() -> None:
    """GB10's driver tells no memory: absent, not 0."""
    found = flat(machine.gpus("0, 12, [N/A], [N/A], 44, 18.20\n", "a"))
    assert sorted(found) == ["gpu_power_watts a 0", "gpu_temperature_celsius a 0", "gpu_utilization_ratio a 0"]


@pytest.mark.parametrize("text", ["", "NVIDIA-SMI has failed because it couldn't communicate\n", "0, 1\n"])
def test_no_cards(text: str) -> None:
    assert machine.gpus(text, "a") == []


def test_a_box(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc" / "meminfo").write_text("MemTotal:       1000 kB\nMemAvailable:    400 kB\n")
    found = flat(machine.box("a", tmp_path, lambda: (1.5, 1.0, 0.5)))
    assert found["box_memory_bytes a"] == 1024000
    assert found["box_memory_available_bytes a"] == 409600
    assert found["box_load1 a"] == 1.5


def test_a_box_that_tells_nothing(tmp_path: Path) -> None:
    assert "box_memory_bytes a" not in flat(machine.box("a", tmp_path))


def test_a_pool(tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    backends = {"m@a": {"member": True}, "m@b": {"member": False}}
    state.write_text(json.dumps({"at": 100.0, "pools": {"m": {"backends": backends}}}))
    assert flat(machine.pool(state, 103.0)) == {
        "pool_member m@a m": 1,
        "pool_member m@b m": 0,
        "pool_members m": 1,
        "pool_age_seconds": 3,
    }


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"pools": {"m": 1}, "at": 1}'])
def test_a_report_that_is_none(tmp_path: Path, text: str) -> None:
    state = tmp_path / "state.json"
    assert machine.pool(state, 0.0) == []
    state.write_text(text)
    assert machine.pool(state, 0.0) == []
