"""The equipment other tests stand on: what it says when something is not as expected."""

from __future__ import annotations

from typing import Any

import pytest

from floor.errors import FloorError
from floor.sim.process import SimulatedEngine, free_port


def test_a_state_that_does_not_come_is_an_error_with_the_last_one(engine: SimulatedEngine) -> None:
    with pytest.raises(FloorError, match=rf"^{engine.url}: not so in 0.1 s; last state .*'running': 0"):
        engine.wait_until(lambda state: state["running"], timeout=0.1)


def test_an_engine_that_ends_early_is_an_error_with_its_log(start: Any) -> None:
    with pytest.raises(FloorError, match=r"ended with 2:\nfloor sim: --max-num-seqs: found '0'"):
        start(max_requests=0)


def test_a_wrong_fault_is_an_error_with_the_reason(engine: SimulatedEngine) -> None:
    with pytest.raises(FloorError, match=r"/sim/faults: fault 'explode': no such fault"):
        engine.fault("explode")


def test_a_free_port_is_below_those_of_outgoing_connections() -> None:
    assert all(10_000 <= free_port() < 32_000 for _ in range(20))


def test_no_port_of_another_machine_is_free() -> None:
    with pytest.raises(FloorError, match=r"^192\.0\.2\.1: no free port .* is that this machine's address\?"):
        free_port("192.0.2.1")


def test_asking_an_engine_that_has_gone_is_an_os_error(start: Any) -> None:
    engine = start()
    engine.kill()
    with pytest.raises(OSError):
        engine.state()


def test_an_address_with_colons_is_bracketed_in_its_url() -> None:
    assert SimulatedEngine(host="::1", port=8000).url == "http://[::1]:8000"
