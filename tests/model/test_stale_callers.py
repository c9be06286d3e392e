"""A process that sleeps at any of its calls while another one brings a command to its end: it changes nothing more."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.model import commands
from tests.model.faults import overtaken
from tests.model.stories import STORIES, Story
from tests.model.test_two_boxes import LONG
from tests.model.trial import overtaken_at, undisturbed
from tests.simulated.situation import Situation

LEASED = [
    "first deployment",
    "rolling change",
    "copy moves",
    "two models change",
    "restart",
    "reboot",
    "abort",
    "to split",
    "to replicas",
    "remove",
]


def _as_it_is(_situation: Situation) -> None:
    return


def _edited(situation: Situation) -> None:
    situation.edit("vllm:v", "vllm:w")


@pytest.mark.parametrize("story", LEASED)
def test_the_same_command_is_given_meanwhile(situation: Situation, story: str) -> None:
    _overtaken(situation, STORIES[story], STORIES[story].command, _as_it_is)


@pytest.mark.parametrize(
    "story", [name for name in LEASED if name not in ("abort", "remove", "to split", "to replicas")]
)
def test_another_file_is_deployed_meanwhile(situation: Situation, story: str) -> None:
    _overtaken(situation, STORIES[story], commands.deploy, _edited)


def _overtaken(situation: Situation, story: Story, by: commands.Command, edit: Callable[[Situation], None]) -> None:
    asked = undisturbed(story, situation).asked
    for at in range(1, len(asked) + 1, 3 if len(asked) > LONG else 1):
        found = overtaken_at(story, situation, overtaken(by, edit), by, at)
        assert found == [], f"asleep before call {at} of {len(asked)}"
