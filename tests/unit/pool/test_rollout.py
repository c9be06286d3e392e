"""When it may be said that no worker of nginx sends a backend requests any more, or that each one does."""

from __future__ import annotations

from floor.pool.rollout import LIMIT, STABLE, Process, Rollout, again, look, nobody, written

BOTH, B = frozenset({"a", "b"}), frozenset({"b"})


def workers(*pids: int, leaving: tuple[int, ...] = ()) -> tuple[Process, ...]:
    return tuple(Process(pid, pid * 10, leaving=pid in leaving) for pid in (*pids, *leaving))


def out() -> Rollout:
    """`a` went out at 0; workers 1 and 2 serve with the file of before."""
    return written(Rollout(), BOTH, B, workers(1, 2), 0.0)


def test_nothing_is_acknowledged_before_the_old_workers_stop() -> None:
    rollout = look(out(), workers(1, 2), 0.3)
    assert not rollout.acknowledged("a")
    rollout = look(rollout, workers(2, 3, 4, leaving=(1,)), 0.6)
    rollout = look(rollout, workers(2, 3, 4, leaving=(1,)), 5.0)
    assert not rollout.acknowledged("a"), "worker 2 still takes requests"
    assert rollout.under_way


def test_old_workers_that_only_finish_their_streams_do_not_hold_it_up() -> None:
    rollout = look(out(), workers(3, 4, leaving=(1, 2)), 0.1)
    assert not rollout.acknowledged("a"), "the workers have not been the same for long enough"
    rollout = look(rollout, workers(3, 4, leaving=(1, 2)), 0.1 + STABLE)
    assert rollout.acknowledged("a")
    assert not rollout.under_way


def test_workers_of_somebody_elses_reload_that_come_up_meanwhile_are_waited_out() -> None:
    """A reload of before was still under way: its workers, 3 and 4, have the old file and come up after ours."""
    rollout = look(out(), workers(3, 4, leaving=(1, 2)), 0.05)
    rollout = look(rollout, workers(5, 6, leaving=(1, 2, 3, 4)), 0.1)
    assert not look(rollout, workers(5, 6), 0.25).acknowledged("a")
    assert look(rollout, workers(5, 6), 0.1 + STABLE).acknowledged("a")


def test_a_pid_that_is_used_again_is_somebody_else() -> None:
    fresh = (Process(1, 999), Process(2, 999))
    rollout = look(look(out(), fresh, 0.1), fresh, 0.4)
    assert rollout.acknowledged("a")


def test_with_nginx_down_there_is_nobody_to_wait_for() -> None:
    assert written(Rollout(), BOTH, B, (), 0.0).acknowledged("a")
    assert look(out(), (), 0.0).acknowledged("a")
    assert nobody(Rollout(left={"a": 1})).acknowledged("a")


def test_an_acknowledgement_of_before_outlives_the_next_reload() -> None:
    rollout = look(look(out(), workers(3), 0.1), workers(3), 0.4)
    rollout = written(rollout, B, frozenset(), workers(3), 1.0)
    assert rollout.acknowledged("a")
    assert not rollout.acknowledged("b")


def test_whoever_comes_in_serves_when_every_worker_knows_it() -> None:
    rollout = written(Rollout(), B, BOTH, workers(1), 0.0)
    assert rollout.serves("b")
    assert not rollout.serves("a")
    rollout = look(look(rollout, workers(2), 0.1), workers(2), 0.4)
    assert rollout.serves("a")


def test_who_returns_and_goes_again_is_acknowledged_anew() -> None:
    rollout = look(look(out(), workers(3), 0.1), workers(3), 0.4)
    rollout = written(rollout, B, BOTH, workers(3), 1.0)
    rollout = look(look(rollout, workers(4), 1.1), workers(4), 1.4)
    rollout = written(rollout, BOTH, B, workers(4), 2.0)
    assert not rollout.acknowledged("a")


def test_workers_that_stay_are_late_and_told_again() -> None:
    rollout = look(out(), workers(1, 2), LIMIT)
    assert not rollout.late(LIMIT)
    assert rollout.late(LIMIT + 0.1)
    assert not again(rollout, LIMIT + 0.1).late(2 * LIMIT)
    assert not again(rollout, LIMIT + 0.1).acknowledged("a")


def test_nobody_is_acknowledged_of_whom_no_reload_is_known() -> None:
    rollout = Rollout(left={"a": 1})
    assert rollout.unknown == {"a"}
    assert not rollout.acknowledged("a")
    rollout = written(rollout, B, B, workers(1), 0.0)
    assert rollout.unknown == set()
    assert not rollout.acknowledged("a")
    assert look(look(rollout, workers(2), 0.1), workers(2), 0.4).acknowledged("a")
