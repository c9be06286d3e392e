"""Drains and members: the box itself looks before it takes the last one away."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest

from floor.agent.calls import drain
from floor.agent.calls.memory import judge as fits
from floor.agent.calls.pool import OLD, judge
from floor.box import away, drains, paths
from floor.box.lease import HeldError
from floor.box.memory import Memory
from floor.box.observe import document
from floor.errors import RefusedError, UsageError

from .conftest import EPOCH, Box

A, B = "flagship@spark-a", "flagship@spark-b"


STALE = "the pool's state is 20 s old; is floor-pool.service running?"
SILENT = "the pool service has not written its state yet; is floor-pool.service running?"


def state(*members: str, at: float = 1000.0, acknowledged: dict[str, bool] | None = None) -> dict[str, Any]:
    backends = {name: {"member": name in members, "reason": "refused", "evidence": "port 8000"} for name in (A, B)}
    pools = {"flagship": {"members": list(members), "generation": 1, "backends": backends}}
    return {"at": at, "pid": 1, "pools": pools, "acknowledged": acknowledged or {}}


def write(box: Box, found: dict[str, Any]) -> None:
    place = paths.under(box.root, paths.POOL_STATE)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(json.dumps(found))


def test_one_of_two_members_is_drained_by_an_operation(box: Box) -> None:
    write(box, state(A, B))
    assert box.call("drain.add", epoch=EPOCH, backend=A, holder="ann deploy") == {"holders": ["ann deploy 3"]}


def test_the_last_member_is_not_drained(box: Box) -> None:
    write(box, state(A))
    with pytest.raises(RefusedError) as caught:
        box.call("drain.add", epoch=EPOCH, backend=A, holder="x")
    assert str(caught.value) == (
        f"{A} is the only member of flagship's pool: draining it would leave nobody to answer; "
        "wait until another copy serves, or use --force"
    )
    assert not paths.under(box.root, paths.DRAINS).exists()


def test_the_last_member_is_drained_when_it_is_meant(box: Box) -> None:
    write(box, state(A))
    assert box.call("drain.add", epoch=EPOCH, backend=A, holder="x", last=True)["holders"] == ["x 3"]


def test_two_drains_at_once_do_not_empty_a_pool(box: Box) -> None:
    """The pool has not acted on the first yet: its members are still two."""
    write(box, state(A, B))
    box.call("drain.add", epoch=EPOCH, backend=A, holder="x")
    with pytest.raises(RefusedError, match="is the only member"):
        box.call("drain.add", epoch=EPOCH, backend=B, holder="x")


def test_two_drains_that_look_at_once_do_not_empty_a_pool(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    """Copies are drained side by side: neither may add its own between the look and the drain of the other."""
    write(box, state(A, B))
    together = threading.Barrier(2)

    def meet(*given: Any) -> Any:
        found = document(*given)
        with suppress(threading.BrokenBarrierError):  # the other one is kept out, as it should be
            together.wait(0.3)
        return found

    monkeypatch.setattr(drain, "document", meet)

    def add(backend: str) -> bool:
        try:
            box.call("drain.add", epoch=EPOCH, backend=backend, holder="x")
        except RefusedError:
            return False
        return True

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(add, (A, B))) == [False, True]
    assert len(drains.read(box.root)) == 1


def test_the_drain_of_an_operation_that_ended_does_not_count(box: Box) -> None:
    write(box, state(A, B))
    box.call("drain.add", epoch=EPOCH, backend=A, holder="x")
    box.call("operation.release", epoch=EPOCH, state="failed")
    assert box.call("drain.add", backend=B, holder="bob")["holders"] == ["bob"]


def test_what_is_no_member_may_always_be_drained(box: Box) -> None:
    write(box, state(A))
    assert box.call("drain.add", epoch=EPOCH, backend=B, holder="x")["holders"] == ["x 3"]


def test_a_person_drains_without_holding_the_box(box: Box) -> None:
    write(box, state(A, B))
    assert box.call("drain.add", backend=A, holder="bob@desk")["holders"] == ["bob@desk"]
    assert box.call("drain.remove", backend=A, holder="bob@desk") == {"holders": []}


def test_undraining_leaves_what_others_hold(box: Box) -> None:
    write(box, state(A, B))
    box.call("drain.add", backend=A, holder="bob")
    box.call("drain.add", epoch=EPOCH, backend=A, holder="deploy")
    assert box.call("drain.remove", backend=A, holder=None) == {"holders": ["deploy 3"]}
    assert box.call("drain.remove", epoch=EPOCH, backend=A, holder="deploy") == {"holders": []}


@pytest.mark.parametrize(
    ("found", "member", "expected"),
    [
        (state(A, B), True, (True, "")),
        (state(B), True, (False, "not a member: refused: port 8000")),
        (state(A, B), False, (False, "still a member")),
        (state(B), False, (False, "an nginx worker that still knows it takes connections")),
        (state(B, acknowledged={A: False}), False, (False, "an nginx worker that still knows it takes connections")),
        (state(B, acknowledged={A: True}), False, (True, "")),
        (None, False, (False, SILENT)),
        (state(B, acknowledged={A: True}, at=980), False, (False, STALE)),
        (state(A, at=1000 - OLD), True, (True, "")),
    ],
)
def test_in_or_safely_out(found: Any, member: bool, expected: tuple[bool, str]) -> None:
    assert judge(found, "flagship", A, member=member, now=1000.0) == expected


def test_a_backend_that_the_pool_never_knew_is_out_of_it() -> None:
    assert judge(state(A), "flagship", "flagship@gone", member=False, now=1000.0) == (True, "")
    assert judge(state(A), "other", "other@gone", member=False, now=1000.0) == (True, "")
    reached, reason = judge(state(A), "flagship", "flagship@new", member=True, now=1000.0)
    assert (reached, reason) == (False, "not a member: unknown: the pool does not know it yet")


def test_waiting_for_the_pool_ends_when_it_has_acted(box: Box) -> None:
    write(box, state(A, B))
    box.after[2] = lambda: write(box, state(B, acknowledged={A: True}))
    answer = box.call("pool.wait", epoch=EPOCH, model="flagship", backend=A, member=False, timeout=20)
    assert answer["reached"] is True
    assert answer["state"]["pools"]["flagship"]["members"] == [B]
    assert 2 <= box.time - 1000 < 3


def test_a_pool_that_does_not_act_is_told_with_the_reason(box: Box) -> None:
    write(box, state(A, B, at=1e9))
    answer = box.call("pool.wait", model="flagship", backend=A, member=False, timeout=1)
    assert (answer["reached"], answer["reason"]) == (False, "still a member")


def test_in_is_reached_when_every_worker_of_nginx_knows_it(box: Box) -> None:
    """The pool decides first, then nginx reloads: until old workers are gone some requests still meet a 503."""
    write(box, state(A, B) | {"nginx": {"generation": 4, "settled": 3}})
    box.after[2] = lambda: write(box, state(A, B) | {"nginx": {"generation": 4, "settled": 4}})
    answer = box.call("pool.wait", epoch=EPOCH, model="flagship", backend=A, member=True, timeout=20)
    assert answer["reached"] is True
    assert 2 <= box.time - 1000 < 3


GIB = 1024**3


@pytest.mark.parametrize(
    ("seen", "fraction", "size", "expected"),
    [
        (Memory(100 * GIB, 80 * GIB), 0.74, None, (True, 74 * GIB)),
        (Memory(100 * GIB, 70 * GIB), 0.74, None, (False, 74 * GIB)),
        (Memory(100 * GIB, 70 * GIB), None, 60 * GIB, (True, 60 * GIB)),
        (Memory(100 * GIB, 50 * GIB), None, 60 * GIB, (False, 60 * GIB)),
        (Memory(100 * GIB, 50 * GIB), None, None, (True, None)),
        (Memory(None, 50 * GIB), 0.74, None, (True, None)),
        (Memory(100 * GIB, None), 0.74, None, (True, 74 * GIB)),
    ],
)
def test_what_fits_in_memory(seen: Memory, fraction: Any, size: Any, expected: tuple[bool, int | None]) -> None:
    reached, answer = fits(seen, fraction, size)
    assert (reached, answer["needed"]) == expected
    assert (answer["fits"], answer["available"], answer["total"]) == (reached, seen.available, seen.total)


def test_memory_is_waited_for_until_it_was_given_back(box: Box) -> None:
    """The process is gone and its memory is not free yet: the next engine would fail to start."""
    meminfo = box.root / "proc/meminfo"
    meminfo.parent.mkdir(parents=True)
    meminfo.write_text("MemTotal: 1000 kB\nMemAvailable: 100 kB\n")
    box.after[4] = lambda: meminfo.write_text("MemTotal: 1000 kB\nMemAvailable: 900 kB\n") and None
    assert box.call("memory.wait", epoch=EPOCH, fraction=0.74, bytes=None, timeout=20)["fits"] is True
    assert 4 <= box.time - 1000 < 5


@pytest.mark.parametrize("fraction", [0, 1.01, 74])
def test_a_share_is_between_nothing_and_all(box: Box, fraction: float) -> None:
    with pytest.raises(UsageError, match="parameter fraction: must be above 0 and at most 1"):
        box.call("memory.wait", epoch=EPOCH, fraction=fraction)


def test_a_drain_that_outlives_its_operation_is_laid_and_ended_by_one_that_holds_the_box(box: Box) -> None:
    write(box, state(A, B))
    absence = {"backend": A, "holder": "absent: spark-a", "outlives": True}
    assert box.call("drain.add", epoch=EPOCH, **absence)["holders"] == ["absent: spark-a"]
    with pytest.raises(HeldError, match="epoch 2 does not hold this box"):
        box.call("drain.remove", epoch=EPOCH - 1, **absence)
    assert box.call("drain.remove", epoch=EPOCH, **absence)["holders"] == []
    box.call("operation.release", epoch=EPOCH, state="done")
    with pytest.raises(HeldError, match=f"epoch {EPOCH} does not hold this box: .* and ended done"):
        box.call("drain.add", epoch=EPOCH, last=True, **absence)


def test_a_switch_tells_how_long_models_are_away(box: Box) -> None:
    assert box.call("pool.announce", epoch=EPOCH, mode="split", models={"flagship": 65}) == {}
    assert away.read(box.root) == {"flagship": away.Away(EPOCH, box.time + 65, "split")}
    with pytest.raises(HeldError):
        box.call("pool.announce", epoch=EPOCH - 1, mode="split", models={})
