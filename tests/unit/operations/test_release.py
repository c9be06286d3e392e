"""What `floor deploy` does around its plan: floor's own release, older files, and what stands against it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from floor.apply.wheels import Bundle
from floor.errors import BusyError, FloorError, RefusedError, UsageError
from floor.operations import deploy
from tests.simulated.situation import ONE_BOX, TWO_BOXES, Situation

UNIT = "floor-copy-flagship.service"


def install(situation: Situation, tmp_path: Path, *, dry_run: bool = False) -> list[str]:
    def make(facts: Any) -> Bundle:
        assert facts["machine"] == "x86_64"
        (tmp_path / "wheels.tar").write_bytes(b"wheels")
        return Bundle(situation.release, tmp_path / "wheels.tar")

    return deploy.install_releases(situation.site(), situation.said.append, dry_run=dry_run, make=make)


def test_a_release_goes_to_every_box_that_runs_another(deployed: Situation, tmp_path: Path) -> None:
    deployed.release = "2"
    deployed.box("spark-b").release = "2"
    assert install(deployed, tmp_path, dry_run=True) == ["spark-a: floor 1 becomes 2"]
    assert deployed.box("spark-a").release == "1"
    assert install(deployed, tmp_path) == ["spark-a: floor 1 becomes 2"]
    assert deployed.said == ["spark-a: carrying floor 2 over"]
    assert deployed.box("spark-a").release == "2"
    assert install(deployed, tmp_path) == []
    deployed.deploy()
    assert deployed.starts("spark-a", "floor-pool.service") == 2
    assert deployed.starts("spark-a") == 1


def test_a_box_without_one_and_one_that_is_away(deployed: Situation, tmp_path: Path) -> None:
    deployed.box("spark-a").release = None
    deployed.box("spark-b").up = False
    assert install(deployed, tmp_path) == ["spark-a: floor (none) becomes 1"]


def test_no_release_under_somebodys_hands(deployed: Situation, tmp_path: Path) -> None:
    left = deployed.at_each_call(Situation.restart)[6]
    left.release = "2"
    with pytest.raises(BusyError, match="held by `restart` of ada@laptop"):
        install(left, tmp_path)


def test_a_dry_run_says_that_the_rest_is_planned_later(deployed: Situation) -> None:
    deployed.release = "2"
    outcome = deployed.deploy_all(dry_run=True)
    assert outcome.pending
    assert outcome.lines() == [
        "spark-a: floor 1 becomes 2",
        "spark-b: floor 1 becomes 2",
        "the rest is planned by the new release, once it is there",
    ]
    assert outcome.as_json()["carried"] == ["spark-a: floor 1 becomes 2", "spark-b: floor 1 becomes 2"]


def test_an_older_file_is_refused_with_the_difference_until_going_back_is_meant(deployed: Situation) -> None:
    deployed.edit("max_requests: 12", "max_requests: 8")
    deployed.deploy()
    deployed.text = TWO_BOXES
    with pytest.raises(RefusedError) as error:
        deployed.deploy_all()
    assert "this floor.yaml is older than the one on spark-a:" in str(error.value)
    assert "-    max_requests: 12" in str(error.value)
    assert "+    max_requests: 8" in str(error.value)
    assert "add --roll-back where going back is meant" in str(error.value)
    assert deployed.deploy_all(roll_back=True).complete
    assert deployed.deploy_all().lines() == ["nothing to do"]


def test_a_mode_that_is_none_or_not_theirs(deployed: Situation) -> None:
    for mode, error, told in (
        ("fast", UsageError, r"mode 'fast': there is no such mode; write one of replicas, split"),
        ("split", RefusedError, r"the boxes are in mode replicas, not split; `floor switch split` brings them there"),
    ):
        with pytest.raises(error, match=told):
            deployed.site().observe(mode)
    deployed.box("spark-a").edit("/etc/floor/mode", "fast\n")
    with pytest.raises(RefusedError, match=r"spark-a: /etc/floor/mode says 'fast', which is no mode; remove it"):
        deployed.site().observe()
    deployed.box("spark-a").edit("/etc/floor/mode", "split\n")
    told = r"modes \(spark-a: split, spark-b: replicas\): .*`floor switch replicas` or `floor switch split` ends it"
    with pytest.raises(RefusedError, match=told):
        deployed.site().observe()
    assert deployed.site().observe("split", switch=True).mode == "split"
    deployed.box("spark-a").edit("/etc/floor/mode", "fast\n")
    with pytest.raises(RefusedError, match=r"spark-a: /etc/floor/mode says 'fast', which is no mode; remove it"):
        deployed.site().observe()


def refused(situation: Situation) -> str:
    with pytest.raises(FloorError) as error:
        situation.deploy(force=True)
    assert str(error.value).startswith("nothing was changed:\n  ")
    assert not any("take" in line for line in situation.world.log)
    return str(error.value)


def test_a_model_that_ollama_has_not_got_under_that_name_is_told_before(situation: Situation) -> None:
    runtime = "runtime: {kind: native, command: /usr/local/bin/ollama}"
    situation.text = ONE_BOX.replace(
        "source: /models/flagship\n    utilization: 0.4", "engine: ollama\n    source: /models/ollama"
    ).replace('runtime: {kind: docker, image: "registry.example/vllm:v1"}', runtime)
    situation.site()
    situation.box("spark-a").lacking = {"/models/ollama/manifests/registry.ollama.ai/library/flagship/latest"}
    assert (
        "spark-a: /models/ollama holds no model named flagship (flagship@spark-a); give one of those that it holds "
        "this name: OLLAMA_MODELS=/models/ollama ollama serve, and beside it ollama cp TAG flagship"
    ) in refused(situation)


HELD = {"pid": 7, "command": "python -m http.server", "address": "0.0.0.0"}


@pytest.mark.parametrize(
    ("what", "told"),
    [
        ({"facts": {"nginx": None}}, "spark-a: nginx is not installed; run `floor setup spark-a`"),
        ({"facts": {"docker": None}}, "spark-a: docker is not installed; see to it, or write `runtime: {kind: native"),
        ({"facts": {"docker": None, "docker_error": "it is down"}}, "spark-a: docker does not answer (it is down)"),
        (
            {"images": {"registry.example/vllm:v1": None}},
            "spark-a: there is no image registry.example/vllm:v1; run `floor fetch",
        ),
        ({"lacking": {"/models/flagship"}}, "spark-a: there is no /models/flagship (flagship@spark-a); copy the"),
        ({"held": {"8000": HELD}}, "port 8000, the port of flagship@spark-a, is held by python -m http.server (pid 7)"),
        ({"held": {"8080": HELD}}, "port 8080, the proxy's port of flagship, is held by python -m http.server (pid 7)"),
        ({"held": {"8099": {"pid": None, "command": ""}}}, "8099, the status port, is held by a process that does not"),
        ({"nginx_says": "[emerg] no"}, "spark-a: nginx refuses the new configuration: [emerg] no"),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_what_would_fail_halfway_is_found_before(situation: Situation, what: dict[str, Any], told: str) -> None:
    situation.text = ONE_BOX
    situation.site()
    box = situation.box("spark-a")
    for name, value in what.items():
        setattr(box, name, {**box.facts, **value} if name == "facts" else value)
    assert told in refused(situation)


def test_the_new_port_of_a_copy_that_runs_is_looked_at_too(deployed: Situation) -> None:
    deployed.edit("max_requests: 12", "port: 8005")
    deployed.box("spark-a").held = {"8005": HELD}
    assert "port 8005, the port of flagship@spark-a, is held by python" in refused(deployed)


def test_what_a_former_run_has_left_on_the_port_goes_with_the_start(deployed: Situation) -> None:
    """An orphan of the engine, still in its unit's cgroup: it is stopped, not complained about."""
    box = deployed.box("spark-a")
    box.lose(UNIT)
    box.left[UNIT] = [7]
    box.held = {"8000": HELD}
    deployed.world.sleep(2)
    assert deployed.deploy()
    assert box.state(UNIT) == "active"
    assert any("ending it at once (pids [7])" in line for line in deployed.said)
