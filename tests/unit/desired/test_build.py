from __future__ import annotations

import time
from pathlib import PurePosixPath

import pytest

from floor.config import Config, parse
from floor.desired.build import build
from floor.desired.state import BoxFacts, BoxState, Kind
from floor.errors import ConfigError, UsageError
from tests.unit.desired.example import FABRIC, make

ETC, UNITS = "/etc/floor/", "/etc/systemd/system/"
WATCHED = [Kind.GUARD, Kind.ROUND, Kind.TIMER]


def _kinds(state: BoxState) -> list[Kind]:
    return sorted(unit.kind for unit in state.units)


def test_a_box_gets_what_it_does(states: dict[str, BoxState]) -> None:
    """The first is proxy and engine box, the second an engine box with two copies, the Mac is never changed."""
    assert list(states) == ["spark-a", "spark-b"]
    assert _kinds(states["spark-a"]) == sorted(
        [*WATCHED, Kind.COPY, Kind.FIREWALL, Kind.POOL, Kind.PROXY, Kind.STATUS, Kind.TARGET]
    )
    assert _kinds(states["spark-b"]) == sorted(
        [*WATCHED, Kind.COPY, Kind.COPY, Kind.FIREWALL, Kind.STATUS, Kind.TARGET]
    )
    assert [unit.backend for unit in states["spark-b"].units if unit.backend] == [
        "flagship@spark-b",
        "small.embed@spark-b",
    ]


def test_the_files_of_an_engine_box(states: dict[str, BoxState]) -> None:
    assert [file.path for file in states["spark-b"].files] == [
        ETC + "agent.json",
        ETC + "engines/flagship.json",
        ETC + "engines/small.embed.json",
        ETC + "firewall.nft",
        ETC + "guard.json",
        ETC + "leave.json",
        ETC + "mode",
        ETC + "watchdog.json",
        "/etc/needrestart/conf.d/floor.conf",
        UNITS + "floor-agent.service",
        UNITS + "floor-copy-flagship.service",
        UNITS + "floor-copy-small.embed.service",
        UNITS + "floor-firewall.service",
        UNITS + "floor-guard.service",
        UNITS + "floor-watchdog.service",
        UNITS + "floor-watchdog.timer",
        UNITS + "floor.target",
    ]


def test_a_proxy_box_has_nginx_and_the_pool_beside_it(states: dict[str, BoxState]) -> None:
    extra = {file.path for file in states["spark-a"].files} - {file.path for file in states["spark-b"].files}
    assert {ETC + "pool.json", UNITS + "floor-pool.service", UNITS + "floor-proxy.service"} < extra
    assert ETC + "nginx/servers/small.embed.conf" in extra


def test_a_proxy_box_without_engines_has_no_mode() -> None:
    states = make(
        ("  mac:", "  edge: {host: 192.0.2.30}\n  mac:"),
        ("boxes: [spark-a],", "boxes: [edge],"),
        addresses={"edge": "192.0.2.30", "spark-a": "192.0.2.11", "spark-b": "192.0.2.12", "mac": "192.0.2.20"},
    )
    assert _kinds(states["edge"]) == [Kind.FIREWALL, Kind.POOL, Kind.PROXY, Kind.STATUS]
    assert states["edge"].file(ETC + "mode") is None


def test_a_box_that_does_nothing_gets_nothing() -> None:
    state = make(("  mac:", "  idle: {host: 192.0.2.40}\n  mac:"))["idle"]
    assert (state.files, state.units) == ((), ())


def test_files_are_plain_and_named_once(states: dict[str, BoxState]) -> None:
    for state in states.values():
        names = [file.path for file in state.files]
        assert names == sorted(set(names))
        assert all(PurePosixPath(name).is_absolute() and str(PurePosixPath(name)) == name for name in names)
        assert {(file.mode, file.owner) for file in state.files} == {(0o644, "root:root")}
        assert all(file.text.endswith("\n") and "\r" not in file.text for file in state.files)


def test_the_mode_is_one_word(states: dict[str, BoxState]) -> None:
    assert states["spark-b"].file(ETC + "mode").text == "replicas\n"  # type: ignore[union-attr]


def test_no_file_holds_a_key(states: dict[str, BoxState]) -> None:
    for state in states.values():
        assert not [file.path for file in state.files if file.path.startswith("/etc/floor/secrets")]
        assert not [file.path for file in state.files if "VLLM_API_KEY=" in file.text]


def test_the_same_file_gives_the_same_bytes() -> None:
    assert make() == make()


def test_boxes_nobody_knows_of_are_still_told_what_to_hold(config: Config) -> None:
    states = build(config, "replicas", {}, "r")
    assert list(states) == ["spark-a", "spark-b"]
    launch = next(unit.launch for unit in states["spark-b"].units if unit.backend == "small.embed@spark-b")
    assert launch.argv[launch.argv.index("--host") + 1] == "spark-b.example"


def test_another_mode_is_a_usage_error(config: Config) -> None:
    with pytest.raises(UsageError, match=r"^mode 'both': there is no such mode; write one of replicas, split$"):
        build(config, "both", {}, "r")


def test_without_a_split_the_modes_differ_by_one_word(config: Config) -> None:
    """A box whose last split was taken out of the file may still be in mode split: its copies run there as well."""
    replicas, split = (build(config, mode, {}, "r")["spark-b"] for mode in ("replicas", "split"))
    differing = [one.path for one, other in zip(replicas.files, split.files, strict=True) if one != other]
    units = [UNITS + f"floor-copy-{model}.service" for model in ("flagship", "small.embed")]
    assert differing == [ETC + "mode", *units]
    assert [unit.launch.digest for unit in replicas.units] == [unit.launch.digest for unit in split.units]
    assert "ExecCondition=/usr/bin/grep -qx -e replicas -e split /etc/floor/mode" in split.file(units[0]).text  # type: ignore[union-attr]


def test_what_a_switch_touches_runs_in_one_mode_and_all_else_in_both() -> None:
    box = make(
        (
            "replicas: [spark-a, {",
            "split: {boxes: [spark-a, spark-b], tensor_parallel: 2, utilization: 0.5}\n    replicas: [spark-a, {",
        ),
        *FABRIC,
    )["spark-b"]
    modes = {unit.backend: unit.modes for unit in box.units if unit.kind is Kind.COPY}
    assert modes == {"flagship@spark-b": ("replicas",), "small.embed@spark-b": ("replicas", "split")}
    assert (
        "ExecCondition=/usr/bin/grep -qx replicas /etc/floor/mode"
        in box.file(UNITS + "floor-copy-flagship.service").text
    )  # type: ignore[union-attr]
    assert all(
        unit.runs("replicas") and unit.runs("split") for unit in box.units if unit.kind not in (Kind.COPY, Kind.GROUP)
    )


def test_a_value_that_no_unit_can_hold_names_its_copy() -> None:
    with pytest.raises(ConfigError, match=r"flagship@spark-a: a unit file has no place for the end of a line"):
        make(('NCCL_DEBUG: "a b"', 'NCCL_DEBUG: "a\\nb"'))


def fleet(count: int) -> tuple[dict[str, BoxState], float]:
    """Eight models on each of so many boxes, built: what comes out, and the seconds of the processor."""
    boxes = "\n".join(f"  b{n}: {{host: 10.0.0.{n + 1}}}" for n in range(count))
    models = "\n".join(
        f"""  m{m}:
    source: /models/m{m}
    port: {9000 + m}
    listen: {8000 + m}
    utilization: 0.1
    runtime: {{kind: docker, image: "e/v:1"}}
    replicas: [{", ".join(f"b{n}" for n in range(count))}]"""
        for m in range(8)
    )
    config = parse(f"boxes:\n{boxes}\nmodels:\n{models}\nproxy: {{boxes: [b0, b1, b2, b3]}}\n")
    facts = {f"b{n}": BoxFacts(f"10.0.0.{n + 1}", True) for n in range(count)}
    build(config, "replicas", facts, "r")
    began = time.process_time()
    return build(config, "replicas", facts, "r"), time.process_time() - began


def test_a_fleet_takes_as_much_longer_as_it_has_more_boxes() -> None:
    """benchmarks/plan.py says how long; a step for each pair of boxes would take 16 times as long here."""
    small = min(fleet(16)[1] for _ in range(3))
    states, large = fleet(64)
    assert large < 8 * small
    assert sum(len(state.units) for state in states.values()) == 64 * 14 + 4 * 2
