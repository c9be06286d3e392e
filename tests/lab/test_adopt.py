"""Engines that were started by hand become a floor.yaml, are told, taken over under load, and come back in the end."""

from __future__ import annotations

import json
import threading
import time

import pytest

from tests.lab.box import Box
from tests.lab.boxes import Lab
from tests.lab.deployment import chat, invocations, pool, set_up, until
from tests.lab.floor import Floor
from tests.lab.sites import proxy, site
from tests.load.running import Running

PYTHON = "/srv/engine/bin/python"  # somebody else's: it stays where floor leaves the box
ENGINE = "-I -m floor.sim serve /srv/tiny --served-model-name flagship --max-model-len 8192 --max-num-seqs 16"
SIMULATED = "--sim-load-time 1 --sim-speed-factor 4"
CONTAINER = (
    "docker run --detach --name vllm-main --restart unless-stopped --network host --ulimit memlock=8388608 "
    f"-v /srv/engine:/srv/engine:ro -v /srv/tiny:/srv/tiny:ro --env VLLM_LOGGING_LEVEL=INFO "
    f"--entrypoint {PYTHON} floor-lab/base:1 "
    f"{ENGINE} {SIMULATED}"
)
UNIT = f"""\
[Service]
User=ops
Environment=VLLM_LOGGING_LEVEL=INFO
ExecStart={PYTHON} {ENGINE} {SIMULATED}
Restart=always

[Install]
WantedBy=multi-user.target
"""
WATCH = "#!/bin/sh\ncurl -sf -m 30 http://127.0.0.1:8000/health >/dev/null || systemctl restart vllm.service\n"
CRON = "# models\n@reboot root docker start vllm-main\n"


@pytest.fixture(scope="module")
def floor(clean_lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Floor:
    """Two boxes whose engines were started by hand: in Docker on one, by a unit with a watchdog on the other."""
    floor = Floor(clean_lab, tmp_path_factory.mktemp("site"))
    floor.write(site(clean_lab))
    set_up(clean_lab, floor)
    boxa, boxb = clean_lab.boxes["boxa"], clean_lab.boxes["boxb"]
    for box in (boxa, boxb):
        box.run(["cp", "-rL", "/opt/floor/current", "/srv/engine"])
    boxa.put("/etc/cron.d/models", CRON)
    boxa.run(CONTAINER.split(), timeout=120)
    boxb.put("/etc/systemd/system/vllm.service", UNIT)
    boxb.put("/srv/watch.sh", WATCH, 0o755)
    boxb.put("/etc/systemd/system/watch.service", "[Service]\nType=oneshot\nExecStart=/srv/watch.sh\n")
    boxb.put(
        "/etc/systemd/system/watch.timer",
        "[Timer]\nOnUnitActiveSec=2s\nOnActiveSec=1s\nAccuracySec=1s\n[Install]\nWantedBy=timers.target\n",
    )
    boxb.run(["systemctl", "daemon-reload"])
    boxb.run(["systemctl", "enable", "--now", "vllm.service"])
    for box in (boxa, boxb):
        until(f"{box.name} answers", lambda box=box: answers(box), 120)
    boxb.run(["systemctl", "enable", "--now", "watch.timer"])
    return floor


def answers(box: Box) -> bool:
    """Whether an engine answers on the box's port without any key."""
    words = ["curl", "-sf", "-m", "5", "-o", "/dev/null", "http://127.0.0.1:8000/v1/models"]
    return box.run(words, check=False).returncode == 0


def state(box: Box, unit: str) -> tuple[str, str]:
    """Whether a unit runs, and whether it starts with the box."""
    return (
        box.run(["systemctl", "is-active", unit], check=False).stdout.strip(),
        box.run(["systemctl", "is-enabled", unit], check=False).stdout.strip(),
    )


def policy(box: Box) -> tuple[str, bool]:
    """The container's restart policy, and whether it runs."""
    told = json.loads(box.run(["docker", "inspect", "vllm-main"]).stdout)[0]
    return told["HostConfig"]["RestartPolicy"]["Name"], told["State"]["Running"]


def test_what_runs_becomes_a_floor_yaml(floor: Floor) -> None:
    done = floor("init", "--adopt", "boxa", "boxb", "--force")
    print(floor.config.read_text())
    assert "from 2 running engines" in done.stdout
    assert done.stderr == ""
    text = floor.config.read_text()
    assert "# boxa: container vllm-main; see `docker inspect vllm-main`" in text
    assert "# boxb: unit vllm.service; see `systemctl cat vllm.service`" in text
    assert "flagship on boxa, boxb" in floor("check").stdout


def test_a_dry_run_shows_the_copies_and_what_is_in_the_way(floor: Floor) -> None:
    shown = floor("deploy", "--dry-run", code=3).stdout
    notes = [line for line in shown.splitlines() if line.startswith("note: in the way: ")]
    assert [
        word
        for line in notes
        for word in ("vllm-main", "vllm.service:", "watch.timer", "cron.d/models")
        if word in line
    ]
    assert len(notes) == 4, notes
    assert "/srv/watch.sh:2 says `curl" in shown
    stages = [line.partition(". ")[2] for line in shown.splitlines() if line[:1].isdigit()]
    expected = {
        "share the keys",
        "guard the boxes",
        "prepare boxa",
        "prepare boxb",
        "start flagship",
        "record the file",
    }
    assert set(stages) <= expected, stages


def test_without_a_word_nothing_is_touched(floor: Floor) -> None:
    told = floor("deploy", code=1).stderr
    assert "boxa: container vllm-main: it runs on port 8000 in the place of flagship@boxa" in told
    assert "floor deploy --take-over" in told
    for box in floor.lab.boxes.values():
        assert answers(box)
        assert box.run(["ls", "/etc/systemd/system"]).stdout.count("floor") == 0
    assert policy(floor.lab.boxes["boxa"]) == ("unless-stopped", True)


def test_a_take_over_under_load_loses_no_request(floor: Floor) -> None:
    boxa, boxb = floor.lab.boxes["boxa"], floor.lab.boxes["boxb"]
    shown = floor("deploy", "--take-over", "--dry-run", code=3).stdout
    assert "take over container vllm-main: stop it, keep it from starting again" in shown
    assert "nobody serves" not in shown
    over: list[str] = []
    deployment = threading.Thread(target=lambda: over.append(floor("deploy", "--take-over").stdout))
    began = time.monotonic()
    deployment.start()
    first = until("the old engines answer through the proxy", lambda: chat(floor.lab)[0] == 200, 240, 0.2)
    assert answers(boxa) or answers(boxb)
    with Running(
        proxy(floor.lab),
        "flagship",
        "--clients",
        "16",
        "--tokens",
        "40",
        "--stream",
        "yes",
        enter=floor.lab.client.enter(),
    ) as load:
        deployment.join()
        took = time.monotonic() - began
        time.sleep(2)
        report = load.stop()
    print(f"old engines in the pool after {first:.1f} s, taken over in {took:.1f} s: {report}")
    assert over, "the deployment failed"
    assert report.failures == []
    assert report.sent >= 50
    assert policy(boxa) == ("no", False)
    assert state(boxb, "vllm.service") == state(boxb, "watch.timer") == ("inactive", "disabled")
    assert boxa.read("/etc/cron.d/models") == "# models\n# taken over by floor: @reboot root docker start vllm-main\n"
    assert len(pool(floor.lab)) == 2
    assert floor("deploy").stdout.strip() == "nothing to do"
    assert floor("deploy", "--take-over").stdout.strip() == "nothing to do"
    assert "take over unit vllm.service" in floor("events").stdout


def test_a_start_that_would_fail_is_refused_before_a_copy_stops(floor: Floor) -> None:
    """In a container and as a program of the box."""
    before = invocations(floor.lab)
    floor.edit("sim-load-time: 1", "sim-load-time: 1\n      sim-nope: 1")
    began = time.monotonic()
    told = floor("deploy", "--ungated", code=1).stderr
    print(f"both starts tried in {time.monotonic() - began:.1f} s, with all else that a deployment looks at")
    for box in floor.lab.boxes:
        assert f"{box}: flagship@{box}: it would not start: floor sim: --sim-nope: no such simulation setting" in told
    assert invocations(floor.lab) == before
    floor.edit("sim-load-time: 1\n      sim-nope: 1", "sim-load-time: 1")
    assert floor("deploy").stdout.strip() == "nothing to do"


def test_remove_brings_back_what_was_there(floor: Floor) -> None:
    boxa, boxb = floor.lab.boxes["boxa"], floor.lab.boxes["boxb"]
    told = floor("remove", "boxa", "--yes").stdout
    assert "container vllm-main is as it was: restart policy unless-stopped, started" in told
    assert policy(boxa) == ("unless-stopped", True)
    assert boxa.read("/etc/cron.d/models") == CRON
    floor("remove", "boxb", "--yes", "--force", "--purge")
    assert state(boxb, "vllm.service") == state(boxb, "watch.timer") == ("active", "enabled")
    for box in (boxa, boxb):
        until(f"{box.name} answers as before", lambda box=box: answers(box), 120)
