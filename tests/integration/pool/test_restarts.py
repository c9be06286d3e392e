"""The pool and nginx are restarted, reloaded and broken in every order: members stay, reloads are counted."""

from __future__ import annotations

import json
import signal
import time

from floor.box import paths
from floor.pool.nginx import Processes
from tests.integration.pool.stage import BACKENDS, Stage, until
from tests.integration.pool.test_members import chat

A, B = BACKENDS


def looked(stage: Stage) -> bool:
    """Whether the pool that runs now has looked at both copies."""
    state = stage.state()
    backends = state["pools"]["flagship"]["backends"].values()
    return state["pid"] == stage.pool_pid and all(backend["level"] == 3 for backend in backends)


def test_a_pool_that_was_killed_goes_on_where_it_was_without_a_reload(stage: Stage) -> None:
    stage.drain(A)
    stage.await_acknowledged(A)
    before, since = stage.reloads(), stage.state()["pools"]["flagship"]["backends"][A]["since"]
    stage.stop_pool(signal.SIGKILL)
    stage.start_pool()
    until(lambda: looked(stage))
    assert stage.members() == [B]
    assert stage.state()["acknowledged"] == {A: True, B: False}
    assert abs(stage.state()["pools"]["flagship"]["backends"][A]["since"] - since) < 0.1
    assert stage.reloads() == before


def test_a_pool_that_is_told_to_end_leaves_the_members_in(stage: Stage) -> None:
    before = stage.reloads()
    assert stage.stop_pool() == 0
    assert chat(stage).status_code == 200
    stage.start_pool()
    until(lambda: looked(stage))
    assert stage.members() == [A, B]
    assert stage.reloads() == before


def test_a_pool_without_a_report_reloads_once_because_it_cannot_know_what_nginx_has(stage: Stage) -> None:
    stage.drain(A)
    stage.await_acknowledged(A)
    stage.stop_pool()
    (stage.root / "run/floor/pool/state.json").unlink()
    before = stage.reloads()
    stage.start_pool()
    stage.await_acknowledged(A)
    assert stage.members() == [B]
    assert stage.reloads() == before + 1


def test_a_reload_that_nginx_refuses_leaves_the_members_and_is_said_and_tried_again(stage: Stage) -> None:
    good = stage.conf.read_text()
    members = (stage.root / "run/floor/nginx/members.conf").read_text()
    stage.conf.write_text(good + "nonsense;\n")
    try:
        stage.drain(A)
        until(lambda: "nginx was not reloaded" in stage.log()[-1])
        assert 'unknown directive "nonsense"' in stage.log()[-1]
        assert (stage.root / "run/floor/nginx/members.conf").read_text() == members
        assert stage.members() == [A, B]
        assert not stage.state()["acknowledged"][A]
    finally:
        stage.conf.write_text(good)
    stage.await_acknowledged(A)
    assert stage.members() == [B]


def test_nginx_reads_what_was_decided_while_it_was_down(stage: Stage) -> None:
    stage.stop_nginx()
    before = stage.reloads()
    stage.drain(A)
    stage.await_acknowledged(A)
    stage.start_nginx()
    time.sleep(0.7)
    assert stage.reloads() == before
    assert chat(stage).status_code == 200
    assert not stage.engines[A].state()["running"]


def test_nginx_that_started_before_the_last_change_is_told_of_it(stage: Stage) -> None:
    """As it is when nginx starts while the pool changes the members: the old file may have been read."""
    pid_file = stage.root / str(paths.NGINX_PID).lstrip("/")
    pid = pid_file.read_text()
    pid_file.unlink()
    stage.drain(A)
    stage.await_members(B)
    before = stage.reloads()
    pid_file.write_text(pid)
    until(lambda: stage.reloads() == before + 1)
    stage.await_acknowledged(A)


def test_other_settings_are_told_to_nginx_when_the_pool_starts_with_them(stage: Stage) -> None:
    before = stage.reloads()
    document = json.loads(stage.settings.read_text())
    document["pools"][0]["backends"][0]["weight"] = 3
    stage.settings.write_text(json.dumps(document))
    stage.stop_pool()
    stage.start_pool()
    until(lambda: stage.reloads() == before + 1)
    assert "weight=3 max_fails=0;" in (stage.root / "run/floor/nginx/members.conf").read_text()
    assert stage.members() == [A, B]


def test_old_workers_with_streams_do_not_hold_an_acknowledgement_up(stage: Stage) -> None:
    processes = Processes(stage.root / str(paths.NGINX_PID).lstrip("/"))
    stage.drain(A)
    stage.await_acknowledged(A)
    assert all(not worker.leaving for worker in processes.workers(processes.master()))
