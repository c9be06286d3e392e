"""`floor setup` and `floor remove` as a conversation: what is said, asked and done."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from floor.apply import setup as operation
from floor.apply import wheels
from floor.apply.preparation import FOLDERS
from floor.apply.reach import Reach
from floor.errors import BoxError, RefusedError

from .test_preparation import BARE, READY


class Far:
    """A machine that is looked at and told what to do; nothing is sent anywhere."""

    def __init__(self, seen: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
        self.seen, self.plans = seen, list[tuple[str, Mapping[str, Any], list[str]]]()
        self.said, self.asked, self.called = list[str](), list[str](), list[str]()
        monkeypatch.setattr(Reach, "look", lambda _reach: self.seen)
        monkeypatch.setattr(Reach, "as_root", self.as_root)
        monkeypatch.setattr(operation, "open_to", lambda _box, _destination: self)
        monkeypatch.setattr(wheels, "bundle", lambda _facts: type("Bundle", (), {"payload": b"wheels"}))

    def as_root(self, how: str, plan: Mapping[str, Any], files: Mapping[str, bytes], _say: object) -> None:
        self.plans.append((how, plan, sorted(files)))

    def call(self, name: str) -> None:
        self.called.append(name)

    def setup(self, *, yes: bool = True, answer: bool = False) -> operation.Prepared:
        def ask(question: str) -> bool:
            self.asked.append(question)
            return answer

        return operation.setup("spark-a", "ops@spark-a", yes=yes, say=self.said.append, ask=ask)


def ready() -> dict[str, Any]:
    return {**READY, "release": wheels.release_id()}


def test_a_bare_machine_is_told_what_will_be_done_before_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    far = Far(BARE, monkeypatch)
    assert far.setup() == operation.Prepared(changed=True, done=True, release=wheels.release_id())
    ((how, plan, files),) = far.plans
    assert how == "free"
    assert files == ["floor.whl", "release.tar"]
    assert [action["do"] for action in plan["actions"]] == ["mask", "packages", "user", "folders", "rule", "release"]
    assert far.said[0] == "spark-a (ops@spark-a) will be prepared:"
    assert far.said[1:7] == [f"  - {action['text']}" for action in plan["actions"]]
    assert far.said[-1] == f"spark-a: ready, floor {wheels.release_id()}"
    assert far.called == ["observe"]


def test_a_second_time_there_is_nothing_to_do_and_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    far = Far(ready(), monkeypatch)
    assert far.setup(yes=False) == operation.Prepared(changed=False, done=True, release=wheels.release_id())
    assert (far.said, far.asked, far.plans) == (["spark-a: nothing to do"], [], [])


def test_a_person_who_says_no_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    far = Far(BARE, monkeypatch)
    assert far.setup(yes=False).done is False
    assert (far.asked, far.plans) == (["Prepare spark-a?"], [])


def test_a_person_who_says_yes_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    far = Far(BARE, monkeypatch)
    assert far.setup(yes=False, answer=True).done is True
    assert (len(far.asked), len(far.plans)) == (1, 1)


def test_wheels_are_carried_only_when_the_release_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    far = Far({**ready(), "floor_user": None}, monkeypatch)
    far.setup()
    assert far.plans[0][2] == ["floor.whl"]


def test_a_machine_that_cannot_be_a_box_is_refused_with_every_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    far = Far({**BARE, "systemd": False, "python": "3.9.2"}, monkeypatch)
    with pytest.raises(RefusedError, match=r"has Python 3.9.2.*\n.*systemd does not run there") as caught:
        far.setup()
    assert caught.value.exit_code == 5
    assert far.plans == []


def test_an_old_python_that_told_its_version_only_is_refused_for_that_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RefusedError) as caught:
        Far({"python": "3.8.10"}, monkeypatch).setup()
    assert str(caught.value) == (
        "spark-a: has Python 3.8.10, floor needs 3.11 or newer: Debian 12, Ubuntu 24.04 or newer"
    )


def test_an_agent_that_does_not_answer_afterwards_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    far = Far(BARE, monkeypatch)

    def call(_name: str) -> None:
        raise BoxError("spark-a: sudo asks for a password there")

    monkeypatch.setattr(far, "call", call)
    with pytest.raises(BoxError, match="sudo asks for a password"):
        far.setup()
    assert not any("ready" in line for line in far.said)


def test_warnings_are_said_even_when_nothing_is_to_be_done(monkeypatch: pytest.MonkeyPatch) -> None:
    busy = {"load": "loaded", "active": "active", "enabled": "enabled", "as_packaged": False}
    far = Far({**ready(), "nginx": busy}, monkeypatch)
    far.setup()
    assert far.said[0].startswith("spark-a: nginx.service runs there with sites of its own and is left alone")
    assert far.said[1] == "spark-a: nothing to do"


def test_what_lacks_can_be_looked_at_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    far = Far({**ready(), "folders": {}}, monkeypatch)
    (action,) = operation.look("spark-a", "ops@spark-a").actions
    assert action.text == f"make {', '.join(FOLDERS)}"
    assert far.plans == []


@pytest.mark.parametrize("purge", [False, True])
def test_removing_says_what_is_kept(monkeypatch: pytest.MonkeyPatch, purge: bool) -> None:
    far = Far(ready(), monkeypatch)
    assert operation.remove("spark-a", "x", yes=True, purge=purge, say=far.said.append, ask=lambda _q: False)
    ((_, plan, files),) = far.plans
    (action,) = plan["actions"]
    assert (action["do"], action["params"], files) == ("remove", {"purge": purge}, ["floor.whl"])
    assert ("are kept (--purge removes them)" in action["text"]) is not purge
    assert far.said == ["spark-a: floor is removed"]


def test_a_person_who_does_not_want_it_removed_keeps_it(monkeypatch: pytest.MonkeyPatch) -> None:
    far = Far(ready(), monkeypatch)
    assert not operation.remove("spark-a", "x", yes=False, purge=False, say=far.said.append, ask=lambda _q: False)
    assert (far.plans, far.said) == ([], [])


def test_removing_needs_a_way_to_be_root(monkeypatch: pytest.MonkeyPatch) -> None:
    far = Far({**ready(), "sudo": "none"}, monkeypatch)
    with pytest.raises(RefusedError, match="ops is not root and there is no sudo; remove it as root"):
        operation.remove("spark-a", "x", yes=True, purge=False, say=far.said.append, ask=lambda _q: False)
