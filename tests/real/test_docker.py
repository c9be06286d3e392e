"""Real vLLM in Docker on each box: from bare boxes to a streamed answer, and nothing to do after that."""

from __future__ import annotations

import time

import pytest

from tests.lab.boxes import Lab
from tests.lab.deployment import UNIT, chat, invocations, pool
from tests.lab.floor import Floor
from tests.real import deployed
from tests.real.sites import DOCKER, site, split_site


@pytest.fixture(scope="module")
def floor(real_lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Floor:
    """A floor.yaml for new boxes; the first test deploys it."""
    floor = Floor(real_lab, tmp_path_factory.mktemp("site"))
    floor.write(site(real_lab, DOCKER))
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


def test_another_image_of_the_same_name_replaces_its_copy_only(floor: Floor) -> None:
    before = invocations(floor.lab)
    floor.lab.boxes["boxb"].run(["docker", "tag", "floor-lab/base:2", "floor-lab/base:1"])
    assert "another image now" in floor("deploy", "--ungated", "--dry-run", code=3).stdout
    floor("deploy", "--ungated", timeout=900)
    after = invocations(floor.lab)
    assert after["boxa"] == before["boxa"]
    assert after["boxb"][UNIT] != before["boxb"][UNIT]


def test_one_group_over_both_boxes_wants_the_same_image_and_generates(floor: Floor) -> None:
    """The boxes have different images of one name since the last test: the copies go on until they are the same."""
    floor.write(split_site(floor.lab, DOCKER))
    floor("deploy", timeout=900)
    before = invocations(floor.lab)
    assert "is not the same image" in floor("switch", "split", code=1, timeout=300).stderr
    assert invocations(floor.lab) == before
    floor.lab.boxes["boxa"].run(["docker", "tag", "floor-lab/base:2", "floor-lab/base:1"])
    began = time.monotonic()
    floor("switch", "split", timeout=900)
    print(f"switched to a group in {time.monotonic() - began:.0f} s")
    assert pool(floor.lab) == ["flagship@boxa+boxb"]
    for box in floor.lab.boxes:
        code, body = chat(floor.lab, box, stream=True, tokens=16, timeout=60)
        assert code == 200
        assert body.rstrip().endswith("data: [DONE]")
