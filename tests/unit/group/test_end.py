"""How a part is ended: all of it, the very start that was meant, and not at its own expense."""

from __future__ import annotations

from dataclasses import replace

from floor.group.end import end
from tests.unit.box.conftest import Programs
from tests.unit.group.test_ask import GROUP

SHOWN = f"Id={GROUP.unit}\nActiveState=active\nInvocationID=s1\n"


def orders(programs: Programs) -> list[str]:
    return [" ".join(argv) for argv in programs.ran if "show" not in argv]


def test_every_process_is_killed_and_the_start_is_not_counted() -> None:
    programs = Programs()
    programs.on("show", out=SHOWN)
    programs.on("systemctl")
    assert end(GROUP, "s1", programs)
    assert orders(programs) == [
        f"systemctl --quiet --no-ask-password reset-failed -- {GROUP.unit}",
        f"systemctl --quiet --no-ask-password kill --signal=SIGKILL -- {GROUP.unit}",
    ]


def test_a_container_goes_too() -> None:
    programs = Programs()
    programs.on("show", out=SHOWN)
    programs.on("systemctl")
    programs.on("docker")
    assert end(replace(GROUP, container="floor-group-flagship"), "s1", programs)
    assert orders(programs)[-1] == "docker rm --force -- floor-group-flagship"


def test_another_start_than_was_meant_is_left_alone() -> None:
    programs = Programs()
    programs.on("show", out=SHOWN)
    assert not end(GROUP, "s0", programs)
    assert orders(programs) == []
