"""Keys are made once, only root reads them, and nothing in them can mean something to nginx or systemd."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from floor.box import secrets
from floor.errors import FloorError, UsageError

ENGINE, STATUS = "e" * 43, "s" * 43


@pytest.fixture
def made() -> Iterator[str]:
    return iter([ENGINE, STATUS, "x" * 43, "y" * 43])


def test_keys_are_made_once(root: Path, me: str, made: Iterator[str]) -> None:
    first = secrets.ensure(root, lambda _size: next(made), me)
    assert first == {"engine": ENGINE, "status": STATUS, "next": {}}
    assert secrets.ensure(root, lambda _size: next(made), me) == first


def test_every_file_has_its_form_and_is_for_root_alone(root: Path, me: str) -> None:
    secrets.put(ENGINE, STATUS, root, me)
    folder = root / "etc/floor/secrets"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {path.name: path.read_text() for path in folder.iterdir()} == {
        "engine.key": f"{ENGINE}\n",
        "engine.env": f"VLLM_API_KEY={ENGINE}\n",
        "keys.env": f"FLOOR_KEYS={hashlib.sha256(ENGINE.encode()).hexdigest()[:16]}\n",
        "engine-key-next.conf": f'proxy_set_header Authorization "Bearer {ENGINE}";\n',
        "engine-llamacpp.env": f"LLAMA_API_KEY={ENGINE}\n",
        "engine-key.conf": f'proxy_set_header Authorization "Bearer {ENGINE}";\n',
        "status.key": f"{STATUS}\n",
    }
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}


def test_real_keys_are_long_and_differ(root: Path, me: str) -> None:
    keys = secrets.ensure(root, owner=me)
    assert keys["engine"] != keys["status"]
    assert all(len(keys[kind]) == 43 and secrets.KEY.fullmatch(keys[kind]) for kind in secrets.KINDS)


@pytest.mark.parametrize("name", ["engine.env", "engine-key.conf"])
def test_what_is_made_from_a_key_is_put_right_again(root: Path, me: str, name: str) -> None:
    secrets.put(ENGINE, STATUS, root, me)
    (root / "etc/floor/secrets" / name).unlink()
    (root / "etc/floor/secrets/engine.key").chmod(0o644)
    assert secrets.ensure(root, owner=me)["engine"] == ENGINE
    assert (root / "etc/floor/secrets" / name).is_file()
    assert stat.S_IMODE((root / "etc/floor/secrets/engine.key").stat().st_mode) == 0o600


def test_a_box_with_one_key_only_has_none(root: Path, me: str) -> None:
    secrets.put(ENGINE, STATUS, root, me)
    (root / "etc/floor/secrets/status.key").unlink()
    assert secrets.read(root) is None


@pytest.mark.parametrize(
    "key", ["", "short", 'x" ; evil "' + "a" * 30, "a" * 30 + "\n", "a b" * 10, "ключ" * 10, "a" * 201]
)
def test_a_key_that_could_mean_something_is_refused(root: Path, key: str) -> None:
    with pytest.raises(UsageError, match="engine key: must be 20 to 200 letters, digits, - or _"):
        secrets.put(key, STATUS, root)
    with pytest.raises(UsageError, match="status key"):
        secrets.put(ENGINE, key, root)
    assert not (root / "etc/floor").exists()


def test_a_key_file_that_somebody_edited_is_named_and_not_shown(root: Path, me: str) -> None:
    secrets.put(ENGINE, STATUS, root, me)
    (root / "etc/floor/secrets/engine.key").write_text("my secret!\n")
    with pytest.raises(FloorError, match=r"engine.key: is not a key of 20 to 200") as caught:
        secrets.read(root)
    assert "my secret" not in str(caught.value)


def test_a_key_file_that_cannot_be_read_is_named(root: Path) -> None:
    (root / "etc/floor/secrets/engine.key").mkdir(parents=True)
    with pytest.raises(FloorError, match=r"/etc/floor/secrets/engine.key: cannot be read"):
        secrets.read(root)


def test_boxes_compare_their_keys_by_a_fingerprint() -> None:
    expected = hashlib.sha256(f"{ENGINE}\n{STATUS}".encode()).hexdigest()[:16]
    assert secrets.fingerprint({"engine": ENGINE, "status": STATUS}) == expected
    assert secrets.fingerprint(None) is None


def test_what_an_older_floor_did_not_make_is_added_and_the_rest_is_not_touched(root: Path, me: str) -> None:
    secrets.put(ENGINE, STATUS, root, me)
    folder = root / "etc/floor/secrets"
    (folder / "engine-llamacpp.env").unlink()
    before = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    secrets.complete(root, me)
    assert (folder / "engine-llamacpp.env").read_text() == f"LLAMA_API_KEY={ENGINE}\n"
    assert stat.S_IMODE((folder / "engine-llamacpp.env").stat().st_mode) == 0o600
    assert {name: (folder / name).stat().st_mtime_ns for name in before} == before


def test_without_keys_nothing_is_made_from_them(root: Path, me: str) -> None:
    secrets.complete(root, me)
    assert not (root / "etc/floor/secrets").exists()


def files(root: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in (root / "etc/floor/secrets").iterdir()}


def test_a_key_that_follows_is_what_engines_start_with_and_nginx_does_not_know_it_yet(
    root: Path, me: str, made: Iterator[str]
) -> None:
    secrets.ensure(root, lambda _size: next(made), me)
    before = secrets.fingerprint(secrets.read(root))
    keys = secrets.begin("engine", root, lambda _size: next(made), me)
    assert keys["next"] == {"engine": "x" * 43}
    assert secrets.begin("engine", root, lambda _size: next(made), me) == keys, "it is made once"
    found = files(root)
    assert found["engine.key"] == f"{ENGINE}\n"
    assert found["engine.next"] == f"{'x' * 43}\n"
    assert found["engine.env"] == f"VLLM_API_KEY={'x' * 43}\n"
    assert ENGINE in found["engine-key.conf"]
    assert "x" * 43 in found["engine-key-next.conf"]
    assert secrets.starting(root) == "x" * 43
    assert secrets.accepted("engine", root) == [ENGINE, "x" * 43]
    assert secrets.accepted("status", root) == [STATUS]
    assert secrets.fingerprint(secrets.read(root)) != before


def test_what_follows_becomes_the_only_one(root: Path, me: str, made: Iterator[str]) -> None:
    secrets.ensure(root, lambda _size: next(made), me)
    secrets.begin("status", root, lambda _size: next(made), me)
    secrets.begin("engine", root, lambda _size: next(made), me)
    keys = secrets.promote(root, me)
    assert keys == {"engine": "y" * 43, "status": "x" * 43, "next": {}}
    assert secrets.promote(root, me) == keys
    assert secrets.read(root) == keys
    assert not [name for name in files(root) if name.endswith(".next")]
    assert not [text for text in files(root).values() if ENGINE in text or STATUS in text]
    assert secrets.starting(root) == "y" * 43


def test_without_keys_nothing_can_follow_or_start(root: Path, me: str) -> None:
    assert secrets.starting(root) is None
    assert secrets.told(root) is None
    with pytest.raises(FloorError, match="this box has no keys; run floor deploy"):
        secrets.promote(root, me)
    with pytest.raises(UsageError, match="key 'alice': must be engine or status"):
        secrets.begin("alice", root, owner=me)


def test_others_are_told_digests_and_whether_a_file_is_missing(root: Path, me: str) -> None:
    secrets.put(ENGINE, STATUS, root, me)
    told = secrets.told(root)
    assert told == {"engine": secrets.digest(ENGINE), "status": secrets.digest(STATUS), "next": {}, "complete": True}
    (root / "etc/floor/secrets/keys.env").unlink()
    assert secrets.told(root) == {**told, "complete": False}


def test_a_file_that_is_right_keeps_its_time(root: Path, me: str) -> None:
    """The age of engine.env tells which key an engine of an older floor was started with."""
    secrets.put(ENGINE, STATUS, root, me)
    place = root / "etc/floor/secrets/engine.env"
    os.utime(place, (1000, 1000))
    (root / "etc/floor/secrets/keys.env").unlink()
    secrets.ensure(root, owner=me)
    assert place.stat().st_mtime == 1000
    assert (root / "etc/floor/secrets/keys.env").exists()
