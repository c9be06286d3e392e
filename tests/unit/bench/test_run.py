"""A run that is kept, gone on with, and ended when it makes no sense."""

from __future__ import annotations

import asyncio
import io
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from floor.bench import run
from floor.bench.draw import bars, svg
from floor.bench.knee import Advice, Shape
from floor.bench.level import Level
from floor.bench.traffic import built_in, read
from floor.cli.bench_table import compared, measured, said
from floor.config import parse
from floor.errors import FloorError, UsageError
from floor.operations import bench, bench_write

EACH = {"p50": 0.01, "p90": 0.02}
SETTING = {"url": "http://h:1", "model": "m", "seconds": 60.0}


def level(at: float, rate: float, errors: int = 0) -> Level:
    return Level(
        at, (rate,) * 4, 30.0, {"p50": 0.1, "p90": 0.2}, {"p50": 0.01, "p90": 0.02}, 100, errors, "503" * bool(errors)
    )


def swept(
    rates: dict[float, float], before: run.Run | None = None, errors: float | None = None
) -> tuple[list[float], str]:
    """Which levels were measured, and why it stopped."""
    asked: list[float] = []

    async def measure(at: float) -> Level:
        asked.append(at)
        return level(at, rates[at], 50 if at == errors else 0)

    found, why = asyncio.run(run.sweep(before or run.Run(dict(SETTING)), list(rates), measure, lambda _: None))
    assert [one.at for one in found.levels] == sorted(one.at for one in found.levels)
    return asked, why


def test_all_levels_fewest_first() -> None:
    assert swept({8: 100.0, 1: 30.0, 4: 80.0}) == ([1, 4, 8], "")


def test_it_stops_when_requests_fail() -> None:
    asked, why = swept({1: 30.0, 4: 80.0, 8: 90.0}, errors=4)
    assert (asked, why) == ([1, 4], "50% of the requests failed with 4 at once: 503")


def test_it_stops_when_it_has_fallen_far() -> None:
    asked, why = swept({1: 30.0, 4: 100.0, 8: 60.0, 16: 50.0, 32: 40.0})
    assert (asked, why) == ([1, 4, 8, 16], "it gives 50% of its best with 16 at once")


def test_it_goes_on_where_it_was_interrupted(tmp_path: Path) -> None:
    place = tmp_path / "b.json"
    run.save(place, run.Run(dict(SETTING), (level(1, 30.0), level(4, 80.0))))
    assert swept({1: 0.0, 4: 0.0, 8: 90.0}, run.former(place, dict(SETTING)))[0] == [8]


def test_what_failed_above_tells_nothing_of_fewer() -> None:
    before = run.Run(dict(SETTING), (level(1, 30.0), level(16, 80.0, 50)))
    asked, why = swept({1: 0.0, 4: 70.0, 8: 75.0, 24: 0.0}, before)
    assert (asked, why) == ([4, 8], "50% of the requests failed with 16 at once: 503")


def test_a_run_with_another_setting_is_not_mixed_in(tmp_path: Path) -> None:
    place = tmp_path / "b.json"
    for setting in (SETTING, {**SETTING, "url": "http://h:3"}, SETTING):  # nothing was measured: it is nobody's
        assert run.former(place, dict(setting)) == run.Run(dict(setting))
    with pytest.raises(FloorError, match="cannot be written"):
        run.former(tmp_path / "no" / "b.json", dict(SETTING))
    run.save(place, run.Run(dict(SETTING), (level(1, 30.0),)))
    with pytest.raises(UsageError, match=r"holds a run with other seconds, url; name another file with --out"):
        run.former(place, {**SETTING, "url": "http://h:2", "seconds": 5.0})


@pytest.mark.parametrize("text", ["", "[]", '{"version": 9}', '{"version": 1, "setting": {}, "levels": [{}]}'])
def test_a_file_that_is_no_run(tmp_path: Path, text: str) -> None:
    place = tmp_path / "b.json"
    with pytest.raises(UsageError, match="cannot be read"):
        run.load(place)
    place.write_text(text)
    with pytest.raises(UsageError, match=r"is of another version of floor|is no run of `floor bench`"):
        run.load(place)


LEVELS = (level(1, 30.0), level(8, 120.0, 3))
ADVICE = Advice(8, Shape.KNEE, 0.97, "120 tok/s with 8 at once")


def test_the_table() -> None:
    out = io.StringIO()
    measured(run.Run(dict(SETTING), LEVELS), ADVICE, "it gives 50%", Console(file=out, width=400))
    lines = [line.rstrip() for line in out.getvalue().splitlines()]
    assert lines[2].split() == [
        "8",
        "120.0",
        "0%",
        "30.0",
        "0.10",
        "/",
        "0.20",
        "s",
        "10.00",
        "/",
        "20.00",
        "ms",
        "3",
        "of",
        "100",
    ]
    assert lines[-2:] == ["stopped: it gives 50%", "8 at once (knee, 97% sure): 120 tok/s with 8 at once"]


def test_no_advice() -> None:
    assert said(Advice(None, Shape.FLAT, 1.0, "x")) == "no advice (no knee, 100% sure): x"
    assert said(Advice(None, None, 0.0, "x")) == "no advice (nothing usable, 0% sure): x"


def test_two_runs_side_by_side() -> None:
    out = io.StringIO()
    other = run.Run({**SETTING, "url": "http://h:2"}, (level(8, 60.0), level(16, 50.0)))
    compared("a", run.Run(dict(SETTING), LEVELS), "b", other, Console(file=out, width=400))
    lines = [line.split() for line in out.getvalue().splitlines()]
    assert lines[1][:4] == ["1", "30.0", "-", "-"]
    assert lines[2][:4] == ["8", "120.0", "60.0", "-50%"]
    assert lines[3][:4] == ["16", "-", "50.0", "-"]
    assert " ".join(lines[4]) == "the two differ in url: http://h:1 and http://h:2"


def test_pictures() -> None:
    assert bars(LEVELS, 8)[1].endswith("120.0 tok/s  <- advised")
    assert bars((), None) == []
    for levels in (LEVELS, ()):
        ET.fromstring(svg('m & "<x>"', levels, 8))  # noqa: S314 -- our own text


CONFIG_TEXT = """
boxes:
  a: {host: 192.0.2.1}
  b: {host: "fd00::2"}
models:
  m: {source: /m, utilization: 0.1, runtime: {kind: native, command: /x}, replicas: [a, b]}
  other: {source: /n, utilization: 0.1, port: 8001, listen: 8081, runtime: {kind: native, command: /x}, replicas: [a]}
proxy: {boxes: [b]}
"""
CONFIG = parse(CONFIG_TEXT)


def test_where_a_pool_is_asked() -> None:
    assert bench.target(CONFIG, "other") == ("other", "http://[fd00::2]:8081")
    with pytest.raises(UsageError, match="there are 2 models; name one of m, other"):
        bench.target(CONFIG, None)
    with pytest.raises(UsageError, match="x: there is no such model; there are m, other"):
        bench.target(CONFIG, "x")


PLAN = bench.Plan("http://h:1", "m", None, built_in("short"), "short", (1.0, 2.0), 60.0, caps=(12, 8))


def test_what_was_measured_under_another_cap_or_with_other_requests_is_another_run(tmp_path: Path) -> None:
    place, said = tmp_path / "b.json", list[str]()
    run.save(place, run.Run(dict(PLAN.setting), (level(1, 30.0), level(4, 80.0))))
    assert len(bench.former(PLAN, place, said.append).levels) == 2
    assert re.fullmatch(
        rf"{place} has 1, 4 from \d{{4}}-\d\d-\d\d \d\d:\d\d; to measure these anew, name another file with --out",
        said[0],
    )
    with pytest.raises(UsageError, match="holds a run with other max_requests; name another file"):
        bench.former(replace(PLAN, caps=(16, 8)), place, said.append)
    with pytest.raises(UsageError, match="holds a run with other content; name another file"):
        bench.former(replace(PLAN, requests=built_in("long")), place, said.append)
    assert bench.former(PLAN, tmp_path / "none.json", said.append).levels == ()
    assert len(said) == 1


def test_who_asks_and_is_busy_is_told() -> None:
    said: list[str] = []
    bench.slowed(level(1, 30.0), said.append)
    bench.slowed(replace(level(1, 30.0), busy=0.97), said.append)
    assert said == ["asking took 97% of a processor: more may be there than was measured; ask from a faster machine"]


def test_levels_of_an_open_loop_are_requests_a_second() -> None:
    levels = (level(1, 30.0), level(2, 60.0), level(4, 61.0))
    advice = bench.advise(levels, None, open_loop=True)
    assert advice.why == "60 tok/s with 2 a second, 100% more than with 1; more a second gives no more"
    out = io.StringIO()
    measured(run.Run({"loop": "open"}, levels), advice, "", Console(file=out, width=400))
    assert out.getvalue().splitlines()[0].startswith("a second")
    assert "at once" not in out.getvalue()


def test_how_much_there_is_to_measure() -> None:
    assert replace(PLAN, levels=(8.0, 1.0, 4.0, 1.0)).words(4) == "measuring 4 at once for 60 s, 2 of 3"
    assert replace(PLAN, open_loop=True).words(1) == "measuring 1 a second for 60 s, 1 of 2"


def test_requests_that_came_again_are_told() -> None:
    said: list[str] = []
    own = read('{"prompt": "a"}\n{"prompt": "b"}', "t.jsonl")
    found = run.Run({}, (level(1, 30.0),))
    bench.repeated(PLAN, found, said.append)
    bench.repeated(replace(PLAN, requests=own * 50), found, said.append)
    assert said == []
    bench.repeated(replace(PLAN, requests=own, traffic="t.jsonl"), found, said.append)
    assert said == ["t.jsonl holds 2 requests, of which 100 were sent: the cache knew those that came again"]


@pytest.mark.parametrize(
    "url",
    [
        "127.0.0.1:9",
        "",
        "http://",
        "http://[::1",
        "http://h:99999",
        "http://h:0",
        "ftp://h",
        "http://h?x",
        "http://h/#x",
    ],
)
def test_an_address_that_is_none(url: str) -> None:
    with pytest.raises(
        UsageError, match=re.escape(f"--url {url}: write http://HOST:PORT, or https://HOST, and nothing")
    ):
        bench.address(url)


def test_an_address_and_the_key_in_it() -> None:
    assert (
        bench.address("http://h:1/")
        == bench.address("http://h:1/v1")
        == bench.address("http://h:1/v1/")
        == "http://h:1"
    )
    with pytest.raises(UsageError) as caught:
        bench.address("http://me:secret@h")
    assert "secret" not in str(caught.value)


def test_a_model_that_makes_no_text() -> None:
    config = parse(CONFIG_TEXT.replace("m: {", "m: {task: embed, "))
    with pytest.raises(UsageError, match="m: has task embed; floor bench measures what generates text"):
        bench.target(config, "m")


def test_the_cap_of_a_copy_is_its_part_of_the_pool() -> None:
    where = ("models", "m", "max_requests")
    assert [bench_write.Home(where, 2).cap(at) for at in (0.5, 1, 16, 17)] == [1, 1, 8, 9]
    assert bench_write.Home(where, 1).cap(16) == 16


def test_the_advice_is_written_into_the_file(tmp_path: Path) -> None:
    place = tmp_path / "floor.yaml"
    place.write_text("models:\n  m:\n    max_requests: 12  # found by hand\n")
    where = ("models", "m", "max_requests")
    assert "+    max_requests: 8  # found by hand" in bench_write.write(place, where, 8)
    assert place.read_text() == "models:\n  m:\n    max_requests: 8  # found by hand\n"
    assert bench_write.write(place, where, 8) == ""


MIXED = parse("""
boxes:
  a: {host: 192.0.2.1, fabric: {interface: fab0, address: 198.51.100.1}}
  b: {host: 192.0.2.2, fabric: {interface: fab0, address: 198.51.100.2}}
models:
  m:
    source: /m
    utilization: 0.1
    max_requests: 8
    runtime: {kind: native, command: /x}
    replicas: [a, {box: b, max_requests: 4}]
    split: {boxes: [a, b], tensor_parallel: 2}
proxy: {boxes: [a]}
""")


def test_the_advice_for_a_copy_stands_where_its_cap_does() -> None:
    places = [bench_write.place(MIXED, one) for one in MIXED.copies("m")]
    assert places == [("models", "m", "max_requests"), ("models", "m", "replicas", 1, "max_requests")]
    assert bench_write.place(MIXED, MIXED.parts("m")[0]) == ("models", "m", "split", "max_requests")


def test_levels_that_the_engine_would_only_queue_are_said() -> None:
    said: list[str] = []
    bench.beyond(MIXED.copies("m"), (1, 12), said.append)
    assert said == []
    bench.beyond(MIXED.copies("m"), (1, 16), said.append)
    bench.beyond(MIXED.copies("m")[1:], (6,), said.append)
    assert [text[:30] for text in said] == ["more than 12 at once wait in t", "more than 4 at once wait in th"]
