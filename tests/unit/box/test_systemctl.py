"""What systemd is told, word by word, and its own words when it fails."""

from __future__ import annotations

import pytest

from floor.box import systemctl
from floor.errors import FloorError

from .conftest import Programs

SHOWN = """Id=floor-pool.service
LoadState=loaded
ActiveState=active
MainPID=7
ControlGroup=/system.slice/floor-pool.service
"""


def test_an_order_never_asks_for_a_password(programs: Programs) -> None:
    programs.on("systemctl")
    systemctl.do(["stop", "--no-block", "--", "floor-pool.service"], programs)
    assert programs.ran == [
        ["systemctl", "--quiet", "--no-ask-password", "stop", "--no-block", "--", "floor-pool.service"]
    ]


def test_an_order_that_fails_is_told_in_systemds_words(programs: Programs) -> None:
    programs.on("systemctl", err="Failed to start x.service: Unit x.service not found.", code=5)
    with pytest.raises(
        FloorError, match=r"systemctl start x.service: Failed to start x.service: Unit x.service not found."
    ):
        systemctl.do(["start", "x.service"], programs)


def test_an_order_that_fails_without_a_word_is_told_too(programs: Programs) -> None:
    programs.on("systemctl", code=1)
    with pytest.raises(FloorError, match="systemctl daemon-reload: failed without a word"):
        systemctl.do(["daemon-reload"], programs)


def test_units_are_shown_through_the_same_runner(programs: Programs) -> None:
    programs.on("systemctl", "show", out=SHOWN)
    seen = systemctl.show(["floor-pool.service"], programs)["floor-pool.service"]
    assert (seen.active, seen.main_pid, seen.cgroup) == ("active", 7, "/system.slice/floor-pool.service")


def test_a_systemd_that_cannot_be_asked_is_named(programs: Programs) -> None:
    programs.on("systemctl", err="System has not been booted with systemd as init system", code=1)
    with pytest.raises(
        FloorError, match=r"systemctl show: System has not been booted .*; does systemd run on this box\?"
    ):
        systemctl.show(["floor-pool.service"], programs)


def test_the_last_line_of_a_unit_is_what_its_engine_said_last(programs: Programs) -> None:
    """Not what systemd says of it, nor the wait beside it: neither tells why an engine ended."""
    beside = "m@spark-a: waiting for engine: refused, 12 s\nfloor-warm: the engine (process 7) ended\n\n"
    lines = f"Loading weights: 42%\n{beside}"
    programs.on("journalctl", "_SYSTEMD_UNIT=floor-copy-m.service", out=lines)
    assert systemctl.last_line("floor-copy-m.service", programs) == "Loading weights: 42%"
    assert systemctl.last_line("floor-other.service", programs) == ""
