"""Commands from their words to what is printed, and how they end."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from floor.apply.setup import Prepared
from floor.errors import BoxError
from tests.simulated.situation import ONE_BOX, Situation
from tests.unit.cli.conftest import Floor

UNIT = "floor-copy-flagship.service"


def test_deploy_and_again(floor: Floor) -> None:
    done = floor("deploy", "--mode", "replicas")
    assert (done.code, done.err) == (0, "")
    assert done.lines[0] == "share the keys"
    assert "done" in done.lines
    assert done.lines[-1] == "ok  spark-b: streamed chat with flagship: 200, 3 events, 0.10 s"
    done = floor("deploy")
    assert (done.code, done.out, done.err) == (0, "nothing to do\n", "")


def test_a_dry_run_ends_with_3_where_anything_is_to_do(floor: Floor, situation: Situation) -> None:
    done = floor("deploy", "--dry-run")
    assert done.code == 3
    assert done.lines[0] == "1. share the keys"
    assert not situation.box("spark-a").files
    floor("deploy")
    assert floor("deploy", "--dry-run").code == 0
    assert floor("restart", "--dry-run").code == 3


def test_json_of_a_dry_run_and_of_nothing_to_do(floor: Floor) -> None:
    found = json.loads(floor("deploy", "--dry-run", "--json").out)
    assert set(found) == {"stages", "notes", "expected", "carried", "changed", "complete", "checks"}
    assert set(found["stages"][0]) == {"title", "outage", "steps"}
    assert set(found["stages"][0]["steps"][0]) == {"box", "call", "params", "text", "why"}
    floor("deploy")
    done = floor("deploy", "--json")
    assert json.loads(done.out) == {
        "stages": [],
        "notes": [],
        "expected": {},
        "carried": [],
        "changed": False,
        "complete": True,
        "checks": [],
    }


def test_json_of_a_run_has_stdout_for_itself(floor: Floor) -> None:
    done = floor("deploy", "--json")
    found = json.loads(done.out)
    assert (found["changed"], found["complete"]) == (True, True)
    assert set(found["checks"][0]) == {"ok", "where", "what"}
    assert "share the keys" in done.err


def test_deploy_with_a_box_that_does_not_answer_ends_with_1(floor: Floor, deployed: Situation) -> None:
    deployed.box("spark-b").up = False
    done = floor("deploy")
    assert done.code == 1
    assert "note: left as it is: spark-b: no way there" in done.lines
    done = floor("deploy")
    assert (done.code, done.lines[-1]) == (1, "nothing to do on the boxes that answer")


def test_deploy_whose_checks_fail_ends_with_1(
    floor: Floor, monkeypatch: pytest.MonkeyPatch, situation: Situation
) -> None:
    situation.site()
    answer = {"status": 500, "events": 0, "seconds": 0.1, "error": "boom", "text": ""}
    monkeypatch.setattr(situation.box("spark-a").calls, "verify_chat", lambda _: answer)
    done = floor("deploy")
    assert done.code == 1
    assert "FAILED  spark-a: chat with flagship: 500, boom, 0.10 s" in done.lines


def test_what_takes_the_last_copy_ends_with_5(floor: Floor, situation: Situation) -> None:
    situation.text = ONE_BOX
    floor("deploy")
    for words in (("restart",), ("drain", "spark-a"), ("remove", "spark-a", "--yes")):
        done = floor(*words)
        assert done.code == 5, words
        assert "--force" in done.err or "only member" in done.err
    assert floor("restart", "--force").code == 0


def test_a_restart_tells_each_copy(floor: Floor, deployed: Situation) -> None:
    done = floor("restart", "spark-b")
    assert done.code == 0
    assert [line for line in done.lines if not line.startswith(" ")] == ["restart flagship@spark-b", "done"]
    found = json.loads(floor("restart", "--json").out)
    assert [stage["title"] for stage in found["stages"]] == ["restart flagship@spark-a", "restart flagship@spark-b"]
    assert floor("restart", "mars").code == 2


def test_drain_and_undrain(floor: Floor, deployed: Situation) -> None:
    assert floor("drain", "flagship@spark-b").lines[0] == "flagship@spark-b is out of every pool"
    assert floor("undrain", "flagship@spark-b").lines == ["flagship@spark-b is in every pool"]


def test_status(floor: Floor, deployed: Situation) -> None:
    done = floor("status")
    assert done.code == 0
    assert "flagship@spark-a  in    active" in done.out
    found = json.loads(floor("status", "--json").out)
    assert set(found) == {"boxes", "backends", "warnings"}
    deployed.box("spark-b").up = False
    assert floor("status").code == 1


@pytest.mark.parametrize(("state", "code"), [("OK", 0), ("WARNING", 1), ("CRITICAL", 2), ("UNKNOWN", 3)])
def test_health_ends_as_monitoring_plugins_do(
    floor: Floor, deployed: Situation, monkeypatch: pytest.MonkeyPatch, state: str, code: int
) -> None:
    verdict = {"backend": "flagship@spark-a", "state": state, "evidence": "as a test wants it"}
    for box in deployed.world.boxes.values():
        monkeypatch.setattr(box.calls, "engine_check", lambda _: verdict)
    done = floor("health")
    assert (done.code, done.lines[0]) == (code, f"{state} flagship@spark-a: as a test wants it")
    assert json.loads(floor("health", "--json").out)[0] == verdict


def test_verify(floor: Floor, deployed: Situation) -> None:
    assert floor("verify").code == 0
    assert set(json.loads(floor("verify", "--json").out)[0]) == {"ok", "where", "what"}
    deployed.world.hung.add("flagship@spark-a")
    deployed.world.sleep(2)
    done = floor("verify")
    assert done.code == 1
    assert done.lines[0].startswith("FAILED  spark-a: flagship@spark-a is not in the pool")


def test_logs_and_events(floor: Floor, deployed: Situation) -> None:
    deployed.box("spark-a").journal = ["loaded"]
    assert floor("logs", "flagship@spark-a").lines == ["spark-a: loaded"]
    assert floor("logs", "mars").code == 2
    done = floor("events", "-n", "2")
    assert len(done.lines) == 2
    assert "spark-b: floor: keep a copy of floor.yaml" in done.lines[-1]
    event = json.loads(floor("events", "--json", "-n", "1").out)
    assert set(event) == {"at", "box", "who", "text", "data", "when"}
    deployed.box("spark-a").up = False
    done = floor("events")
    assert (done.code, done.err) == (1, "error: spark-a: no way there\n")
    assert done.lines


def test_check(floor: Floor, situation: Situation) -> None:
    assert floor("check").out == "floor.yaml: ok (flagship on spark-a, spark-b)\n"
    text = Path("floor.yaml").read_text()
    for number, box in enumerate(("spark-a", "spark-b"), 1):
        fabric = f", fabric: {{interface: eth1, address: 198.51.100.{number}}}}}"
        text = text.replace(f"{box}: {{host: 192.0.2.1{number}}}", f"{box}: {{host: 192.0.2.1{number}{fabric}")
    text = text.replace("    replicas:", "    split: {boxes: [spark-a, spark-b], tensor_parallel: 2}\n    replicas:")
    Path("split.yaml").write_text(text)
    told = "split.yaml: ok (flagship on spark-a, spark-b or over spark-a+spark-b)\n"
    assert floor("check", "-c", "split.yaml").out == told
    assert json.loads(floor("check", "--json").out) == {"ok": True, "problems": [], "warnings": []}
    situation.edit("max_requests: 12", "max_requests: many")
    done = floor("check")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("error: models.flagship.max_requests (floor.yaml:8): found")
    done = floor("check", "--json")
    assert (done.code, json.loads(done.out)["ok"]) == (2, False)


def test_schema_and_render(floor: Floor, tmp_path: Path) -> None:
    assert json.loads(floor("schema").out)["type"] == "object"
    done = floor("render", "--out", str(tmp_path / "out"))
    assert done.code == 0
    assert done.lines[0].startswith(f"{tmp_path / 'out' / 'spark-a'}: ")
    assert floor("render", "--out", str(tmp_path / "out"), "--mode", "split").code == 0
    assert floor("render", "--out", str(tmp_path / "out"), "--mode", "both").code == 2
    assert floor("render", "--out", str(tmp_path / "out"), "--mode", "fast").code == 2


def test_init_does_not_write_over_a_file(floor: Floor) -> None:
    done = floor("init")
    assert done.code == 5
    assert done.err.startswith("error: floor.yaml is there already; write another one")


def test_another_file_by_its_name_or_the_environment(
    floor: Floor, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "other.yaml").write_text(ONE_BOX)
    assert floor("check", "-c", "other.yaml").out == "other.yaml: ok (flagship on spark-a)\n"
    monkeypatch.setenv("FLOOR_CONFIG", "other.yaml")
    assert floor("check").out == "other.yaml: ok (flagship on spark-a)\n"


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """What the person types."""

    def arrange(typed: str) -> None:
        import io

        monkeypatch.setattr("sys.stdin", io.StringIO(typed))

    return arrange


def test_setup_says_when_the_person_declined(floor: Floor, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []

    def setup(box: str, destination: str, **more: Any) -> Prepared:
        given.append((box, destination, more["yes"]))
        return Prepared(changed=False, done=more["yes"], release="1")

    monkeypatch.setattr("floor.apply.setup.setup", setup)
    assert floor("setup", "spark-a", "--yes").code == 0
    assert floor("setup", "spark-b").code == 1
    assert given == [("spark-a", "spark-a", True), ("spark-b", "spark-b", False)]
    assert floor("setup", "mars").code == 2


@pytest.mark.parametrize(("typed", "code"), [("n\n", 1), ("\n", 1), ("", 2)])
def test_remove_asks(floor: Floor, deployed: Situation, answers: Callable[[str], None], typed: str, code: int) -> None:
    answers(typed)
    done = floor("remove", "spark-b")
    assert done.code == code
    assert "Drain and stop all engines and services on spark-b" in done.err
    assert ("nobody is there to answer; add --yes" in done.err) == (code == 2)
    assert deployed.box("spark-b").state(UNIT) == "active"


def test_remove_of_a_box_that_cannot_be_asked(floor: Floor, deployed: Situation) -> None:
    deployed.box("spark-b").refuses = BoxError("spark-b: its floor is damaged")
    done = floor("remove", "spark-b", "--yes")
    assert done.code == 5
    assert "what runs on spark-b cannot be drained first" in done.err
