"""`floor fetch` from a hub to one box, from there to the other."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection

import pytest

from floor.agent.calls import fetch as calls
from floor.apply import tunnel
from floor.box import manifest
from floor.box.manifest import Origin
from floor.errors import FloorError, RefusedError, UsageError
from floor.operations.fetch import Hub
from floor.operations.fetch_relay import Relay
from tests.hub import REVISION, TOKEN, made
from tests.integration.fetch.conftest import FOLDER, Place, same

BOXES = ("spark-a", "spark-b")
WEIGHTS = "model-00001-of-00003.safetensors"


def test_one_box_asks_the_hub_and_the_other_gets_it_from_there(place: Place) -> None:
    outcome = place.fetch()
    assert outcome.complete
    same(place)
    assert place.hub.sent == sum(map(len, place.hub.files.values()))  # once over the internet
    assert any("spark-b: fetches org/flagship at 3f9c1e6a0b7d from spark-a (http://127.0.0.3:" in line
               for line in place.said)  # over the fabric  # fmt: skip
    events = (place.root("spark-b") / "var/lib/floor/events.jsonl").read_text()
    assert "fetches org/flagship at 3f9c1e6a0b7d" in events
    place.hub.asked.clear()
    again = place.fetch()
    assert (again.complete, again.changed, again.pending, place.hub.asked) == (True, False, [], [])


def test_a_dry_run_shows_what_lacks_and_changes_nothing(place: Place) -> None:
    outcome = place.fetch(dry_run=True)
    assert [line.split(";")[0] for line in outcome.pending] == [
        f"{box}: fetch org/flagship at 3f9c1e6a0b7d into {FOLDER} (479 KiB)" for box in BOXES
    ]
    assert list(place.root("spark-a").glob("models/*")) == []


def test_a_full_disk_is_refused_before_anything_starts(place: Place) -> None:
    place.hub.files = {"model.safetensors": b"", **place.hub.files}
    listing = place.hub.listing()
    listing["siblings"][0] |= {"size": 1 << 50, "lfs": {"sha256": "0" * 64, "size": 1 << 50}}
    place.hub.listing = lambda: listing  # type: ignore[method-assign]
    with pytest.raises(FloorError) as caught:
        place.fetch()
    lines = str(caught.value).splitlines()
    assert lines[0] == "nothing was fetched:"
    assert [line.split(",")[0] for line in lines[1:]] == [f"  {box}: {FOLDER} needs 1024.0 TiB" for box in BOXES]
    assert "free; make room, or write another `source`" in lines[1]
    assert not list(place.root("spark-a").glob("models/*"))


def test_another_revision_in_the_folder_is_not_written_over(place: Place) -> None:
    place.fetch()
    place.hub.names = {"main": REVISION}
    place.write(revision="a" * 40)
    place.hub.names["a" * 40] = REVISION
    with pytest.raises(RefusedError, match=f"spark-a: {FOLDER} holds org/flagship at 3f9c1e6a0b7d, floor.yaml says"):
        place.fetch()


def test_only_what_is_included_comes(place: Place) -> None:
    place.write(include=', include: ["*.safetensors", "*.json"]')
    place.fetch()
    assert set(place.contents("spark-b")) == set(made()) - {"README.md"}
    place.write(include=', include: ["*.bin"]')
    with pytest.raises(FloorError, match=r"`include` matches none of its 6 files: README.md, config.json"):
        place.fetch()


def test_a_damaged_copy_is_put_right_from_the_other_box(place: Place) -> None:
    place.fetch()
    damaged = place.at("spark-b", WEIGHTS)
    before = damaged.stat()
    data = bytearray(damaged.read_bytes())
    data[5] ^= 1
    damaged.write_bytes(data)
    os.utime(damaged, ns=(before.st_atime_ns, before.st_mtime_ns))
    place.hub.asked.clear()
    place.said.clear()
    assert place.fetch(check=True).complete
    assert f"spark-b: {WEIGHTS}: is damaged" in place.said
    assert "spark-a: every file of org/flagship at 3f9c1e6a0b7d is as it was fetched" in place.said
    assert place.hub.asked == []
    same(place)


def test_the_hub_out_of_reach_is_told_of_each_box(place: Place) -> None:
    port, place.hub.port = place.hub.port, 1
    with pytest.raises(FloorError) as caught:
        place.fetch()
    place.hub.port = port
    told = str(caught.value).splitlines()
    assert told[0] == ("org/flagship at 3f9c1e6a0b7d: neither a box that needs it nor this machine reaches the hub:")
    places = (*BOXES, "this machine")
    assert [line.split(" cannot")[0] for line in told[1:4]] == [f"  {one}: http://127.0.0.1:1" for one in places]


def test_where_only_this_machine_reaches_the_hub_it_passes_the_files_on(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once, to one box; said beforehand; and the hub's token does not leave this machine."""

    @contextmanager
    def reverse(_box: str, _destination: str, port: int) -> Iterator[int]:
        yield port

    monkeypatch.setattr(tunnel, "reverse", reverse)
    monkeypatch.setattr(calls, "list", lambda _call: {"unreachable": "no way"})
    place.hub.gated, place.token = True, TOKEN
    place.hub.faults.cuts = [30_000] * 3
    assert place.fetch().complete
    same(place)
    assert place.hub.sent == sum(map(len, place.hub.files.values()))
    assert place.said[:3] == [
        "org/flagship at 3f9c1e6a0b7d: no box reaches the hub; it comes through this machine, which has to stay on:",
        "  spark-a: no way",
        "  spark-b: no way",
    ]
    assert f"spark-a: fetches org/flagship at 3f9c1e6a0b7d through this machine into {FOLDER}" in place.said
    jobs = [path for box in BOXES for path in (place.root(box) / "run/floor/fetch").iterdir()]
    assert not any(TOKEN in path.read_text() for path in jobs)


def test_a_box_gets_the_files_of_that_repository_alone(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing else that the hub's token opens, whatever a box asks for."""

    @contextmanager
    def reverse(_box: str, _destination: str, port: int) -> Iterator[int]:
        yield port

    monkeypatch.setattr(tunnel, "reverse", reverse)
    relay = Relay(place.site(), Hub(place.hub.url, TOKEN))
    url, token = relay.url("spark-a", Origin("org/flagship", REVISION))
    said = []
    for path in ("/config.json", "/../../../../api/models/org/flagship/revision/main", "/%2e%2e/%2e%2e/x", "//x", "/"):
        way = HTTPConnection(url.removeprefix("http://"))  # httpx would tidy the path
        way.request("GET", path, headers={"Authorization": f"Bearer {token}"})
        said.append(way.getresponse().status)
        way.close()
    relay.close()
    assert said[:3] == [200, 404, 404]
    assert [path for path, _ in place.hub.asked if "config.json" not in path and path != "x"] == []


def test_a_box_that_has_it_needs_no_hub(place: Place) -> None:
    place.fetch(boxes=("spark-a",))
    assert not place.at("spark-b").exists()
    place.hub.port = 1
    assert place.fetch().complete
    same(place)


def test_names_that_are_not_there(place: Place) -> None:
    with pytest.raises(UsageError, match=r"large: no such model in floor\.yaml; there are flagship"):
        place.fetch("large")
    with pytest.raises(UsageError, match="mac: no such box that floor manages; there are spark-a, spark-b"):
        place.fetch(boxes=("mac",))


def test_a_single_file_lies_in_the_folder_of_its_source(place: Place) -> None:
    place.hub.files = {"model-Q4.gguf": b"gguf" * 3000, "model-Q8.gguf": b"gguf" * 6000}
    place.write(source="/models/flagship/model-Q4.gguf", include=', include: ["*Q4.gguf"]')
    place.fetch()
    assert set(place.contents("spark-b")) == {"model-Q4.gguf"}
    place.write(source="/models/flagship/other.gguf", include=', include: ["*Q8.gguf"]')
    with pytest.raises(FloorError, match=r"has no other\.gguf; it has model-Q8\.gguf"):
        place.fetch()


def test_a_file_in_a_folder_of_its_repository(place: Place) -> None:
    place.hub.files = {"Q4/large-1-of-2.gguf": b"gguf" * 3000, "Q4/large-2-of-2.gguf": b"g", "Q8/large.gguf": b"g"}
    place.write(source="/models/flagship/Q4/large-1-of-2.gguf", include=', include: ["Q4/*"]')
    assert place.fetch().complete
    assert set(place.contents("spark-b")) == {"Q4/large-1-of-2.gguf", "Q4/large-2-of-2.gguf"}


def test_the_outcome_is_json(place: Place) -> None:
    told = json.loads(json.dumps(place.fetch().as_json()))
    digest = manifest.read(place.at("spark-a"))
    assert digest
    assert told["weights"] == [
        {
            "repo": "org/flagship",
            "revision": REVISION,
            "models": ["flagship"],
            "folders": dict.fromkeys(BOXES, FOLDER),
            "size": sum(map(len, place.hub.files.values())),
            "boxes": dict.fromkeys(BOXES, digest.digest),
        }
    ]
    assert (told["images"], told["failed"], told["complete"], told["changed"]) == ([], [], True, True)
