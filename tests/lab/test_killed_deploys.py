"""`floor` killed at seeded points of a deployment: the same command finishes, and somebody always serves."""

from __future__ import annotations

import os
import random
import signal
import time

import pytest

from tests.lab.boxes import Lab
from tests.lab.deployment import UNIT, deployed, in_both, invocations, until
from tests.lab.floor import Floor
from tests.lab.sites import proxy, site
from tests.load.running import Running

KILLS = 20
SEED = 20261130


@pytest.fixture(scope="module")
def floor(clean_lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Floor:
    """Both boxes set up and deployed to, once for this module."""
    return deployed(clean_lab, tmp_path_factory.mktemp("site"), site(clean_lab, load_time=1))


def test_killed_at_seeded_points_the_same_command_finishes(floor: Floor) -> None:
    """Each round edits an option, which asks for a restart of both copies, and kills at another moment of it."""
    moments = random.Random(SEED)  # noqa: S311 # not for secrets
    began = time.monotonic()
    floor.edit("max_requests: 4", "max_requests: 5")
    floor("deploy")
    whole = time.monotonic() - began
    with Running(
        proxy(floor.lab), "flagship", "--clients", "3", "--tokens", "20", enter=floor.lab.client.enter()
    ) as load:
        for number in range(KILLS):
            floor.edit(f"max_requests: {5 + number}", f"max_requests: {6 + number}")
            process = floor.start("deploy")
            time.sleep(moments.uniform(0, whole))
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            print(f"kill {number + 1}:")
            if number % 4 == 3:  # the others are taken over by the next edit's command, as a person in a hurry would
                floor("deploy")
        floor("deploy")
        report = load.stop()
    print(f"a whole deployment takes {whole:.1f} s; under load meanwhile: {report}")
    assert report.failures == []
    assert floor("deploy").stdout.strip() == "nothing to do"
    until("both copies in both pools", lambda: in_both(floor.lab), 10)
    for box in floor.lab.boxes.values():
        running = box.run(["cat", f"/proc/{box.pid(UNIT)}/cmdline"]).stdout.split("\0")
        assert running[running.index("--max-num-seqs") + 1] == str(5 + KILLS)
    assert set(invocations(floor.lab)) == {"boxa", "boxb"}
