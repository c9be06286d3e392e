"""What people do to a box beside deploying: reboot it, start things by hand, take it away and bring it back.

boxa runs its copy as a program of the box, boxb in Docker. The tests follow each other, as the lives of boxes do.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.lab.box import Box
from tests.lab.boxes import Lab
from tests.lab.deployment import UNIT, chat, invocations, pool, set_up, until
from tests.lab.floor import Floor
from tests.lab.sites import DOCKER, proxy, site
from tests.load.running import Running

KEPT = ("/var/lib/floor", "/var/cache/floor")  # without --purge
# A box's own /run/systemd notes which units are there; what is left of them is asked of systemd.
FIND = r"find / /run -xdev \( -name '*floor*' {owned} \) -not -path '/proc/*' -not -path '/run/systemd/*' -print -prune"


@pytest.fixture(scope="module")
def floor(clean_lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Floor:
    """Both boxes set up and deployed to, once for this module."""
    floor = Floor(clean_lab, tmp_path_factory.mktemp("site"))
    text = site(clean_lab, load_time=1, speed=10)
    floor.write(text.replace("replicas: [boxa, boxb]", f"replicas: [boxa, {{box: boxb, runtime: {DOCKER}}}]"))
    set_up(clean_lab, floor)
    floor("deploy", "--mode", "replicas")
    return floor


@pytest.fixture
def boxb(floor: Floor) -> Box:
    """The second box, whose copy is in both pools."""
    whole(floor.lab)
    return floor.lab.boxes["boxb"]


def whole(lab: Lab) -> float:
    """Wait until both copies are in both pools; return the seconds it took."""
    return until("both copies in both pools", lambda: all(len(pool(lab, box)) == 2 for box in lab.boxes), 60)


def load(floor: Floor) -> Running:
    """Clients beside the boxes, who never retry, at boxa's proxy."""
    return Running(proxy(floor.lab), "flagship", "--clients", "6", "--tokens", "60", enter=floor.lab.client.enter())


def left(box: Box, *, but: tuple[str, ...] = ()) -> dict[str, list[str]]:
    """All that is floor's on a box: files, processes, units, containers, accounts."""
    owned = "" if but else "-o -user floor -o -nouser"
    asked = {
        "files": ["sh", "-c", f"{FIND.format(owned=owned)} 2>/dev/null || true"],
        "processes": [
            "sh",
            "-c",
            "ps axww -o args= | grep -E '/opt/floor|/etc/floor|floor[.]|nginx' | grep -v grep || true",
        ],
        "units": ["systemctl", "list-units", "--all", "--no-legend", "--plain", "floor*"],
        "unit files": ["systemctl", "list-unit-files", "--no-legend", "floor*"],
        "containers": ["docker", "ps", "-a", "--format", "{{.Names}}"],
        "ports": ["sh", "-c", "ss -Hltn | grep -E ':(8000|8080|8099)\\b' || true"],
    }
    found = {what: box.run(argv, check=False).stdout.splitlines() for what, argv in asked.items()}
    found["files"] = [path for path in found["files"] if path not in but]
    return {what: lines for what, lines in found.items() if lines}


def test_a_copy_started_by_hand_in_another_mode_is_skipped(floor: Floor, boxb: Box) -> None:
    """No failure, and nothing else is touched; deploying waits for a person who knows why the mode is another one."""
    boxb.run(["systemctl", "stop", UNIT], timeout=120)
    before = invocations(floor.lab)
    boxb.put("/etc/floor/mode", "split\n")
    try:
        boxb.run(["systemctl", "start", UNIT])
        boxb.run(["systemctl", "restart", "floor.target"])
        shown = boxb.run(["systemctl", "show", "-p", "ActiveState,Result,NRestarts,MainPID", UNIT]).stdout.split()
        assert set(shown) == {"ActiveState=inactive", "Result=exec-condition", "NRestarts=0", "MainPID=0"}
        assert boxb.run(["docker", "ps", "-aq"]).stdout == ""
        assert boxb.run(["systemctl", "--failed", "--no-legend"]).stdout == ""
        assert others(invocations(floor.lab)) == others(before)
        assert chat(floor.lab, "boxb")[0] == 200
        assert "boxa: replicas, boxb: split" in floor("deploy", code=5).stderr
    finally:
        boxb.put("/etc/floor/mode", "replicas\n")
    boxb.run(["systemctl", "start", UNIT], timeout=120)
    whole(floor.lab)
    assert floor("deploy").stdout.strip() == "nothing to do"


def others(found: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
    """The runs of all units but that of boxb's copy, and of the target that was started."""
    return {
        box: {unit: run for unit, run in units.items() if (box, unit) != ("boxb", UNIT) and unit != "floor.target"}
        for box, units in found.items()
    }


def test_a_reboot_needs_nobody(floor: Floor, boxb: Box) -> None:
    """An ordinary reboot, of which floor is not told: what is under way there is finished, and the box comes back.

    An engine that was asked to stop still answers for a moment, 500 to what is new: those requests are lost.
    """
    before = boxb.boot_id()
    with load(floor) as running:
        began = time.monotonic()
        boxb.reboot()
        booted = time.monotonic()
        back = whole(floor.lab)
        report = running.stop()
    print(f"rebooted in {booted - began:.1f} s, in both pools {back:.1f} s after that: {report}")
    assert boxb.boot_id() != before
    assert chat(floor.lab, "boxb")[0] == 200
    assert all(began <= failure["start"] <= began + 3 for failure in report.failures)
    assert floor("deploy").stdout.strip() == "nothing to do"


def test_the_last_serving_copy_is_not_removed(floor: Floor, boxb: Box) -> None:
    floor("drain", "flagship@boxa")
    before = invocations(floor.lab)
    said = floor("remove", "boxb", "--yes", code=5).stderr
    assert "flagship" in said
    assert "--force" in said
    assert invocations(floor.lab) == before
    floor("undrain", "flagship@boxa")


def test_removing_a_box_takes_all_of_floor_off_it_and_no_request_away(floor: Floor, boxb: Box) -> None:
    boxb.put("/srv/tiny/weights.bin", "kept")
    with load(floor) as running:
        said = floor("remove", "boxb", "--yes").stdout
        until("out of boxa's pool", lambda: pool(floor.lab) == ["flagship@boxa"], 6)
        report = running.stop()
    print(f"under load meanwhile: {report}")
    assert said.splitlines()[-1] == "boxb: floor is removed"
    assert left(boxb, but=KEPT) == {}
    assert boxb.read("/etc/sudoers.d/ops") == "ops ALL=(ALL) NOPASSWD: ALL\n"
    assert boxb.run(["systemctl", "is-enabled", "nginx.service"]).stdout == "enabled\n"
    assert boxb.read("/srv/tiny/weights.bin") == "kept"
    assert report.failures == []


def test_the_other_box_serves_on_with_the_edited_file(floor: Floor, tmp_path: Path) -> None:
    """The box is taken out of floor.yaml after it was removed. Then the rest of it goes too."""
    box = floor.lab.boxes["boxb"]
    whole_file = tmp_path / "floor.yaml"
    whole_file.write_text(floor.config.read_text())
    before = invocations(floor.lab)["boxa"]
    floor.edit(f"  boxb: {{host: {box.address}}}\n", "")
    floor.edit(f"replicas: [boxa, {{box: boxb, runtime: {DOCKER}}}]", "replicas: [boxa]")
    floor.edit("boxes: [boxa, boxb]", "boxes: [boxa]")
    floor("deploy")
    assert floor("deploy").stdout.strip() == "nothing to do"
    assert pool(floor.lab) == ["flagship@boxa"]
    assert chat(floor.lab)[0] == 200
    assert invocations(floor.lab)["boxa"][UNIT] == before[UNIT]
    floor("remove", "boxb", "--config", str(whole_file), "--yes", "--purge", "--force")
    assert left(box) == {}
    floor.write(whole_file.read_text())


def test_setup_and_deploy_bring_it_back(floor: Floor) -> None:
    """With the keys that the other box has; its copy is not touched."""
    before = invocations(floor.lab)["boxa"][UNIT]
    said = floor("deploy", code=None)
    assert said.returncode != 0
    assert "floor setup boxb" in said.stdout + said.stderr
    floor("setup", "boxb", "--yes")
    # In a container it is another build than boxa's.
    assert "--roll-back" in floor("deploy", "--ungated", code=5).stderr
    floor("deploy", "--roll-back", "--ungated")
    whole(floor.lab)
    assert invocations(floor.lab)["boxa"][UNIT] == before
    for box in floor.lab.boxes:
        assert chat(floor.lab, box)[0] == 200
    assert floor("deploy").stdout.strip() == "nothing to do"
