"""From two bare boxes to a model behind one address, and what a second run, an edit and a stranger's change do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.lab.boxes import Lab
from tests.lab.deployment import UNIT, chat, deployed, invocations, pool, until, written
from tests.lab.floor import Floor
from tests.lab.sites import site


@pytest.fixture(scope="module")
def floor(clean_lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Floor:
    """Both boxes set up and deployed to, once for this module."""
    return deployed(clean_lab, tmp_path_factory.mktemp("site"), site(clean_lab))


def dry_run(floor: Floor) -> str:
    """What a dry run says; something must be pending."""
    return floor("deploy", "--dry-run", code=3).stdout


def test_it_answers_through_either_proxy(floor: Floor) -> None:
    for box in floor.lab.boxes:
        status, body = chat(floor.lab, box)
        assert status == 200
        assert json.loads(body)["choices"][0]["message"]["role"] == "assistant"
        status, events = chat(floor.lab, box, stream=True)
        assert status == 200
        assert events.rstrip().endswith("data: [DONE]")


def test_the_target_of_the_engines_is_as_after_a_boot(floor: Floor) -> None:
    for box in floor.lab.boxes.values():
        assert box.run(["systemctl", "is-active", "floor.target"]).stdout == "active\n"
        assert box.run(["systemctl", "is-enabled", "floor.target"]).stdout == "enabled\n"


def test_both_copies_are_in_both_pools(floor: Floor) -> None:
    for box in floor.lab.boxes:
        assert pool(floor.lab, box) == ["flagship@boxa", "flagship@boxb"]


def test_again_there_is_nothing_to_do_and_nothing_is_touched(floor: Floor) -> None:
    before = invocations(floor.lab), written(floor.lab)
    done = floor("deploy", "--mode", "replicas")
    assert done.stdout.strip() == "nothing to do"
    assert (invocations(floor.lab), written(floor.lab)) == before


def test_what_runs_is_what_was_planned(floor: Floor) -> None:
    """/proc/PID/cmdline of the engine is the argv of the unit."""
    box = floor.lab.boxes["boxa"]
    running = box.run(["cat", f"/proc/{box.pid(UNIT)}/cmdline"]).stdout.rstrip("\0").split("\0")
    assert running[:5] == ["/opt/floor/current/bin/python", "-I", "-m", "floor.sim", "serve"]
    assert running[running.index("--max-num-seqs") + 1] == "4"
    assert "--api-key" not in running
    key = box.read("/etc/floor/secrets/engine.key").strip()
    assert key
    assert key not in box.run(["ps", "axww", "-o", "args="]).stdout


def test_a_hand_edited_unit_is_put_back_without_a_restart(floor: Floor) -> None:
    box = floor.lab.boxes["boxb"]
    path = f"/etc/systemd/system/{UNIT}"
    box.put(path, box.read(path) + "# a hand was here\n")
    before = invocations(floor.lab)
    shown = dry_run(floor)
    assert path in shown
    assert "restart" not in shown
    floor("deploy")
    assert "a hand was here" not in box.read(path)
    assert invocations(floor.lab) == before
    assert box.run(["systemctl", "show", "-p", "NeedDaemonReload", "--value", UNIT]).stdout.strip() == "no"


def test_a_drop_in_goes_and_only_its_copy_restarts(floor: Floor) -> None:
    box = floor.lab.boxes["boxb"]
    path = f"/etc/systemd/system/{UNIT}.d/override.conf"
    box.put(path, "[Service]\nNice=1\n")
    box.run(["systemctl", "daemon-reload"])
    before = invocations(floor.lab)
    assert path in dry_run(floor)
    floor("deploy")
    assert box.run(["test", "-e", path], check=False).returncode == 1
    after = invocations(floor.lab)
    assert after["boxa"] == before["boxa"]
    changed = {unit for unit, run in after["boxb"].items() if before["boxb"].get(unit) != run}
    assert changed == {UNIT}


def test_an_edited_option_restarts_one_copy_after_the_other(floor: Floor) -> None:
    before = invocations(floor.lab)
    floor.edit("max_requests: 4", "max_requests: 5")
    shown = dry_run(floor)
    assert "--max-num-seqs 4 → 5" in shown
    done = floor("deploy").stdout
    assert done.index("change flagship@boxa") < done.index("change flagship@boxb")
    after = invocations(floor.lab)
    for box in floor.lab.boxes:
        changed = {unit for unit, run in after[box].items() if before[box].get(unit) != run}
        assert changed == {UNIT}
    assert floor("deploy").stdout.strip() == "nothing to do"


def test_a_comment_is_recorded_and_restarts_nothing(floor: Floor) -> None:
    before = invocations(floor.lab)
    floor.config.write_text("# our two boxes\n" + floor.config.read_text())
    assert "floor.yaml" in dry_run(floor)
    floor("deploy")
    assert invocations(floor.lab) == before
    assert floor.lab.boxes["boxb"].read("/var/lib/floor/floor.yaml").startswith("# our two boxes")


def test_an_older_file_is_refused_with_the_difference(floor: Floor, tmp_path: Path) -> None:
    older = tmp_path / "older.yaml"
    text = floor.config.read_text().removeprefix("# our two boxes\n")
    older.write_text(text.replace("max_requests: 5", "max_requests: 4"))
    done = floor("deploy", "--config", str(older), code=5)
    assert "older than the one on" in done.stderr
    assert "+    max_requests: 5" in done.stderr


def test_a_copy_that_never_comes_up_stops_the_rest(floor: Floor) -> None:
    """The first copy dies after a start that a trial had passed; the second stays as it was and serves."""
    good = floor.config.read_text()
    before = invocations(floor.lab)
    floor.edit("sim-load-time:", "sim-fault: 'die:how=exit,code=3', sim-load-time:")
    done = floor("deploy", "--ungated", code=1)
    assert "does not stay up" in done.stderr
    assert invocations(floor.lab)["boxb"] == before["boxb"]
    status, _ = chat(floor.lab, "boxa")
    assert status == 200
    floor.config.write_text(good)
    floor("deploy", "--roll-back")
    until("both copies in the pool", lambda: len(pool(floor.lab)) == 2, 10)


def test_verify_status_and_health_agree(floor: Floor) -> None:
    assert "FAILED" not in floor("verify").stdout
    told = floor("health").stdout
    assert told.count("OK flagship@") == 2
    shown = floor("status").stdout
    assert "flagship@boxa" in shown
    assert "replicas" in shown
