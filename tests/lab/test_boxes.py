"""The equipment itself: what a test of floor takes for granted about a box."""

from __future__ import annotations

import socket
import time
from pathlib import Path

import pytest

from tests.lab import faults
from tests.lab.box import Box
from tests.lab.boxes import Lab
from tests.lab.commands import CommandFailed, run
from tests.lab.docker_image import IMAGE, OTHER_IMAGE
from tests.lab.machine import LabError
from tests.lab.waiting import wait_for

SLEEPER = ["systemd-run", "--unit=sleeper", "sh", "-c", "sleep 1000 & sleep 1000"]


@pytest.fixture(scope="module", autouse=True)
def _new(clean_lab: Lab) -> None:
    """Begin with new boxes."""


def refuses(address: str, port: int, timeout: float = 1.0) -> str:
    """Return how a connect ends: `open`, `refused` or `silent`."""
    try:
        socket.create_connection((address, port), timeout).close()
    except ConnectionRefusedError:
        return "refused"
    except OSError:
        return "silent"  # no answer in time, or ARP had none
    return "open"


def test_a_box_runs_systemd_with_every_unit_up(boxa: Box, boxb: Box) -> None:
    for box in (boxa, boxb):
        assert box.run(["systemctl", "is-system-running"]).stdout == "running\n"
        assert box.run(["hostname"]).stdout == f"{box.name}\n"
        assert box.pid("nginx.service") > 1
    assert boxa.read("/etc/machine-id") != boxb.read("/etc/machine-id")
    assert boxa.boot_id() != boxb.boot_id()


def test_ssh_takes_a_person_in_who_may_use_sudo(boxa: Box) -> None:
    assert boxa.ssh(["id", "--user", "--name"]).stdout == "ops\n"
    assert boxa.ssh(["sudo", "-n", "id", "-u"]).stdout == "0\n"
    assert boxa.ssh(["cat"], input="a b\n'c'").stdout == "a b\n'c'"
    with pytest.raises(CommandFailed, match="status 3"):
        boxa.ssh(["sh", "-c", "exit 3"])


def test_plain_ssh_finds_the_boxes_with_the_lab_first_in_path(lab: Lab) -> None:
    assert run(["ssh", "boxb-root", "hostname; id -u"], env=lab.environment()).stdout == "boxb\n0\n"


def test_testinfra_looks_at_a_box(boxa: Box) -> None:
    assert boxa.host.service("ssh").is_running
    assert boxa.host.socket("tcp://0.0.0.0:22").is_listening


def test_files_go_in_and_out(boxa: Box) -> None:
    boxa.put("/srv/new/folder/file", "text: 'ä'\n", mode=0o600)
    assert boxa.read("/srv/new/folder/file") == "text: 'ä'\n"
    assert boxa.run(["stat", "-c", "%a %U", "/srv/new/folder/file"]).stdout == "600 root\n"


def test_the_client_and_the_other_box_reach_a_box_and_nothing_outside(lab: Lab, boxa: Box, boxb: Box) -> None:
    url = f"http://{boxb.address}/"
    for reached in (lab.client.run(["curl", "-s", url]), boxa.run(["curl", "-s", url])):
        assert "nginx" in reached.stdout
    assert boxa.run(["ip", "route", "show", "default"]).stdout == ""


def test_docker_runs_a_container_on_the_boxes_network(boxa: Box) -> None:
    words = ["docker", "run", "--rm", "--network", "host", "--entrypoint", "hostname", IMAGE]
    assert boxa.run(words).stdout == "boxa\n"
    images = boxa.run(["docker", "image", "inspect", "--format", "{{.Id}} {{.Config.Entrypoint}}", IMAGE, OTHER_IMAGE])
    first, second = images.stdout.splitlines()
    assert first.endswith("[/opt/vllm/bin/vllm serve]")
    assert first.split()[0] != second.split()[0]


def test_nftables_rules_are_private_to_a_box(boxa: Box, boxb: Box) -> None:
    assert refuses(boxa.address, 81) == "refused"
    faults.silence(boxa, 81)
    assert refuses(boxa.address, 81) == "silent"
    assert refuses(boxb.address, 81) == "refused"
    assert boxb.run(["nft", "list", "ruleset"]).stdout == ""
    faults.end_silence(boxa)
    assert refuses(boxa.address, 81) == "refused"


def test_a_frozen_process_hangs_with_its_children_until_thawed(boxa: Box) -> None:
    boxa.run(SLEEPER)
    main = boxa.pid("sleeper")
    states = ["ps", "-o", "state=", "--ppid", str(main), "-p", str(main)]
    wait_for("all three sleep", lambda: boxa.run(states).stdout.split() == ["S", "S", "S"], 10)
    assert len(faults.freeze(boxa, main)) == 3
    # A signal is sent, and taken when the process is next looked at by its kernel.
    wait_for("all three are stopped", lambda: boxa.run(states).stdout.split() == ["T", "T", "T"], 10)
    faults.thaw(boxa, main)
    wait_for("all three sleep again", lambda: boxa.run(states).stdout.split() == ["S", "S", "S"], 10)
    faults.kill(boxa, main)
    wait_for(
        "sleeper failed", lambda: boxa.run(["systemctl", "is-failed", "sleeper"], check=False).stdout == "failed\n", 5
    )
    with pytest.raises(LabError, match=f"there is no process {main} to send KILL to"):
        faults.kill(boxa, main)


def test_a_partition_is_silent_and_heals(boxa: Box, boxb: Box) -> None:
    began = boxa.boot_id()
    boxa.partition()
    assert refuses(boxa.address, 80) == "silent"
    assert refuses(boxb.address, 80) == "open"
    assert boxa.boot_id() == began  # it runs on
    boxa.heal()
    wait_for("boxa answers again", lambda: refuses(boxa.address, 80) == "open", 5)


def test_a_power_cut_ends_all_at_once_and_the_disk_is_there_after_boot(boxa: Box) -> None:
    before = boxa.boot_id()
    boxa.put("/srv/kept", "yes")
    boxa.put("/run/lost", "yes")
    with socket.create_connection((boxa.address, 22), 2) as open_before:
        assert open_before.recv(100).startswith(b"SSH-2.0-")
        boxa.power_cut()
        assert not boxa.is_on()
        open_before.settimeout(0.5)
        with pytest.raises(TimeoutError):
            open_before.recv(100)  # no farewell: the wire is dead
    assert refuses(boxa.address, 22) == "silent"
    with pytest.raises(LabError, match="boxa is off: boot it first"):
        boxa.run(["true"])
    boxa.boot()
    assert boxa.boot_id() != before
    assert boxa.read("/srv/kept") == "yes"
    assert boxa.run(["test", "-e", "/run/lost"], check=False).returncode == 1
    assert boxa.ssh(["hostname"]).stdout == "boxa\n"


def test_a_reboot_has_a_new_boot_id_and_no_rules_of_before(boxb: Box) -> None:
    before = boxb.boot_id()
    faults.silence(boxb, 81)
    boxb.reboot()
    assert boxb.boot_id() != before
    assert boxb.run(["nft", "list", "ruleset"]).stdout == ""


def test_a_box_that_is_switched_off_did_not_reboot(boxb: Box) -> None:
    boxb.run(["systemctl", "poweroff"])
    with pytest.raises(LabError, match="boxb went down with status 0, which is no reboot"):
        boxb.boot_again()
    boxb.boot()


def test_a_reset_box_is_new_within_seconds(lab: Lab, boxa: Box) -> None:
    boxa.put("/etc/floor/old", "x")
    boxa.run(["docker", "create", "--name", "old", IMAGE])
    boxa.run(["useradd", "somebody"])
    boxa.run(["docker", "rmi", "--force", OTHER_IMAGE])
    began = time.monotonic()
    lab.reset()
    took = time.monotonic() - began
    assert boxa.run(["ls", "/etc/floor"], check=False).returncode == 2
    assert boxa.run(["docker", "ps", "--all", "--quiet"]).stdout == ""
    assert boxa.run(["id", "somebody"], check=False).returncode == 1
    assert boxa.run(["docker", "image", "inspect", OTHER_IMAGE]).returncode == 0
    assert took < 30, f"a reset of both boxes took {took:.1f} s, 2 s is usual"


def test_a_box_shows_folders_of_the_machine_read_only(lab: Lab, boxa: Box, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("seen")
    lab.show({"/opt/shown": tmp_path})
    assert boxa.read("/opt/shown/file") == "seen"
    assert boxa.run(["touch", "/opt/shown/mine"], check=False).returncode != 0
    lab.show({})
    assert boxa.run(["test", "-e", "/opt/shown/file"], check=False).returncode == 1
