"""Real vLLM as a program of each box: from bare boxes to a rolling restart under load."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lab.boxes import Lab
from tests.lab.floor import Floor
from tests.real import deployed
from tests.real.sites import NATIVE, site


@pytest.fixture(scope="module")
def floor(real_lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Floor:
    """A floor.yaml for new boxes; the first test deploys it."""
    folder: Path = tmp_path_factory.mktemp("site")
    floor = Floor(real_lab, folder)
    floor.write(site(real_lab, NATIVE))
    return floor


def test_from_bare_boxes_to_a_streamed_answer(floor: Floor) -> None:
    deployed.from_bare_boxes_to_a_streamed_answer(floor)


def test_again_nothing_is_touched(floor: Floor) -> None:
    deployed.again_nothing_is_touched(floor)


def test_a_wrong_flag_is_refused_before_anything_stops(floor: Floor) -> None:
    deployed.a_wrong_flag_is_refused_before_anything_stops(floor)


def test_what_differs_shows_and_only_bytes_are_put_back(floor: Floor) -> None:
    deployed.what_differs_shows_and_only_bytes_are_put_back(floor)


def test_an_edited_option_and_a_drop_in_restart_only_their_copies(floor: Floor) -> None:
    deployed.an_edited_option_and_a_drop_in_restart_only_their_copies(floor)


def test_only_the_inference_api_passes(floor: Floor) -> None:
    deployed.only_the_inference_api_passes(floor)


def test_the_cache_of_a_measured_copy_is_foretold(floor: Floor) -> None:
    deployed.the_cache_of_a_measured_copy_is_foretold(floor)


def test_a_rolling_restart_loses_nothing(floor: Floor) -> None:
    deployed.a_rolling_restart_loses_nothing(floor)


def test_a_killed_engine_comes_back(floor: Floor) -> None:
    deployed.a_killed_engine_comes_back(floor)
