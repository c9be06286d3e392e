"""`floor key`: keys are replaced under the eyes of every proxy, and at no moment is nobody there to answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from floor.errors import FloorError, RefusedError, UsageError
from floor.operations import key
from floor.operations.outcome import Outcome
from floor.operations.status import status
from tests.simulated.situation import THREE_BOXES, Situation

BOTH = {"flagship@spark-a", "flagship@spark-b"}
PROXY = "proxy: {boxes"


def rotate(situation: Situation, name: str, **given: Any) -> Outcome:
    return key.rotate(situation.site(), name, situation.said.append, situation.progress.append, **given)


def retire(situation: Situation, name: str) -> Outcome:
    return key.retire(situation.site(), name, situation.said.append, situation.progress.append)


def with_clients(situation: Situation, names: str = "alice, ci") -> Situation:
    situation.edit(PROXY, f"proxy: {{clients: [{names}], boxes")
    situation.deploy()
    situation.world.log.clear()
    return situation


def clients(situation: Situation, box: str = "spark-a") -> dict[str, list[str]]:
    return dict(situation.box(box).keyring.clients)


def engine_keys(situation: Situation) -> set[tuple[str | None, str | None]]:
    return {box.keyring.engine(box) for box in situation.world.boxes.values()}


def least(situation: Situation) -> list[int]:
    """How many backends really answer, at the fewest, behind each proxy from now on."""
    found: list[int] = []

    def look() -> None:
        found.append(min(len(situation.world.answering(proxy)) for proxy in ("spark-a", "spark-b")))

    situation.world.watch = look
    return found


def test_the_engine_key_becomes_another_copy_by_copy(deployed: Situation) -> None:
    (before,) = engine_keys(deployed)
    found = least(deployed)
    assert rotate(deployed, "engine").changed
    (after,) = engine_keys(deployed)
    assert min(found) >= 1
    assert (before[1], after[1]) == (None, None)
    assert before[0] != after[0]
    assert [deployed.starts(box) for box in ("spark-a", "spark-b")] == [2, 2]
    assert [deployed.world.answering(box) for box in ("spark-a", "spark-b")] == [BOTH, BOTH]
    assert not any(box.pools.ways for box in deployed.world.boxes.values())
    assert not deployed.deploy()


def test_in_between_both_keys_are_known_and_a_deployment_finishes_it(deployed: Situation) -> None:
    site = deployed.site()
    site.boxes["spark-a"].call(
        "operation.take",
        {"epoch": 90, "verb": "key", "target": None, "config": "", "by": {}, "lease": 9, "takeover": None},
    )
    site.boxes["spark-a"].call("secrets.begin", {"epoch": 90, "kind": "engine"})
    deployed.world.sleep(100)
    found = least(deployed)
    _, plan = deployed.deployment().look()
    titles = [stage.title for stage in plan.stages]
    assert titles[0] == "share the keys"
    assert titles[-1] == "end the old keys"
    assert {"change flagship@spark-a", "change flagship@spark-b"} < set(titles)
    assert not plan.outage
    deployed.deploy()
    assert min(found) >= 1
    assert {following for _, following in engine_keys(deployed)} == {None}
    assert len(engine_keys(deployed)) == 1
    assert not deployed.deploy()


def test_killed_anywhere_the_same_command_ends_with_one_new_key(deployed: Situation) -> None:
    (before,) = engine_keys(deployed)

    def verb(situation: Situation) -> bool:
        return rotate(situation, "engine").changed

    left = deployed.at_each_call(verb)
    for situation in left[:: max(1, len(left) // 12)]:
        situation.world.sleep(100)
        found = least(situation)
        rotate(situation, "engine")
        (after,) = engine_keys(situation)
        assert after[0] != before[0]
        assert after[1] is None
        assert min(found) >= 1
        assert max(situation.starts(box) for box in ("spark-a", "spark-b")) == 2
        assert not situation.deploy()


def test_one_that_was_killed_at_its_last_call_is_ended_and_the_next_makes_another_key(deployed: Situation) -> None:
    situation = deployed.at_each_call(lambda now: rotate(now, "status").changed)[-1]
    situation.world.sleep(100)
    (first,) = {box.keyring.status for box in situation.world.boxes.values()}
    assert not rotate(situation, "status").plan
    assert {box.keyring.status for box in situation.world.boxes.values()} == {first}
    assert rotate(situation, "status").plan
    assert first not in {box.keyring.status for box in situation.world.boxes.values()}


def test_the_status_key_becomes_another_and_no_engine_restarts(deployed: Situation) -> None:
    before = {box.keyring.status for box in deployed.world.boxes.values()}
    rotate(deployed, "status")
    after = {box.keyring.status for box in deployed.world.boxes.values()}
    assert len(after) == 1
    assert before != after
    assert [deployed.starts(box) for box in ("spark-a", "spark-b")] == [1, 1]
    assert deployed.starts("spark-b", "floor-agent.service") > 1
    assert not deployed.deploy()


def test_a_box_that_does_not_answer_keeps_the_old_key_valid(deployed: Situation) -> None:
    deployed.box("spark-b").up = False
    with pytest.raises(RefusedError, match="a key is replaced on all boxes or on none:\nspark-b: no way there"):
        rotate(deployed, "engine")
    assert len(engine_keys(deployed)) == 1


def test_what_waits_to_be_deployed_comes_first(deployed: Situation) -> None:
    deployed.edit("max_requests: 12", "max_requests: 13")
    with pytest.raises(
        RefusedError, match=r"something else is to be done first \(change flagship@spark-a, .*\); run floor deploy"
    ):
        rotate(deployed, "engine")


def test_what_would_keep_an_engine_down_is_told_before_any_stops(deployed: Situation) -> None:
    deployed.box("spark-b").images["registry.example/vllm:v1"] = None
    with pytest.raises(
        FloorError, match=r"nothing was changed:\n  spark-b: there is no image registry\.example/vllm:v1"
    ):
        rotate(deployed, "engine")
    assert {following for _, following in engine_keys(deployed)} == {None}


def test_whom_floor_cannot_change_is_named(situation: Situation) -> None:
    situation.text = THREE_BOXES.replace("192.0.2.13}", "192.0.2.13, managed: false}").replace(
        "replicas: [spark-a, spark-b]", "replicas: [spark-a, spark-b, {box: spark-c, key: engine}]"
    )
    situation.deploy()
    with pytest.raises(RefusedError, match="flagship@spark-c: not managed, and asks for the engine key"):
        rotate(situation, "engine")
    assert rotate(situation, "engine", force=True).changed


def test_a_dry_run_changes_nothing_and_tells_of_the_restarts(deployed: Situation) -> None:
    outcome = rotate(deployed, "engine", dry_run=True)
    assert outcome.lines()[0] == "1. make a new engine key"
    assert outcome.lines()[-1] == "note: after that every engine restarts, one copy at a time"
    assert not outcome.changed
    assert {following for _, following in engine_keys(deployed)} == {None}


def test_clients_get_keys_on_every_proxy_and_lose_them_with_their_name(deployed: Situation) -> None:
    with_clients(deployed)
    made = clients(deployed)
    assert set(made) == {"alice", "ci", "floor"}
    assert clients(deployed, "spark-b") == made
    assert not deployed.deploy()
    deployed.edit("clients: [alice, ci]", "clients: [ci, bob]")
    deployed.deploy()
    assert clients(deployed) == clients(deployed, "spark-b")
    assert set(clients(deployed)) == {"bob", "ci", "floor"}
    assert clients(deployed)["ci"] == made["ci"]
    deployed.edit("clients: [ci, bob], ", "")
    deployed.deploy()
    assert [clients(deployed, box) for box in ("spark-a", "spark-b")] == [{}, {}]
    assert [deployed.starts(box) for box in ("spark-a", "spark-b")] == [1, 1]
    assert not deployed.deploy()


def test_nginx_asks_for_no_key_before_the_keys_are_taken_away(deployed: Situation) -> None:
    """A reload in between would find neither file nor names."""
    with_clients(deployed)
    deployed.edit("clients: [alice, ci], ", "")
    _, plan = deployed.deployment().look()
    titles = [stage.title for stage in plan.stages]
    assert titles.index("prepare spark-a") < titles.index("prepare spark-b") < titles.index("forget client keys")


def test_a_clients_old_key_is_valid_until_it_is_retired(deployed: Situation) -> None:
    with_clients(deployed)
    (old,) = clients(deployed)["alice"]
    assert rotate(deployed, "alice").changed
    new = clients(deployed)["alice"]
    assert len(new) == 2
    assert new[1] == old
    assert clients(deployed, "spark-b") == clients(deployed)
    assert key.show(deployed.site(), "alice")[0] == new[0]
    with pytest.raises(RefusedError) as caught:
        rotate(deployed, "alice")
    told = "alice: has an old key beside its new one; end that first: floor key retire alice"
    assert str(caught.value) == told
    assert retire(deployed, "alice").changed
    assert clients(deployed)["alice"] == clients(deployed, "spark-b")["alice"] == [new[0]]
    assert not retire(deployed, "alice").changed
    assert not deployed.deploy()


def test_status_reminds_of_what_is_to_come_to_an_end(deployed: Situation) -> None:
    with_clients(deployed)
    assert status(deployed.site())["warnings"] == []
    rotate(deployed, "alice")
    told = "alice has an old key beside its new one; end it by floor key retire alice"
    assert status(deployed.site())["warnings"] == [told]
    deployed.box("spark-b").keyring.following = {"engine": "another"}
    assert status(deployed.site())["warnings"][0] == "the engine key is being replaced; run floor deploy to finish it"


@pytest.mark.parametrize(
    ("tls", "told"),
    [
        ({"problem": "", "left": 14.1 * 86400, "changed": 1.0}, None),
        (
            {"problem": "", "left": 13.6 * 86400, "changed": 1.0},
            "/c.pem ends in 14 days; renew it and run floor deploy",
        ),
        (
            {"problem": "", "left": -1.0, "changed": 1.0},
            "/c.pem has ended: clients refuse it; renew it and run floor deploy",
        ),
        (
            {"problem": "there is no /c.pem", "left": None, "changed": None},
            "there is no /c.pem: nginx goes on with what it has read, and cannot start again",
        ),
    ],
)
def test_a_certificate_is_looked_at_before_and_after(
    deployed: Situation, tls: dict[str, Any], told: str | None
) -> None:
    for box in deployed.world.boxes.values():
        box.tls = {"problem": "", "left": 90 * 86400.0, "changed": 0.0}
    deployed.edit(PROXY, "proxy: {tls: {certificate: /c.pem, key: /c.key}, boxes")
    deployed.deploy()
    deployed.box("spark-b").tls = tls
    assert status(deployed.site())["warnings"] == ([] if told is None else [f"spark-b: {told}"])


def test_a_certificate_that_cannot_serve_changes_nothing_and_a_new_one_is_read_again(deployed: Situation) -> None:
    wrong = {"spark-a": "/c.key is not the key of /c.pem", "spark-b": ""}
    for box in deployed.world.boxes.values():
        box.tls = {"problem": wrong[box.name], "left": -5.0, "changed": 0.0}
    deployed.edit(PROXY, "proxy: {tls: {certificate: /c.pem, key: /c.key}, boxes")
    with pytest.raises(FloorError) as caught:
        deployed.deploy()
    assert str(caught.value) == (
        "nothing was changed:\n"
        "  spark-a: /c.key is not the key of /c.pem; put both files of proxy.tls on every proxy box\n"
        "  spark-b: /c.pem has ended; renew it there first"
    )
    for box in deployed.world.boxes.values():
        box.tls = {"problem": "", "left": 9e9, "changed": 0.0}
    deployed.deploy()
    deployed.world.log.clear()
    assert not deployed.deploy()
    deployed.box("spark-b").tls["changed"] = deployed.world.now + 1
    deployed.world.sleep(5)
    deployed.deploy()
    calls = [line for line in deployed.world.log if " unit." in line]
    assert calls == ["spark-b unit.reload", "spark-b unit.wait"]


def test_a_proxy_that_has_lost_a_client_gets_its_key_and_not_another(deployed: Situation) -> None:
    """The first one was away when a name was new, or its disk was: the client knows the key that the other one made."""
    with_clients(deployed)
    made = clients(deployed)
    box = deployed.box("spark-a")
    box.keyring.put_clients(box, {name: keys for name, keys in made.items() if name != "alice"})
    deployed.deploy()
    assert clients(deployed) == clients(deployed, "spark-b") == made


def test_keys_of_clients_are_read_again_by_nginx_and_by_nobody_else(deployed: Situation) -> None:
    with_clients(deployed)
    before = dict(deployed.box("spark-b").processes)
    rotate(deployed, "alice")
    calls = [line for line in deployed.world.log if line.startswith("spark-b unit.")]
    assert calls == ["spark-b unit.reload", "spark-b unit.wait"]
    assert {name: one.invocation for name, one in deployed.box("spark-b").processes.items()} == {
        name: one.invocation for name, one in before.items()
    }


@pytest.mark.parametrize(
    ("what", "name", "told"),
    [
        ("rotate", "bob", "bob: no key is called that; there are alice, ci, engine, status"),
        ("retire", "bob", "bob: no key is called that; there are alice, ci, engine, status"),
        ("retire", "engine", "engine: the old key ends by itself once every process has the new one"),
        ("last", "engine", "engine: the old key ends by itself once every process has the new one; leave out --for"),
    ],
)
def test_a_name_that_no_key_has(deployed: Situation, what: str, name: str, told: str) -> None:
    with_clients(deployed)
    verbs: dict[str, Callable[[], Outcome]] = {
        "retire": lambda: retire(deployed, name),
        "rotate": lambda: rotate(deployed, name),
        "last": lambda: rotate(deployed, name, seconds=60),
    }
    with pytest.raises(UsageError) as caught:
        verbs[what]()
    assert str(caught.value).startswith(told)
