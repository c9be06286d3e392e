"""Files, configuration, keys, events and releases: changed only by who holds the box."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from floor.agent.calls import config as config_call
from floor.box import paths, releases
from floor.box.lease import HeldError
from floor.box.locked import mine
from floor.errors import FloorError, RefusedError, UsageError

from .conftest import EPOCH, Box

FILE = {"path": "/etc/floor/mode", "text": "replicas\n", "mode": 0o644, "owner": mine()}
KEY = "k" * 43


def test_files_are_put_and_removed(box: Box) -> None:
    assert box.call("files.put", epoch=EPOCH, files=[FILE]) == {"changed": ["/etc/floor/mode"]}
    assert box.call("files.put", epoch=EPOCH, files=[FILE]) == {"changed": []}
    assert (box.root / "etc/floor/mode").read_text() == "replicas\n"
    assert box.call("files.remove", epoch=EPOCH, paths=["/etc/floor/mode"]) == {"changed": ["/etc/floor/mode"]}


def test_a_file_elsewhere_is_refused_and_nothing_is_written(box: Box) -> None:
    with pytest.raises(RefusedError, match=r"/etc/shadow: not floor's"):
        box.call("files.put", epoch=EPOCH, files=[FILE, {"path": "/etc/shadow", "text": ""}])
    assert not (box.root / "etc/floor").exists()


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("files.put", {"files": [FILE]}),
        ("files.remove", {"paths": ["/etc/floor/mode"]}),
        ("config.put", {"text": "x"}),
        ("secrets.ensure", {}),
        ("secrets.put", {"engine": KEY, "status": KEY}),
        ("drain.add", {"backend": "m@a", "holder": "x"}),
        ("drain.remove", {"backend": "m@a", "holder": "x"}),
        ("observe", {"event": {"text": "x"}}),
        ("units.reload", {}),
        ("memory.wait", {"bytes": 1}),
        ("pool.wait", {"model": "m", "backend": "m@a"}),
        ("operation.renew", {}),
        ("operation.release", {"state": "done"}),
        ("release.install", {"release": "0.1.0+aaaaaaaaaaaa", "size": 0, "sha256": ""}),
    ],
)
def test_who_does_not_hold_the_box_changes_nothing(box: Box, name: str, params: dict[str, Any]) -> None:
    before = sorted(path for path in box.root.rglob("*") if path.is_file())
    with pytest.raises(HeldError, match="epoch 2 does not hold this box: held by `deploy` of ann@laptop"):
        box.call(name, epoch=2, **params)
    after = sorted(path for path in box.root.rglob("*") if path.is_file())
    assert [path for path in after if path.name not in ("lock", "work")] == [
        path for path in before if path.name not in ("lock", "work")
    ]


def test_the_deployed_configuration_is_kept_with_its_history(box: Box) -> None:
    first, second = (hashlib.sha256(text.encode()).hexdigest() for text in ("one: 1\n", "two: 2\n"))
    assert box.call("config.put", epoch=EPOCH, text="one: 1\n") == {"sha256": first}
    box.call("config.put", epoch=EPOCH, text="two: 2\n")
    assert (box.root / "var/lib/floor/floor.yaml").read_text() == "two: 2\n"
    history = box.root / "var/lib/floor/configs.json"
    assert json.loads(history.read_text()) == [first, second]
    box.call("config.put", epoch=EPOCH, text="one: 1\n")
    assert json.loads(history.read_text()) == [second, first]  # going back makes it the newest again


def test_the_history_is_bounded(box: Box) -> None:
    for number in range(config_call.HISTORY + 5):
        box.call("config.put", epoch=EPOCH, text=f"n: {number}\n")
    history = json.loads((box.root / "var/lib/floor/configs.json").read_text())
    assert len(history) == config_call.HISTORY
    assert history[-1] == hashlib.sha256(f"n: {config_call.HISTORY + 4}\n".encode()).hexdigest()


def test_keys_are_made_on_one_box_and_put_on_the_next(box: Box) -> None:
    made = box.call("secrets.ensure", epoch=EPOCH)
    assert box.call("secrets.ensure", epoch=EPOCH) == made
    other = box.call("secrets.put", epoch=EPOCH, engine="e" * 43, status="s" * 43)
    assert len(other["fingerprint"]) == 16
    assert box.call("secrets.ensure", epoch=EPOCH) == {
        "engine": "e" * 43,
        "status": "s" * 43,
        "next": {},
    }


def test_a_key_is_not_repeated_in_an_error(box: Box) -> None:
    with pytest.raises(UsageError) as caught:
        box.call("secrets.put", epoch=EPOCH, engine="bad key with spaces!", status=KEY)
    assert "bad key" not in str(caught.value)


def test_an_event_tells_who_holds_the_box(box: Box) -> None:
    told = {"text": "stop m@a", "data": {"why": "argv"}}
    (event,) = box.call("events.read", epoch=EPOCH, lines=5, event=told)
    assert (event["who"], event["text"], event["data"]) == ("ann@laptop", "stop m@a", {"why": "argv"})
    box.call("events.read", epoch=EPOCH, lines=5, event={"text": "nothing more"})
    assert box.call("events.read", lines=1)[0]["text"] == "nothing more"


def test_an_event_without_words_is_named_and_nothing_is_done(box: Box) -> None:
    with pytest.raises(UsageError, match=r"files.put: parameter text: must be a text, it is missing"):
        box.call("files.put", epoch=EPOCH, files=[FILE], event={})
    assert not (box.root / "etc/floor").exists()


def install(box: Box, monkeypatch: pytest.MonkeyPatch, **params: Any) -> list[Any]:
    got: list[Any] = []
    monkeypatch.setattr(releases, "install", lambda *words, root: got.append((*words, root)) or {"changed": True})
    box.call("release.install", b"wheels and more", release="r", size=6, sha256="d", **params)
    return got


def test_a_release_is_as_many_bytes_as_were_announced(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    assert install(box, monkeypatch, epoch=EPOCH) == [("r", b"wheels", "d", box.root)]


def test_a_release_without_an_operation_needs_a_box_that_nobody_holds(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(HeldError, match="held by `deploy`"):
        install(box, monkeypatch)
    box.call("operation.release", epoch=EPOCH, state="done")
    assert len(install(box, monkeypatch)) == 1


def test_an_absurd_size_is_refused_before_it_is_read(free: Box) -> None:
    with pytest.raises(UsageError, match="99999999999 bytes are no release of floor"):
        free.call("release.install", release="0.1.0+aaaaaaaaaaaa", size=99999999999, sha256="")


def test_an_operation_is_taken_renewed_and_ended(free: Box) -> None:
    by = {"user": "ann", "host": "laptop", "pid": 1, "started": 2.0, "password": "never kept"}
    taken = free.call("operation.take", epoch=5, verb="deploy", target="replicas", config="c", by=by, lease=30)
    assert taken["by"] == {"user": "ann", "host": "laptop", "pid": 1, "started": 2.0}
    assert (taken["epoch"], taken["lease"], taken["live"]) == (5, 30.0, True)
    assert free.call("operation.renew", epoch=5)["live"] is True
    assert free.call("operation.release", epoch=5, state="failed")["state"] == "failed"
    with pytest.raises(RefusedError, match="epoch 5 is not above 5"):
        free.call("operation.take", epoch=5, verb="deploy", by=by)


def test_one_of_which_nothing_is_left_ends_done_whatever_came(free: Box) -> None:
    by = {"user": "ann", "host": "laptop", "pid": 1, "started": 2.0}
    taken = free.call("operation.take", epoch=5, verb="bench", by=by, passing=True)
    assert (taken["passing"], taken["state"]) == (True, "live")
    assert free.call("operation.release", epoch=5, state="failed")["state"] == "done"


def test_a_dead_process_is_taken_over_through_the_call(box: Box) -> None:
    by = {"user": "ann", "host": "laptop", "pid": 99, "started": 9.0}
    assert box.call("operation.take", epoch=4, verb="deploy", by=by, takeover=EPOCH)["epoch"] == 4
    with pytest.raises(HeldError):
        box.call("files.put", epoch=EPOCH, files=[FILE])


def test_observing_needs_no_epoch_and_passes_what_is_asked_for(free: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    from floor.box import observe

    got: list[Any] = []
    monkeypatch.setattr(observe, "read", lambda asked, root, _run: got.append((asked, root)) or {})
    free.call("observe", units={"x": {"env": ["A"]}}, paths=["/m"])
    assert got == [
        (
            {
                "units": {"x": {"env": ["A"]}},
                **{name: [] for name in ("files", "images", "read", "weights", "toward", "tls")},
                "paths": ["/m"],
                "firewalls": False,
            },
            free.root,
        )
    ]


def test_a_configuration_is_tried_without_holding_the_box(free: Box) -> None:
    with pytest.raises(UsageError, match=r"nginx\.conf is not among the files"):
        free.call("nginx.test", files=[FILE], members="")


def test_keys_are_asked_of_a_box_that_can_tell_what_is_wrong(box: Box) -> None:
    place = box.root / str(paths.ENGINE_KEY).lstrip("/")
    place.parent.mkdir(parents=True)
    place.write_text("edited by hand!\n")
    with pytest.raises(FloorError, match="is not a key of 20 to 200 letters"):
        box.call("secrets.ensure", epoch=EPOCH)
