"""Settings of the pools while copies change."""

from __future__ import annotations

import json
from typing import Any

from floor.plan.pools import between


def backend(name: str, port: int = 8000, **more: Any) -> dict[str, Any]:
    address = f"192.0.2.{len(name)}:{port}"
    return {"name": name, "url": f"http://{address}", "server": address, "dialect": "vllm", "key": True, **more}


def text(*backends: dict[str, Any], model: str = "flagship") -> str:
    return json.dumps({"pools": [{"model": model, "backends": list(backends)}]})


A, B, C = backend("flagship@a"), backend("flagship@bb"), backend("flagship@ccc")
MAC = backend("flagship@mac", key=False, server="unix:/run/floor/nginx/detour-1.sock")


def names(told: str) -> list[str]:
    return [one["name"] for pool in json.loads(told)["pools"] for one in pool["backends"]]


def test_as_wanted_where_nothing_moves() -> None:
    wanted = text(A, B)
    assert between(None, wanted, set(), set()).text == wanted
    assert between(text(A), wanted, set(), set()).text == wanted
    assert between(wanted, wanted, set(), {"flagship@a"}).lost == frozenset()


def test_a_broken_file_is_written_anew() -> None:
    for broken in ("{", "[]", '{"pools": []}'):
        assert between(broken, text(A), {"flagship@bb"}, set()).text == text(A)


def test_a_copy_that_is_yet_to_stop_is_kept_until_then() -> None:
    assert names(between(text(A, B), text(A, C), {"flagship@bb"}, set()).text) == [
        "flagship@a",
        "flagship@ccc",
        B["name"],
    ]
    assert between(text(A, B), text(A, C), set(), set()).lost == {"flagship@bb"}


def test_a_model_that_is_gone_keeps_those_that_are_yet_to_stop() -> None:
    old = json.dumps({"pools": [*json.loads(text(A))["pools"], *json.loads(text(C, MAC, model="small"))["pools"]]})
    found = between(old, text(A), {"flagship@ccc"}, set())
    assert names(found.text) == ["flagship@a", "flagship@ccc"]
    assert {"flagship@mac"} <= found.lost


def test_one_that_comes_up_elsewhere_is_asked_where_it_still_is() -> None:
    moved = backend("flagship@a", port=8005)
    found = between(text(A, B), text(moved, B), set(), {"flagship@a"})
    assert json.loads(found.text)["pools"][0]["backends"][0]["url"] == A["url"]
    assert found.lost == frozenset()
    assert between(text(A, B), text(moved, B), set(), set()).text == text(moved, B)


def test_another_weight_moves_nothing() -> None:
    heavier = text({**A, "weight": 2}, B)
    assert between(text(A, B), heavier, set(), {"flagship@a"}).text == heavier


def test_none_is_sent_headers_that_it_must_not_see() -> None:
    """The pool's headers now hold the engines' key: the external server leaves at once, and its absence is told."""
    direct = backend("flagship@mac", key=False)
    found = between(text(direct), text(A), {"flagship@mac"}, set())
    assert names(found.text) == ["flagship@a"]
    assert found.lost == {"flagship@mac"}
    assert names(between(text(A, MAC), text(A), {"flagship@mac"}, set()).text) == ["flagship@a"]


def test_one_that_cannot_be_asked_where_it_is_counts_as_lost() -> None:
    """Most members of the pool now go without the key, so this one is behind a detour, which knows its new place."""
    detoured = backend("flagship@a", port=8005, server="unix:/run/floor/nginx/detour-2.sock")
    keyless = [backend(f"flagship@mac{number}", key=False) for number in range(2)]
    found = between(text(A), text(detoured, *keyless), set(), {"flagship@a"})
    assert json.loads(found.text)["pools"][0]["backends"][0] == detoured
    assert found.lost == {"flagship@a"}
