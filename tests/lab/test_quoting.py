"""Words that systemd, docker or an image's entrypoint could change: what runs on a booted box is what was planned."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from floor.engines import docker
from floor.render import systemd_env, systemd_exec
from tests import argv
from tests.lab.box import Box
from tests.lab.waiting import wait_for

UNIT = "floor-quoting.service"
CONTAINER = "floor-quoting"
IMAGE = "floor-lab/base:1"


@pytest.fixture
def box(boxa: Box) -> Iterator[Box]:
    """The first box, without the unit before and after."""
    yield boxa
    boxa.run(["systemctl", "stop", UNIT], check=False)
    boxa.run(docker.remove(CONTAINER), check=False)
    boxa.run(["rm", "-f", f"/etc/systemd/system/{UNIT}"])
    boxa.run(["systemctl", "daemon-reload"])


def _start(box: Box, text: str) -> int:
    box.put(f"/etc/systemd/system/{UNIT}", text)
    box.run(["systemctl", "daemon-reload"])
    box.run(["systemctl", "start", UNIT])
    return box.pid(UNIT)


def _words(box: Box, path: str) -> list[str]:
    return box.run(["cat", path]).stdout.removesuffix("\0").split("\0")


def test_a_process_has_the_planned_arguments(box: Box) -> None:
    pid = _start(box, argv.unit(argv.words()))
    assert _words(box, f"/proc/{pid}/cmdline") == argv.command(argv.words())


def test_a_process_has_the_planned_environment(box: Box) -> None:
    wanted = {f"WORD_{number}": word for number, word in enumerate(argv.words())}
    lines = "".join(f"Environment={systemd_env(name, value)}\n" for name, value in wanted.items())
    pid = _start(box, argv.unit([]) + lines)
    found = dict(line.split("=", 1) for line in _words(box, f"/proc/{pid}/environ"))
    assert {name: found[name] for name in wanted} == wanted


def test_a_container_has_the_planned_arguments_and_environment(box: Box) -> None:
    """The client's words, the engine's words behind the entrypoint, and the variables."""
    program, *words = argv.command(argv.words())
    wanted = {f"WORD_{number}": word for number, word in enumerate(argv.words())}
    container = docker.Container(CONTAINER, IMAGE, words, entrypoint=[program], env=wanted)
    planned = docker.run(container)
    pid = _start(box, f"[Service]\nType=exec\nExecStart={systemd_exec(planned)}\n")
    assert _words(box, f"/proc/{pid}/cmdline") == planned

    wait_for("the container to run", lambda: _engine(box), 20)
    engine = _engine(box)
    assert _words(box, f"/proc/{engine}/cmdline") == [program, *words]
    found = dict(line.split("=", 1) for line in _words(box, f"/proc/{engine}/environ"))
    assert {name: found[name] for name in wanted} == wanted


def _engine(box: Box) -> str:
    """The pid of the only child of the container's init, empty before there is one."""
    asked = box.run(["docker", "inspect", "-f", "{{.State.Pid}}", CONTAINER], check=False).stdout.strip()
    if not asked.isdigit() or asked == "0":
        return ""
    return box.run(["cat", f"/proc/{asked}/task/{asked}/children"], check=False).stdout.strip()
