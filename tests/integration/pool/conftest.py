"""One proxy box for all tests here; each test finds both copies in, whatever the one before left behind."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from tests.integration.pool.stage import BACKENDS, Stage

_RUNS = itertools.count(100)


@pytest.fixture(scope="session")
def whole_stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with Stage(tmp_path_factory.mktemp("stage")) as made:
        yield made


@pytest.fixture
def stage(whole_stage: Stage) -> Stage:
    """Two copies, both members, engines without faults, units as just started: no fault of before counts."""
    for name in BACKENDS:
        whole_stage.engines[name].clear()
        whole_stage.undrain(name)
        whole_stage.boxes[name[-1]].unit("active", f"run-{next(_RUNS)}")
    whole_stage.await_members(*BACKENDS)
    return whole_stage
