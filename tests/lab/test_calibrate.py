"""A copy is measured while the other one carries the load: nobody notices, whatever becomes of who measures."""

from __future__ import annotations

import json
import signal

import pytest

from tests.lab.boxes import Lab
from tests.lab.deployment import deployed, in_both, invocations, pool, status, until
from tests.lab.floor import Floor
from tests.lab.sites import proxy, site
from tests.load.running import Running

KEPT = "/var/lib/floor/calibrations.json"
QUICK = ("--depths", "64,512", "--at-once", "4", "--answer", "32")


@pytest.fixture(scope="module")
def floor(clean_lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Floor:
    """Both boxes set up and deployed to, once for this module."""
    return deployed(clean_lab, tmp_path_factory.mktemp("site"), site(clean_lab))


def test_it_is_measured_under_load_and_nothing_is_lost(floor: Floor) -> None:
    before = invocations(floor.lab)
    with Running(proxy(floor.lab), "flagship", "--clients", "3", enter=floor.lab.client.enter()) as load:
        found = json.loads(floor("calibrate", "flagship@boxb", *QUICK, "--json").stdout)
        report = load.stop()
    assert report.failures == []
    assert [(one["at_once"], one["prompt"]) for one in found["points"]] == [(1, 64), (1, 512), (4, 64)]
    assert all(one["speed"] > 0 and one["first"] > 0 for one in found["points"])
    kept = json.loads(floor.lab.boxes["boxb"].read(KEPT))["flagship@boxb"]
    assert [one["points"] for one in kept] == [found["points"]]
    assert kept[0]["launch"] == found["launch"] != ""
    assert in_both(floor.lab)
    assert invocations(floor.lab) == before


def test_the_simulated_engine_s_own_cache_is_read_from_its_log(floor: Floor) -> None:
    found = json.loads(floor.lab.boxes["boxb"].read(KEPT))["flagship@boxb"][0]
    assert found["start"]["tokens"] > 0
    assert found["start"]["available"] > 0


def test_the_last_member_is_not_taken(floor: Floor) -> None:
    floor("drain", "boxb")
    told = floor("calibrate", "boxa", *QUICK, code=5).stderr
    assert "flagship@boxa is the only member" in told
    assert pool(floor.lab) == ["flagship@boxa"]
    floor("undrain", "boxb")


def at_work(floor: Floor) -> int:
    """Requests that boxb's copy works on, as the pools see it."""
    [entry] = [one for one in status(floor)["backends"] if one["backend"] == "flagship@boxb"]
    return int(entry["running"] or 0)


def test_who_measures_is_killed_and_the_copy_comes_back_by_itself(floor: Floor) -> None:
    """Within the lease of 90 s; the pool takes it in again when that has lapsed."""
    running = floor.start("calibrate", "boxb", "--depths", "2048", "--answer", "4096")
    until("out of the pool", lambda: pool(floor.lab) == ["flagship@boxa"], 30)
    until("it is measured", lambda: at_work(floor) > 0, 60)
    running.send_signal(signal.SIGKILL)
    running.communicate()
    took = until("in the pool again", lambda: in_both(floor.lab), 120, 0.5)
    print(f"in the pools again {took:.0f} s after whoever measured was killed")
    assert floor("deploy").stdout.strip() == "nothing to do"
