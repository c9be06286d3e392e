"""Weights and an image brought to both boxes: one has the internet, all is killed in the middle, nothing is lost.

The hub is in the client's namespace; boxb has no way there. Both have a second address, which stands for the fabric.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.hub import REPO, REVISION, TOKEN
from tests.lab.box import Box
from tests.lab.boxes import Lab
from tests.lab.deployment import set_up, until
from tests.lab.floor import ROOT, Floor
from tests.lab.sites import SIMULATED

SIZE = 24_000_000  # bytes of the largest file; the whole repository has twice as much
PACE = 0.014  # seconds before each 16 kB of a file: some 20 s for the largest
FOLDER = "/srv/models/flagship"
PART = "/srv/models/.flagship.floor-part"
IMAGE = "floor-lab/carried:1"
FABRIC = "192.168.77"
GOAL = 70.0  # seconds for all of it, kills and a boot included; the test fails beyond twice that


def site(lab: Lab) -> str:
    boxes = "\n".join(
        f"  {box.name}: {{host: {box.address}, fabric: {{interface: eth0, address: {fabric(box)}}}}}"
        for box in lab.boxes.values()
    )
    return f"""\
boxes:
{boxes}
models:
  flagship:
    source: {FOLDER}
    fetch: {{repo: {REPO}, revision: {REVISION}}}  # kept
    utilization: 0.1
    runtime: {{kind: docker, image: '{IMAGE}', gpus: none, entrypoint: {SIMULATED}}}
    replicas: [{", ".join(lab.boxes)}]
proxy: {{boxes: [boxa]}}
"""


def fabric(box: Box) -> str:
    return f"{FABRIC}.{box.address.rpartition('.')[2]}"


@pytest.fixture(scope="module")
def hub(clean_lab: Lab) -> Iterator[dict[str, Any]]:
    """A hub beside the boxes; what it lists, and its address as `url`."""
    argv = [*clean_lab.client.enter(), sys.executable, "-m", "tests.hub", clean_lab.client.address, "8000"]
    server = subprocess.Popen([*argv, str(SIZE), str(PACE)], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    yield {**json.loads(server.stdout.readline()), "url": f"http://{clean_lab.client.address}:8000"}
    server.kill()
    server.stdout.close()
    server.wait()


@pytest.fixture(scope="module")
def floor(clean_lab: Lab, hub: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Floor:
    """Both boxes set up; boxa has the way to the hub and the image, boxb has neither."""
    floor = Floor(clean_lab, tmp_path_factory.mktemp("site"))
    floor.environment |= {"HF_ENDPOINT": hub["url"], "HF_TOKEN": TOKEN}
    floor.write(site(clean_lab))
    for box in clean_lab.boxes.values():
        wire(box, clean_lab)
    set_up(clean_lab, floor)
    packed = subprocess.run(["tar", "-C", "/etc", "-c", "hostname"], capture_output=True, check=True).stdout
    subprocess.run([*clean_lab.boxes["boxa"].enter(), "docker", "import", "-", IMAGE], input=packed, check=True)
    return floor


def wire(box: Box, lab: Lab) -> None:
    """What a boot takes away: the fabric's address, and for boxb that it has no way to the hub."""
    box.run(["ip", "address", "add", f"{fabric(box)}/24", "dev", "eth0"])
    if box.name == "boxb":
        box.run(["ip", "route", "add", "unreachable", f"{lab.client.address}/32"])


def come(box: Box) -> int:
    """The bytes that have come to a box and have no name yet."""
    told = box.run(["find", PART, "-type", "f", "-printf", "%s\n"], check=False).stdout.split()
    return sum(map(int, told))


def manifest(box: Box) -> dict[str, Any]:
    return dict(json.loads(box.read(f"{FOLDER}/.floor-manifest.json")))


def test_a_branch_is_pinned_first(floor: Floor) -> None:
    floor.edit(REVISION, "main")
    told = floor("fetch", code=2).stderr
    assert f'found main, which may be other weights tomorrow; write "{REVISION}", which it is now' in told
    told = floor("fetch", "--pin").stdout
    assert f"+    fetch: {{repo: {REPO}, revision: {REVISION}}}  # kept" in told
    assert f"revision: {REVISION}}}  # kept" in floor.config.read_text()


def test_killed_and_cut_off_it_goes_on_and_both_boxes_hold_the_same(floor: Floor, hub: dict[str, Any]) -> None:
    boxa, boxb = floor.lab.boxes["boxa"], floor.lab.boxes["boxb"]
    began = time.monotonic()
    first = floor.start("fetch")
    until("some of it on boxa", lambda: come(boxa) > SIZE // 8, 30)
    first.kill()  # the laptop is closed
    first.communicate()
    before = come(boxa)
    until("boxa goes on by itself", lambda: come(boxa) > before, 10)
    second = floor.start("fetch")
    assert second.stdout is not None
    joined = second.stdout.readline()
    while "boxa: goes on with" not in joined:
        assert second.poll() is None, joined
        joined += second.stdout.readline()
    until("half of the largest on boxa", lambda: come(boxa) > SIZE // 2, 30)
    boxa.power_cut()
    boxa.boot()
    wire(boxa, floor.lab)
    told = second.communicate(timeout=120)[0]
    print(told)
    assert second.returncode == 1
    assert "run the same command again" in told
    kept = come(boxa)
    assert kept > 0
    refused = floor("deploy", "--mode", "replicas", code=1).stderr
    assert f"boxa: there is no {FOLDER} (flagship@boxa); run `floor fetch flagship`, which goes on from" in refused
    assert f"boxb: there is no {FOLDER} (flagship@boxb); run `floor fetch flagship`" in refused
    third = floor("fetch")
    took = time.monotonic() - began
    print(f"all of it after {took:.1f} s, {kept} bytes survived the power cut")
    assert f"boxb: fetches {REPO} at {REVISION[:12]} from boxa (http://{fabric(boxa)}:" in third.stdout
    wanted = {one["rfilename"]: one["size"] for one in hub["siblings"]}
    for box in (boxa, boxb):
        assert {one["path"]: one["size"] for one in manifest(box)["files"]} == wanted
        sums = "\n".join(f"{one['sha256']}  {FOLDER}/{one['path']}" for one in manifest(box)["files"])
        box.run(["sha256sum", "--check", "--quiet"], input=sums)
        box.run(["runuser", "-u", "floor", "--", "cat", f"{FOLDER}/config.json"])
    assert manifest(boxa)["digest"] == manifest(boxb)["digest"]
    assert took < 2 * GOAL


def test_the_image_was_carried_over(floor: Floor) -> None:
    ids = {
        name: box.run(["docker", "image", "inspect", "--format", "{{.Id}}", IMAGE]).stdout
        for name, box in floor.lab.boxes.items()
    }
    assert ids["boxa"] == ids["boxb"]
    for box in floor.lab.boxes.values():
        assert box.run(["find", "/var/lib/floor/fetch", "-type", "f"], check=False).stdout == ""
    assert floor("fetch").stdout.rstrip().endswith("nothing to do")
    assert floor("fetch", "--dry-run").stdout == "nothing to do\n"


def test_nothing_of_it_is_left_running_and_the_token_is_nowhere(floor: Floor) -> None:
    for box in floor.lab.boxes.values():
        until("no unit of a fetch", lambda box=box: "floor-fetch" not in units(box), 15)  # type: ignore[misc]
        places = ["/var/lib/floor", "/run", "/etc", "/srv", "/tmp", "/root", "/var/log"]
        found = box.run(["grep", "-rlsF", "--devices=skip", TOKEN, *places], check=False).stdout
        assert found == ""
        assert TOKEN not in box.run(["journalctl", "--no-pager", "-o", "verbose"]).stdout


def units(box: Box) -> str:
    return box.run(["systemctl", "list-units", "--all", "--plain", "--no-legend", "floor*"]).stdout


def test_a_damaged_file_is_named_and_comes_from_the_other_box(floor: Floor) -> None:
    path = next(one["path"] for one in manifest(floor.lab.boxes["boxb"])["files"] if one["size"] == SIZE)
    script = f"import os; f=open({FOLDER + '/' + path!r},'r+b'); s=os.fstat(f.fileno()); f.seek(9); f.write(b'x'); f.close(); os.utime({FOLDER + '/' + path!r}, ns=(s.st_atime_ns, s.st_mtime_ns))"  # noqa: E501
    floor.lab.boxes["boxb"].run(["python3", "-c", script])
    told = floor("fetch", "--check").stdout
    assert f"boxb: {path}: is damaged" in told
    assert "boxb: fetches" in told
    assert Path(FOLDER).name in told
    assert manifest(floor.lab.boxes["boxa"])["digest"] == manifest(floor.lab.boxes["boxb"])["digest"]


def test_where_no_box_reaches_the_hub_this_machine_passes_the_files_on(floor: Floor) -> None:
    boxa = floor.lab.boxes["boxa"]
    boxa.run(["ip", "route", "add", "unreachable", f"{floor.lab.client.address}/32"])
    floor.edit(f"source: {FOLDER}", "source: /srv/models/small")
    floor.edit(f"revision: {REVISION}", f"revision: {REVISION}, include: ['*.json']")
    told = floor("fetch").stdout
    assert f"{REPO} at {REVISION[:12]}: no box reaches the hub; it comes through this machine" in told
    assert f"boxa: fetches {REPO} at {REVISION[:12]} through this machine into /srv/models/small" in told
    assert f"boxb: fetches {REPO} at {REVISION[:12]} from boxa" in told
    assert boxa.run(["cat", "/srv/models/small/sub/tokenizer.json"]).stdout == "{}\n"
    assert TOKEN not in boxa.run(["journalctl", "--no-pager", "-o", "verbose"]).stdout
