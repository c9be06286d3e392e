"""How the boxes of the other parts are asked, and for how long each counts as silent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from floor.box.parts import Mark, Phase, Told
from floor.box.status_ask import MuteError, StrangerError
from floor.errors import FloorError
from floor.group import settings
from floor.group.ask import Others
from floor.group.decide import Look
from floor.group.settings import Group, Other, Settings

TOLD = Told("worker", "floor-group-flagship.service", Phase.RUNNING, "w1", "g1")
GROUP = Group(
    "flagship",
    "head",
    "floor-group-flagship.service",
    None,
    (Other("b", "http://198.51.100.2:8099/status"), Other("c", "http://198.51.100.3:8099/status")),
)


class Boxes:
    """Answers by address: bytes, or what is raised."""

    def __init__(self) -> None:
        self.now = 100.0
        self.takes = 0.0
        good = json.dumps({"groups": {"flagship": TOLD.as_json()}}).encode()
        self.says: dict[str, bytes | OSError] = {other.status_url: good for other in GROUP.others}
        self.key = "key"

    def get(self, url: str, key: str | None) -> bytes:
        if key != self.key:
            raise StrangerError(url)
        said = self.says[url]
        if isinstance(said, OSError):
            raise said
        return said

    def others(self) -> Others:
        return Others(GROUP, lambda: self.now, self.get)


@pytest.fixture
def boxes() -> Boxes:
    return Boxes()


def test_all_are_asked(boxes: Boxes) -> None:
    assert boxes.others().look(["key"]) == {"b": Look(TOLD), "c": Look(TOLD)}


def test_the_key_that_follows_is_tried_too(boxes: Boxes) -> None:
    boxes.key = "next"
    assert boxes.others().look(["key", "next"])["b"] == Look(TOLD)
    assert boxes.others().look(["key"])["b"].mute > 0


@pytest.mark.parametrize(
    ("said", "away"),
    [
        (TimeoutError("timed out"), True),
        (OSError(113, "No route to host"), True),
        (ConnectionRefusedError(111, "Connection refused"), False),
        (MuteError("answers 503"), False),
        (b"not JSON", False),
        (b"[]", False),
        (b"{}", False),
        (b'{"groups": {"flagship": 7}}', False),
    ],
)
def test_a_silence_lasts_from_the_first_question_that_it_left_open(
    boxes: Boxes, said: bytes | OSError, away: bool
) -> None:
    others = boxes.others()
    others.look(["key"])
    boxes.now = 150.0  # this process slept
    url = GROUP.others[0].status_url
    good, boxes.says[url] = boxes.says[url], said
    found = others.look(["key"])
    assert found["b"].told is None
    assert (found["b"].away < 0.1, found["b"].mute < 0.1) == (True, True)
    boxes.now = 156.0
    found = others.look(["key"])
    assert (found["b"].away, found["b"].mute) == ((6.0, 0.0) if away else (0.0, 6.0))
    assert found["c"] == Look(TOLD)
    boxes.says[url] = good
    assert others.look(["key"])["b"] == Look(TOLD)
    boxes.says[url] = said
    assert max(others.look(["key"])["b"].away, 0.0) < 0.1


def test_a_box_that_holds_no_part_of_it_any_more_is_no_silent_one(boxes: Boxes) -> None:
    """A deployment takes the group out of its settings before it has drained what runs."""
    others = boxes.others()
    boxes.says[GROUP.others[0].status_url] = b'{"groups": {"small": {}}}'
    others.look(["key"])
    boxes.now += 3600
    assert others.look(["key"])["b"] == Look(None)


def test_a_silence_before_another_start_is_forgotten(boxes: Boxes) -> None:
    others = boxes.others()
    boxes.says[GROUP.others[0].status_url] = TimeoutError("timed out")
    others.look(["key"])
    boxes.now += 3600
    others.forget()
    assert others.look(["key"])["b"].away < 0.1


@pytest.mark.parametrize(
    ("among", "words"),
    [
        (("b", "c"), ""),
        (("c", "b"), ""),
        ((), ""),
        (("b",), "runs with b, /etc/floor/group.json names b, c: `floor deploy` replaces it"),
    ],
)
def test_a_part_that_runs_with_other_boxes_is_left_to_the_deployment(among: tuple[str, ...], words: str) -> None:
    assert settings.regrouped(GROUP, Mark("s", True, "g", among=among)) == words
    assert settings.regrouped(GROUP, None) == ""


def write(root: Path, text: str) -> None:
    place = root / "etc/floor/group.json"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)


def test_settings_are_read(tmp_path: Path) -> None:
    others = [{"box": other.box, "status_url": other.status_url} for other in GROUP.others]
    group = {"model": "flagship", "part": "head", "unit": GROUP.unit, "container": None, "others": others}
    write(tmp_path, json.dumps({"status_key_file": "/etc/floor/secrets/status.key", "groups": [group]}))
    found = settings.load(tmp_path)
    assert found == Settings(Path("/etc/floor/secrets/status.key"), (GROUP,))
    assert found.group("flagship") == GROUP
    with pytest.raises(FloorError, match=r"group.json: tells of no group of small; run `floor deploy`"):
        found.group("small")


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"others": []}, r"groups\[0\].others: found \[\], expected the other parts of the group"),
        ({"part": "tail"}, r"groups\[0\].part: found 'tail', expected head or worker"),
        ({"model": None}, r"groups\[0\].model: found None, expected text"),
    ],
)
def test_settings_that_are_wrong_are_named(tmp_path: Path, changed: dict[str, object], words: str) -> None:
    group = {"model": "flagship", "part": "head", "unit": GROUP.unit, "others": [{"box": "b", "status_url": "u"}]}
    write(tmp_path, json.dumps({"status_key_file": "/k", "groups": [group | changed]}))
    with pytest.raises(FloorError, match=words):
        settings.load(tmp_path)


def test_both_keys_are_read_while_one_is_being_replaced(tmp_path: Path) -> None:
    wanted = Settings(Path("/etc/floor/secrets/status.key"), ())
    folder = tmp_path / "etc/floor/secrets"
    folder.mkdir(parents=True)
    with pytest.raises(FloorError, match=r"status.key: the status key cannot be read .*; `floor deploy` makes it"):
        settings.keys(wanted, tmp_path)
    (folder / "status.key").write_text("one\n")
    assert settings.keys(wanted, tmp_path) == ("one",)
    (folder / "status.next").write_text("two\n")
    assert settings.keys(wanted, tmp_path) == ("one", "two")
