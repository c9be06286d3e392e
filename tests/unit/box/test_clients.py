"""Client keys: made once for each name, two while one is replaced, in a form that means to nginx what it must."""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floor.box import clients
from floor.box.secrets import place
from floor.errors import FloorError, UsageError

PLACE = "etc/floor/secrets"


@pytest.fixture
def make() -> Callable[[int], str]:
    numbers = iter(range(100))
    return lambda size: f"key-{next(numbers):02}-".ljust(size + 11, "x")


def test_each_name_has_one_key_and_floor_one_of_its_own(root: Path, me: str, make: Callable[[int], str]) -> None:
    made = clients.named(["alice", "ci"], root, make, me)
    assert [*made] == ["alice", "ci", "floor"]
    assert len({key for keys in made.values() for key in keys}) == 3
    assert clients.named(["alice", "ci"], root, make, me) == made
    assert {name: len(keys) for name, keys in clients.told(root).items()} == {"alice": 1, "ci": 1, "floor": 1}
    for name in ("clients.json", "clients.conf"):
        assert stat.S_IMODE((root / PLACE / name).stat().st_mode) == 0o600


def test_who_is_no_longer_named_has_none_and_with_nobody_no_file_is_left(
    root: Path, me: str, make: Callable[[int], str]
) -> None:
    made = clients.named(["alice", "ci"], root, make, me)
    left = clients.named(["ci", "bob"], root, make, me)
    assert set(left) == {"ci", "bob", "floor"}
    assert left["ci"] == made["ci"]
    assert clients.named([], root, make, me) == {}
    assert clients.read(root) == {}
    assert list((root / PLACE).iterdir()) == []


def test_a_key_is_replaced_in_two_steps_each_of_which_may_be_repeated(
    root: Path, me: str, make: Callable[[int], str]
) -> None:
    (old,) = clients.named(["alice"], root, make, me)["alice"]
    assert clients.rotate("alice", root, make, me)
    new = clients.read(root)["alice"]
    assert new[1:] == [old]
    assert not clients.rotate("alice", root, make, me)
    assert clients.read(root)["alice"] == new
    assert clients.retire("alice", root, me)
    assert not clients.retire("alice", root, me)
    assert clients.read(root)["alice"] == new[:1]


def test_nginx_is_told_patterns_for_a_plain_text_would_match_in_any_case(
    root: Path, me: str, make: Callable[[int], str]
) -> None:
    clients.named(["alice"], root, make, me)
    clients.rotate("alice", root, make, me)
    text = (root / PLACE / "clients.conf").read_text()
    by_header = re.findall(r'^    "(~.*)" (\w+);$', text.partition("$http_authorization")[2], re.MULTILINE)
    assert [name for _, name in by_header] == ["alice", "alice", "floor"]
    newest, oldest = clients.read(root)["alice"]
    for pattern, key in zip((pattern for pattern, _ in by_header), (newest, oldest), strict=False):
        assert re.fullmatch(pattern.removeprefix("~"), f"1764576000.123 Bearer {key}")
        assert not re.fullmatch(pattern.removeprefix("~"), f"1764576000.123 Bearer {key.upper()}")


def test_an_old_key_may_end_by_itself(root: Path, me: str, make: Callable[[int], str]) -> None:
    (old,) = clients.named(["alice"], root, make, me)["alice"]
    assert clients.rotate("alice", root, make, me, until=1764576000)
    assert clients.read(root)["alice"][1] == f"{old}@1764576000"
    text = (root / PLACE / "clients.conf").read_text()
    patterns = [pattern for pattern in re.findall(r'"~(.*)" alice;', text) if old in pattern]
    assert len(patterns) == 2
    for pattern, sent in zip(patterns, (old, f"Bearer {old}"), strict=True):
        assert re.search(pattern, f"1764575999.999 {sent}")
        assert not re.search(pattern, f"1764576000.000 {sent}")
    assert clients.retire("alice", root, me)
    assert old not in (root / PLACE / "clients.conf").read_text()


def test_an_old_key_that_has_ended_makes_room_for_the_next(root: Path, me: str, make: Callable[[int], str]) -> None:
    clients.named(["alice"], root, make, me)
    clients.rotate("alice", root, make, me, until=1764576000)
    assert [len(clients.told(root, now)["alice"]) for now in (1764575999, 1764576000)] == [2, 1]
    first = clients.read(root)["alice"][0]
    assert clients.rotate("alice", root, make, me)  # it ended long ago
    assert clients.read(root)["alice"][1:] == [first]
    assert "1764576000" not in (root / PLACE / "clients.json").read_text()


def test_a_power_cut_between_the_two_files_leaves_what_was_asked_to_be_done_again(
    root: Path, me: str, make: Callable[[int], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (old,) = clients.named(["alice"], root, make, me)["alice"]
    clients.rotate("alice", root, make, me)

    def cut(path: Path, text: str | None, root: Path, owner: str) -> None:
        place(path, text, root, owner)
        raise KeyboardInterrupt

    monkeypatch.setattr(clients, "place", cut)
    with pytest.raises(KeyboardInterrupt):
        clients.retire("alice", root, me)
    monkeypatch.setattr(clients, "place", place)
    assert clients.retire("alice", root, me)
    assert old not in (root / PLACE / "clients.conf").read_text()


@given(st.integers(min_value=10**9, max_value=10**10 - 1), st.integers(min_value=10**9, max_value=10**10 - 1))
def test_a_pattern_for_earlier_times_is_one_for_no_others(moment: int, other: int) -> None:
    assert bool(re.fullmatch(clients.before(str(moment)), str(other))) is (other < moment)
    assert re.fullmatch(clients.before(str(moment)), str(moment - 1).rjust(10, "0"))
    assert not re.fullmatch(clients.before(str(moment)), str(moment))


def test_a_name_without_a_key_is_told_what_to_do(root: Path, me: str) -> None:
    told = "bob: no client of this name has a key here; add it to proxy.clients and run floor deploy"
    for change in (lambda: clients.rotate("bob", root, owner=me), lambda: clients.retire("bob", root, me)):
        with pytest.raises(UsageError) as caught:
            change()
        assert str(caught.value) == told


@pytest.mark.parametrize(
    "text",
    ["no json", "[]", "{}x", '{"alice": []}', '{"alice": ["short"]}', '{"alice": ["a\\"; evil {} aaaaaaaaaaaaaa"]}'],
)
def test_a_file_that_somebody_broke_is_named_and_not_shown(root: Path, text: str) -> None:
    (root / PLACE).mkdir(parents=True)
    (root / PLACE / "clients.json").write_text(text)
    with pytest.raises(FloorError) as caught:
        clients.read(root)
    assert str(caught.value) == "/etc/floor/secrets/clients.json: holds no client keys; remove it and deploy again"


def test_what_is_no_key_is_never_written(root: Path, me: str) -> None:
    with pytest.raises(UsageError, match="client alice: must have keys of 20 to 200 letters"):
        clients.put({"alice": ['x"; evil']}, root, me)
    assert not (root / "etc").exists()


def test_the_file_is_the_truth_and_what_nginx_reads_is_made_from_it(root: Path, me: str) -> None:
    clients.put({"b": ["b" * 30], "a": ["a" * 30]}, root, me)
    assert json.loads((root / PLACE / "clients.json").read_text()) == {"a": ["a" * 30], "b": ["b" * 30]}
