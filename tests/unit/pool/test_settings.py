"""What floor-pool is told, and what is said of a file that is not right."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from floor.box.document import Document
from floor.errors import FloorError
from floor.pool.settings import load, netloc, read
from tests.unit.pool.documents import backend, pool_json, settings

WRONG = yaml.safe_load((Path(__file__).parents[2] / "cases/pool/settings/wrong.yaml").read_text())


def test_a_backend_is_read_whole() -> None:
    found = settings(backend("flagship@mac", "fd00::2", unit=None, status_url=None, min_speed=5, weight=3))
    (one,) = found.backends
    assert (one.name, one.address, one.port, one.server) == ("flagship@mac", "fd00::2", 8000, "[fd00::2]:8000")
    assert (one.unit, one.status_url, one.min_speed, one.weight) == (None, None, 5.0, 3)
    assert found.key_file == Path("/etc/floor/secrets/engine.key")


def test_a_backend_may_be_reached_through_a_socket_of_nginx() -> None:
    (one,) = settings(backend("flagship@mac", "192.0.2.20", server="unix:/run/floor/nginx/detour-1.sock")).backends
    assert one.server == "unix:/run/floor/nginx/detour-1.sock"


@pytest.mark.parametrize(("address", "expected"), [("192.0.2.1", "192.0.2.1:80"), ("fd00::2", "[fd00::2]:80")])
def test_ipv6_stands_in_brackets(address: str, expected: str) -> None:
    assert netloc(address, 80) == expected


@pytest.mark.parametrize("case", WRONG, ids=lambda case: f"{'.'.join(map(str, case['at']))}={case.get('to')!r}")
def test_what_is_wrong_is_said_with_its_place(case: dict[str, Any], tmp_path: Path) -> None:
    document = pool_json()
    place: Any = document
    for key in case["at"][:-1]:
        place = place[key]
    if "to" in case:
        place[case["at"][-1]] = case["to"]
    else:
        del place[case["at"][-1]]
    path = tmp_path / "pool.json"
    path.write_text(json.dumps(document))
    with pytest.raises(FloorError) as raised:
        load(path)
    assert case["says"] in str(raised.value)
    assert str(raised.value).startswith(str(path))


def test_a_missing_file_says_who_writes_it(tmp_path: Path) -> None:
    with pytest.raises(FloorError, match=r"pool\.json: cannot be read .* `floor deploy` writes it"):
        load(tmp_path / "pool.json")


@pytest.mark.parametrize("text", ["", "{", "[1]", "null", "\0", "[" * 100_000])
def test_no_json_is_said(text: str, tmp_path: Path) -> None:
    path = tmp_path / "pool.json"
    path.write_text(text)
    with pytest.raises(FloorError, match=r"pool\.json: (not JSON|the file: found)"):
        load(path)


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
)


@given(value=JSON, at=st.sampled_from([("interval",), ("pools",), ("pools", 0), ("pools", 0, "backends", 0)]))
def test_whatever_stands_there_is_read_or_refused_in_words(value: Any, at: tuple[Any, ...]) -> None:
    document = pool_json()
    place: Any = document
    for key in at[:-1]:
        place = place[key]
    place[at[-1]] = value
    said = "pool.json: "
    try:
        read(Document(document, "pool.json"), "pool.json")
    except FloorError as error:
        said = str(error)
    assert said.startswith("pool.json: ")
