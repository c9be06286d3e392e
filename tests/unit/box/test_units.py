"""One `systemctl show` call, parsed: systemd's own words, and what is said when it cannot be asked."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floor.box.units import PROPERTIES, parse, run_show, show, show_argv
from floor.errors import FloorError

TEXT = (Path(__file__).parents[2] / "cases/units/show.txt").read_text()
NAMES = ["floor-copy-flagship.service", "floor-proxy.service", "floor-nothing.service"]


def test_a_running_unit() -> None:
    unit = parse(NAMES, TEXT)[NAMES[0]]
    assert unit.exists
    assert (unit.load, unit.active, unit.sub, unit.enabled, unit.result) == (
        "loaded",
        "active",
        "running",
        "enabled",
        "success",
    )
    assert (unit.main_pid, unit.restarts, unit.needs_reload) == (4242, 3, True)
    assert (unit.since, unit.active_since, unit.started) == (2000.5, 2000.0, 1500.0)
    assert unit.dropins == (
        "/etc/systemd/system/floor-copy-flagship.service.d/a.conf",
        "/etc/systemd/system/service.d/b.conf",
    )
    assert unit.conflicts == ("shutdown.target", "old-split.service")
    assert (unit.ended, unit.killed) == (None, False)
    assert unit.cgroup == "/system.slice/floor-copy-flagship.service"


def test_a_unit_whose_process_was_killed() -> None:
    unit = parse(NAMES, TEXT)[NAMES[1]]
    assert (unit.active, unit.result, unit.ended, unit.killed) == ("failed", "signal", 9, True)
    assert (unit.active_since, unit.main_pid, unit.invocation, unit.dropins) == (None, 0, "", ())


def test_a_unit_that_does_not_exist() -> None:
    unit = parse(NAMES, TEXT)[NAMES[2]]
    assert (unit.exists, unit.load, unit.active, unit.since) == (False, "not-found", "inactive", None)


def test_facts_are_json() -> None:
    facts = json.loads(json.dumps(parse(NAMES, TEXT)[NAMES[0]].as_json()))
    assert "name" not in facts
    assert (facts["active"], facts["invocation"], facts["conflicts"]) == (
        "active",
        "0f6c2a3bbf9e4c9c8d2d8a9d3f1e0a77",
        ["shutdown.target", "old-split.service"],
    )


def test_one_call_asks_for_everything_and_each_name_once() -> None:
    asked: list[Sequence[str]] = []

    def run(argv: Sequence[str], timeout: float) -> str:
        asked.append(argv)
        return TEXT

    assert list(show([*NAMES, NAMES[0]], run)) == NAMES
    assert asked == [show_argv(NAMES)]
    assert asked[0][:2] == ["systemctl", "show"]
    assert asked[0][-4:] == ["--", *NAMES]
    assert f"--property={','.join(PROPERTIES)}" in asked[0]


def test_no_names_ask_nothing() -> None:
    assert show([], lambda *_: pytest.fail("asked")) == {}


@pytest.mark.parametrize("names", [NAMES[:2], [*NAMES, "one-more.service"]])
def test_other_answers_than_asked_for_are_an_error(names: list[str]) -> None:
    with pytest.raises(
        FloorError, match=rf"systemctl show: asked for {len(names)} units, found 3 answers; run `system"
    ):
        parse(names, TEXT)


@given(st.text())
def test_any_block_is_read(text: str) -> None:
    block = "Id=x\n" + text.replace("\n\n", "\n").strip("\n")
    if "\n\n" not in block and len(block.strip().split("\n\n")) == 1:
        assert parse(["x"], block)["x"].name == "x"


def test_a_command_that_fails_is_said_in_its_own_words() -> None:
    with pytest.raises(FloorError, match=r"^sh -c: Failed to connect to bus; run `sh -c .*` on this box$"):
        run_show(["sh", "-c", "echo Failed to connect to bus >&2; exit 1"], 5)


def test_a_command_that_fails_without_words_says_how_it_ended() -> None:
    with pytest.raises(FloorError, match="exit status 4"):
        run_show(["sh", "-c", "exit 4"], 5)


def test_a_machine_without_systemd_is_said() -> None:
    with pytest.raises(FloorError, match=r"^/no/systemctl: not found on this box; floor needs systemd there$"):
        run_show(["/no/systemctl", "show"], 5)


def test_a_systemd_that_hangs_is_said() -> None:
    with pytest.raises(FloorError, match=r"no answer in 0.05 s; look at `systemctl is-system-running` on this box"):
        run_show([sys.executable, "-c", "import time; time.sleep(60)"], 0.05)
