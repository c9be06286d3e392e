"""A branch or a tag becomes the commit that it is now; everything else in the file stays as it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from floor.box import hub as api
from floor.config.load import load
from floor.errors import BoxError, ConfigError, FloorError
from floor.operations import fetch_pin
from floor.operations.fetch import Hub

NOW = "c" * 40
HUB = Hub("https://hub.example", "token")
TEXT = """\
boxes:
  spark-a: {host: 192.0.2.11}
models:
  flagship:  # the large one
    source: /models/flagship
    fetch:
      repo: org/flagship
      revision: main  # as of today
    utilization: 0.4
    runtime: {kind: native, command: /opt/vllm/bin/vllm}
    replicas: [{box: spark-a, fetch: {repo: org/other, revision: v1.0}}]
proxy: {boxes: [spark-a]}
"""
DIFFERENCE = """\
-      revision: main  # as of today
+      revision: cccccccccccccccccccccccccccccccccccccccc  # as of today
"""


class Box:
    """What a box says when it is asked for a listing."""

    def __init__(self, answer: dict[str, Any] | BoxError) -> None:
        self.answer, self.asked = answer, list[dict[str, Any]]()

    def call(self, name: str, params: dict[str, Any], **_: Any) -> dict[str, Any]:
        self.asked.append(params)
        if isinstance(self.answer, BoxError):
            raise self.answer
        return self.answer


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "floor.yaml").write_text(TEXT)
    return tmp_path / "floor.yaml"


def says(monkeypatch: pytest.MonkeyPatch, found: str | Exception) -> None:
    """What the hub tells whoever asks it from here."""

    def listing(_client: Any, _endpoint: str, _repo: str, _revision: str, token: str | None) -> api.Listing:
        assert token == "token"
        if isinstance(found, Exception):
            raise found
        return api.Listing(found, ())

    monkeypatch.setattr(api, "listing", listing)


def none(_config: Any) -> dict[str, Any]:
    raise AssertionError("no box has to be asked")


def test_the_commit_is_written_and_comments_stay(monkeypatch: pytest.MonkeyPatch, place: Path) -> None:
    says(monkeypatch, NOW)
    difference, found = fetch_pin.pin(place, HUB, none, ["flagship"], dry_run=False)
    assert found
    assert DIFFERENCE in difference
    config = load(place).config
    assert [copy.fetch and copy.fetch.revision for copy in config.copies("flagship")] == [NOW]
    assert fetch_pin.pin(place, HUB, none, [], dry_run=False) == ("", False)


def test_a_dry_run_only_shows_it(monkeypatch: pytest.MonkeyPatch, place: Path) -> None:
    says(monkeypatch, NOW)
    assert DIFFERENCE in fetch_pin.pin(place, HUB, none, [], dry_run=True)[0]
    assert place.read_text() == TEXT


def test_the_commit_to_write_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    says(monkeypatch, NOW)
    with pytest.raises(ConfigError) as caught:
        fetch_pin.refuse(TEXT, "floor.yaml", HUB, none)
    assert caught.value.problems == (
        (
            "models.flagship.fetch.revision (floor.yaml:8): found main, which may be other weights tomorrow; "
            f'write "{NOW}", which it is now, or let `floor fetch --pin` write it'
        ),
        (
            "models.flagship.replicas[0].fetch.revision (floor.yaml:11): found v1.0, which may be other weights "
            f'tomorrow; write "{NOW}", which it is now, or let `floor fetch --pin` write it'
        ),
    )


def test_where_here_is_no_internet_a_box_is_asked(monkeypatch: pytest.MonkeyPatch, place: Path) -> None:
    says(monkeypatch, api.UnreachableError("no way"))
    away, there = Box(BoxError("spark-a: no way there")), Box({"commit": NOW, "files": []})
    fetch_pin.pin(place, HUB, lambda _config: {"spark-a": away, "spark-b": there}, [], dry_run=False)  # type: ignore[dict-item]
    assert NOW in place.read_text()
    assert there.asked[0] == {
        "endpoint": "https://hub.example",
        "repo": "org/flagship",
        "revision": "main",
        "token": "token",
    }


def test_where_nobody_reaches_the_hub_each_is_told(monkeypatch: pytest.MonkeyPatch, place: Path) -> None:
    says(monkeypatch, api.UnreachableError("no way"))
    box = Box({"unreachable": "no way either"})
    with pytest.raises(FloorError) as caught:
        fetch_pin.pin(place, HUB, lambda _config: {"spark-a": box}, [], dry_run=False)  # type: ignore[dict-item]
    assert str(caught.value) == (
        "org/flagship: nobody reaches the hub to ask what main is:\n  here: no way\n  spark-a: no way either"
    )
    assert place.read_text() == TEXT


def test_an_answer_that_is_no_commit_is_not_written(monkeypatch: pytest.MonkeyPatch, place: Path) -> None:
    says(monkeypatch, "main")
    with pytest.raises(FloorError, match="org/flagship: the hub says that main is 'main', which is no commit"):
        fetch_pin.pin(place, HUB, none, [], dry_run=False)


def test_a_file_with_another_fault_is_told_of_that(monkeypatch: pytest.MonkeyPatch, place: Path) -> None:
    says(monkeypatch, NOW)
    place.write_text(TEXT.replace("utilization: 0.4", "utilization: 4"))
    with pytest.raises(ConfigError, match=r"utilization \(.*:9\): found 4; write a share"):
        fetch_pin.pin(place, HUB, none, [], dry_run=False)
