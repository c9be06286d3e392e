"""What `floor status --watch` draws."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from rich.console import Console

from floor.cli.watch_view import arriving, named, show, view
from floor.errors import BoxError
from floor.metrics.live import compose
from floor.metrics.told import Box, Told

UNIX = 1000.0
FIGURES = {
    "generated_tokens_per_second": 111.25, "requests_running": 6.0, "requests_waiting": 2.0,
    "kv_cache_usage_ratio": 0.41, "time_to_first_token_seconds": {"p50": 0.84, "p90": 3.0, "p99": 4.0},
    "inter_token_seconds": {"p50": 2.5, "p90": 3.0, "p99": 3.5},
}  # fmt: skip
BACKEND = {"member": True, "reason": "ok", "evidence": "generates", "drains": [], "unit": "active"}


def document(boxes: dict[str, Box] | None = None, **backends: dict[str, Any]) -> dict[str, Any]:
    found = {"m@a": dict(BACKEND), "m@b": {**BACKEND, "member": False, "evidence": "connection refused"}}
    found |= {name.replace("_", "@"): {**BACKEND, **one} for name, one in backends.items()}
    pool = {"at": UNIX, "pools": {"m": {"backends": found}}}
    told = Told(
        mode="replicas", total=2.0**37, available=2.0**36, units={"floor-pool.service": "active"},
        events=((990.0, "pool", "m@b is out"),) * 40,
    )  # fmt: skip
    return compose(UNIX, 0.0, "a", boxes or {"a": Box(told, "", 0.0)}, pool, {"copy:m@a": FIGURES}, {})


def drawn(found: dict[str, Any], width: int = 140, height: int = 40, lost: str = "") -> list[str]:
    console = Console(file=io.StringIO(), width=width, height=height, color_system=None)
    console.print(view(found, lost, height, width))
    return console.file.getvalue().splitlines()  # type: ignore[attr-defined, no-any-return]


def line(found: list[str], begin: str) -> str:
    return " ".join(next(one for one in found if one.startswith(begin)).split())


def test_copies_with_what_they_do() -> None:
    found = drawn(document())
    assert line(found, "copy") == "copy tok/s run wait cache first token each token pool why"
    assert line(found, "m@a") == "m@a 111.2 6 2 ████░░░░░░ 41% 840 ms 2.5 s in generates"
    assert line(found, "m@b") == "m@b - - - - - - out connection refused"
    assert line(found, "m ").endswith("1 of 2 serve")


def test_boxes_and_what_needs_a_look() -> None:
    found = drawn(document())
    assert line(found, "a ") == "a replicas █████░░░░░ 50% 64.0 of 128.0 GiB left 1 active"
    assert "! m: only m@a is left" in found[-20:] or line(found, "! m") == "! m: only m@a is left"
    assert any(one.endswith("a: pool: m@b is out") for one in found)


def test_a_switch_that_keeps_it_away() -> None:
    away = Told(mode="replicas", away={"m": {"until": UNIX + 90, "mode": "split"}})
    found = drawn(document({"a": Box(away, "", 0.0)}, m_a={"member": False}))
    assert line(found, "m ").endswith("away: switch to split, back in about 90 s")


def test_who_drains_it_and_who_lacks_it() -> None:
    pools = {"a": Box(Told(pool={"m@a": True}), "", 0.0), "b": Box(Told(pool={"m@a": False}), "", 0.0)}
    found = drawn(document(pools, m_a={"drains": ["ada@laptop"]}))
    assert line(found, "m@a").endswith("not in b drained by ada@laptop")


def test_a_box_that_is_silent() -> None:
    assert line(drawn(document({"a": Box(Told(), "no connection", None)})), "a ") == "a silent no connection"


@pytest.mark.parametrize(("width", "height"), [(140, 40), (120, 24), (80, 24), (60, 15)])
def test_it_fits_the_terminal(width: int, height: int) -> None:
    found = drawn(document(), width, height)
    assert len(found) < height
    assert max(map(len, found)) <= width
    assert line(found, "m@a").startswith("m@a 111.2 6 2")


@pytest.mark.parametrize(
    ("name", "most", "shown"),
    [
        ("m@a", 20, "m@a"),
        ("qwen3-coder-480b@spark-a", 20, "qwen3-coder…@spark-a"),
        ("qwen3-coder-480b@spark-a", 24, "qwen3-coder-480b@spark-a"),
        ("qwen3-coder-480b-instruct", 16, "qwen3-coder-480…"),
        ("m@a-box-with-a-long-name", 16, "m@a-box-with-a-…"),
    ],
)
def test_a_long_name_keeps_what_tells_it_from_others(name: str, most: int, shown: str) -> None:
    assert named(name, most) == shown
    assert len(named(name, most)) <= most


def test_on_a_narrow_terminal_copies_can_be_told_apart_and_figures_are_whole() -> None:
    found = drawn(
        document(**{"qwen3-coder-480b-a35b-instruct_spark-a": {}, "qwen3-coder-480b-a35b-instruct_spark-b": {}}), 80, 24
    )
    assert [one.split()[0] for one in found if one.startswith("qwen3")] == [
        "qwen3-coder…@spark-a",
        "qwen3-coder…@spark-b",
    ]
    assert line(found, "m@a").startswith("m@a 111.2 6 2 41% 840 ms in")


def test_what_needs_a_look_is_seen_however_many_copies_there_are() -> None:
    """Below the tables it would be cut off by the end of the screen."""
    many = document(None, **{f"m_c{number}": {} for number in range(30)})
    many["warnings"] = ["first", "second", "third", "fourth"]
    found = drawn(many, height=24)
    assert [one for one in found[:8] if one.startswith("!")] == ["! first", "! second", "! third"]
    assert line(found[:8], "m ").startswith("m ")
    roomy = drawn(many, height=60)
    assert roomy[2].startswith("model")
    assert len([one for one in roomy if one.startswith("!")]) == 4


def test_what_is_old_is_said_to_be() -> None:
    assert "what is below is old: boxa: lost" in drawn(document(), lost="boxa: lost")[0]
    assert drawn({}, lost="boxa: lost") == ["nothing is known yet: boxa: lost"]


def test_a_silence_is_told_and_ends() -> None:
    told = threading.Event()

    def slow() -> Iterator[dict[str, Any]]:
        yield {"at": 1}
        assert told.wait(20)
        yield {"at": 2}

    found = []
    for document in arriving(slow(), 0.05):
        found.append(document)
        if "lost" in document:
            told.set()
    assert found[0] == {"at": 1}
    assert found[-1] == {"at": 2}
    assert {"lost": "no word for 0 s"} in found


def test_what_goes_wrong_is_raised_where_it_is_read() -> None:
    def wrong() -> Iterator[dict[str, Any]]:
        yield {"at": 1}
        raise ValueError("x")

    documents = arriving(wrong(), 5.0)
    assert next(documents) == {"at": 1}
    with pytest.raises(ValueError, match="x"):
        next(documents)


def test_it_draws_on_the_other_screen_and_gives_the_first_one_back() -> None:
    console = Console(file=io.StringIO(), width=120, height=30, force_terminal=True, _environ={})
    show([document(), {"lost": "boxa: lost"}], console)
    told = console.file.getvalue()  # type: ignore[attr-defined]
    other, back = "\x1b[?1049h", "\x1b[?1049l"
    assert told.index(other) < told.index("m@a") < told.index("what is below is old: boxa: lost") < told.index(back)
    assert told.rindex("m@a") > told.index("boxa: lost")  # what was known is still shown


def test_nobody_who_tells_anything_is_an_error_after_the_screen_is_given_back() -> None:
    def wrong() -> Iterator[dict[str, Any]]:
        raise BoxError("no proxy box answers")
        yield {}

    console = Console(file=io.StringIO(), width=120, height=30, force_terminal=True, _environ={})
    with pytest.raises(BoxError, match="no proxy box answers"):
        show(wrong(), console)
    assert console.file.getvalue().rstrip().endswith(("\x1b[?1049l", "\x1b[?25h"))  # type: ignore[attr-defined]
