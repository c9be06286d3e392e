"""The document that page and terminal show."""

from __future__ import annotations

from typing import Any

from floor.metrics.live import LATE, compose
from floor.metrics.told import Box, Told

UNIX, NOW = 1000.0, 50.0
BACKEND = {
    "member": True, "reason": "ok", "evidence": "generates", "running": 2, "waiting": 0, "since": 900.0,
    "drains": [], "unit": "active",
}  # fmt: skip


def box(at: float | None = NOW, why: str = "", **told: Any) -> Box:
    return Box(Told(**{"mode": "replicas", "units": {"floor-pool.service": "active"}, **told}), why, at)


def pool(**backends: dict[str, Any]) -> dict[str, Any]:
    found = {name.replace("_", "@"): {**BACKEND, **one} for name, one in backends.items()}
    return {"at": UNIX - 0.5, "pools": {"m": {"backends": found}}}


def made(
    boxes: dict[str, Box] | None = None, state: dict[str, Any] | None = None, **figures: dict[str, Any]
) -> dict[str, Any]:
    named = {name.replace("_", ":", 1).replace("_", "@"): one for name, one in figures.items()}
    state = pool(m_a={}, m_b={}) if state is None else state
    return compose(UNIX, NOW, "a", boxes or {"a": box(), "b": box()}, state, named, {"m@b": "connection refused"})


def test_all_is_well() -> None:
    found = made()
    assert found["warnings"] == []
    assert found["models"]["m"]["members"] == found["models"]["m"]["copies"] == 2
    assert found["models"]["m"]["away"] is None
    assert [one["copy"] for one in found["copies"]] == ["m@a", "m@b"]
    assert (found["asked"], found["pool_age"], found["at"]) == ("a", 0.5, UNIX)


def test_what_is_not_known_is_null_and_what_the_pool_knows_fills_it() -> None:
    found = made(copy_m_a={"generated_tokens_per_second": 3.5})
    one, other = found["copies"]
    assert one["generated_tokens_per_second"] == 3.5
    assert other["generated_tokens_per_second"] is None
    assert other["requests_running"] == 2.0  # the pool's own checks count it
    assert found["models"]["m"]["requests_running"] == 4.0
    assert found["models"]["m"]["kv_cache_usage_ratio"] is None
    assert (one["metrics"], other["metrics"]) == (None, "connection refused")


def test_one_copy_left_and_none() -> None:
    out = {"member": False, "reason": "refused"}
    assert made(state=pool(m_a={}, m_b=out))["warnings"] == ["m: only m@a is left"]
    assert made(state=pool(m_a=out, m_b=out))["warnings"] == ["m: nobody serves it"]


def test_a_switch_tells_how_long() -> None:
    away = box(away={"m": {"until": UNIX + 42, "mode": "split"}})
    out = {"member": False, "reason": "drained"}
    found = made({"a": box(), "b": away}, pool(m_a=out, m_b=out))
    assert found["models"]["m"]["away"] == {
        "until": UNIX + 42,
        "mode": "split",
        "what": "switch to split",
        "left": 42.0,
    }
    assert found["warnings"] == ["m: a switch to split keeps it away for some 42 s more"]


def test_so_does_a_swap() -> None:
    away = box(away={"m": {"until": UNIX + 42, "mode": "swap"}})
    found = made({"a": box(), "b": away}, pool(m_a={"member": False, "reason": "drained"}))
    assert found["warnings"] == ["m: a swap to another build keeps it away for some 42 s more"]


def test_an_announcement_of_a_box_that_is_silent_says_nothing() -> None:
    away = box(why="no connection", away={"m": {"until": UNIX + 42, "mode": "split"}})
    assert made({"a": box(), "b": away})["models"]["m"]["away"] is None


def test_another_proxy_that_has_not_got_it() -> None:
    boxes = {"a": box(pool={"m@a": True, "m@b": True}), "b": box(pool={"m@a": False, "m@b": True})}
    assert [one["out_of"] for one in made(boxes)["copies"]] == [["b"], []]
    lost = {**boxes, "b": box(why="no connection", pool={"m@a": False})}
    assert [one["out_of"] for one in made(lost)["copies"]] == [[], []]


def test_a_box_that_is_silent_for_long_enough() -> None:
    for age, up in ((0.0, True), (LATE, True), (LATE + 1, False)):
        found = made({"a": box(), "b": box(NOW - age, "no connection")})
        assert found["boxes"]["b"]["up"] is up
        assert found["warnings"] == ([] if up else ["b: no connection"])
    never = made({"a": box(), "b": Box()})
    assert never["warnings"] == ["b: not looked at yet"]


def test_what_does_not_run_and_what_is_kept_down() -> None:
    units = {
        "floor-pool.service": "failed", "floor-agent.service": "active", "floor-watchdog.service": "inactive",
        "floor.target": "inactive", "floor-copy-m.service": "activating", "floor-group-m.service": "inactive",
    }  # fmt: skip
    found = made({"a": box(units=units, holds={"floor-copy-m.service": "no memory"}, problems=("odd",))})
    assert found["boxes"]["a"]["services"] == {"active": 1, "down": ["floor-pool.service"]}
    assert found["boxes"]["a"]["engines"] == {"floor-copy-m.service": "activating", "floor-group-m.service": "inactive"}
    assert found["warnings"] == ["a: floor-copy-m: no memory", "a: odd", "a: does not run: floor-pool.service"]


def test_who_goes_past_the_proxy() -> None:
    found = made({"a": box(direct=(("192.0.2.7", 14), ("192.0.2.8", 1)))})
    assert found["warnings"] == ["a: connections to engines past the proxy: 192.0.2.7 (14), 192.0.2.8 (1)"]


def operation(state: str, *, live: bool) -> Box:
    return box(operation={"epoch": 3, "verb": "switch", "state": state, "live": live, "by": "ada@laptop"})


def test_an_operation_is_told_once_for_all_boxes() -> None:
    def said(state: str, *, live: bool) -> list[str]:
        return list(made({"a": operation(state, live=live), "b": operation(state, live=live)})["warnings"])

    assert said("live", live=True) == ["a, b: floor switch of ada@laptop is at work"]
    assert said("live", live=False) == ["a, b: floor switch of ada@laptop was abandoned"]
    assert said("failed", live=False) == ["a, b: floor switch of ada@laptop ended failed"]
    assert said("done", live=False) == []


def test_boxes_in_different_modes() -> None:
    found = made({"a": box(), "b": box(mode="split")})
    assert found["warnings"] == ["the boxes are in different modes (a: replicas, b: split)"]


def test_a_pool_that_says_nothing() -> None:
    assert compose(UNIX, NOW, "a", {}, None, {}, {})["warnings"] == [
        "floor-pool does not report: who serves is not known"
    ]
    old = {**pool(m_a={}), "at": UNIX - 30}
    assert made(state=old)["warnings"] == ["floor-pool has not reported for 30 s"]


def test_events_are_the_newest_of_all_boxes() -> None:
    boxes = {
        "a": box(events=((1.0, "pool", "first"), (3.0, "pool", "third"))),
        "b": box(events=((2.0, "guard", "second"),)),
    }
    assert [(one["box"], one["text"]) for one in made(boxes)["events"]] == [
        ("a", "third"), ("b", "second"), ("a", "first"),
    ]  # fmt: skip
    many = {"a": box(events=tuple((float(at), "pool", "x") for at in range(100)))}
    assert len(made(many)["events"]) == 30
