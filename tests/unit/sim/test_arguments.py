"""vLLM's command line: what is understood, what is tolerated, what is refused and how."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from floor.errors import UsageError
from floor.sim import usage
from floor.sim.arguments import last, parse, split
from floor.sim.curve import PRESETS
from floor.sim.settings import Settings

CASES = yaml.safe_load((Path(__file__).parents[2] / "cases" / "sim" / "wrong_command_lines.yaml").read_text())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_wrong_command_line_says_where_and_what_to_write(case: dict[str, Any], tmp_path: Path) -> None:
    env = dict(case.get("env", {}))
    file = tmp_path / "sim.json"
    if "file" in case:
        file.write_text(case["file"])
        env["FLOOR_SIM_CONFIG"] = str(file)
    with pytest.raises(UsageError) as caught:
        parse(case["argv"], env)
    assert str(caught.value) == case["error"].replace("FILE", str(file))
    assert caught.value.exit_code == 2


# fmt: off
UNIT_LINE = [
    "serve", "/models/flagship-nvfp4", "--served-model-name", "flagship", "fast", "--host", "192.0.2.11",
    "--port", "8000", "--max-model-len", "262144", "--max-num-seqs", "12", "--kv-cache-dtype", "fp8",
    "--gpu-memory-utilization", "0.74", "--enable-auto-tool-choice", "--tool-call-parser", "hermes",
    "--trust-remote-code", "--tensor-parallel-size", "2", "-O3", "--no-enable-prefix-caching",
    "--limit-mm-per-prompt", '{"image":2}', "--allowed-origins", '["*"]', "--shutdown-timeout", "1800",
]
# fmt: on


def test_a_units_command_line_is_understood() -> None:
    speculative = ["--speculative-config", '{"method": "mtp", "num_speculative_tokens": 4}']
    settings = parse([*UNIT_LINE, *speculative], {"VLLM_API_KEY": "secret"})
    assert settings == Settings(
        model="/models/flagship-nvfp4",
        host="192.0.2.11",
        port=8000,
        served_names=("flagship", "fast"),
        max_model_len=262144,
        max_num_seqs=12,
        api_keys=("secret",),
        allowed_origins=("*",),
        gpu_memory_utilization=0.74,
        kv_cache_dtype="fp8",
        auto_tools=True,
        shutdown_timeout=1800,
    )


@pytest.mark.parametrize(
    "argv",
    [
        ["serve", "m"],
        ["m"],
        ["--model", "m"],
        ["serve", "--model=m"],
        ["serve", "--enable-prefix-caching", "m"],
        ["serve", "--port=8000", "m"],
        ["serve", "--enforce-eager", "--trust-remote-code", "m", "--port", "8000"],
    ],
    ids=" ".join,
)
def test_the_model_is_found_wherever_vllm_takes_it(argv: list[str]) -> None:
    settings = parse(argv, {})
    assert (settings.model, settings.served_names, settings.port) == ("m", ("m",), 8000)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("2048", 2048), ("32k", 32_000), ("32K", 32_768), ("1.5k", 1500), ("1M", 2**20), ("1m", 10**6), ("auto", 32_768)],
)
def test_context_in_vllms_spellings(text: str, tokens: int) -> None:
    assert parse(["m", "--max-model-len", text], {}).max_model_len == tokens


def test_underscores_are_dashes() -> None:
    assert parse(["m", "--max_num_seqs", "3"], {}).max_num_seqs == 3


def test_the_last_of_a_repeated_flag_counts() -> None:
    assert parse(["m", "--port", "1", "--port=2"], {}).port == 2


def test_a_flag_outdoes_the_environment_and_that_the_file(tmp_path: Path) -> None:
    file = tmp_path / "sim.json"
    file.write_text(json.dumps({"preset": "long", "seed": 1, "load-time": 5, "answer_tokens": "3"}))
    env = {"FLOOR_SIM_CONFIG": str(file), "FLOOR_SIM_SEED": "2", "FLOOR_SIM_LOAD_TIME": "6"}
    simulation = parse(["m", "--sim-load-time", "7"], env).simulation
    assert (simulation.preset, simulation.seed, simulation.load_time) == ("long", 2, 7)
    assert simulation.answer_tokens == (3, 3)


def test_a_key_on_the_command_line_outdoes_the_environments() -> None:
    assert parse(["m", "--api-key", "a", "b"], {"VLLM_API_KEY": "c"}).api_keys == ("a", "b")
    assert parse(["m"], {"VLLM_API_KEY": ""}).api_keys == ()


def test_faults_from_every_source_and_several_at_once(tmp_path: Path) -> None:
    file = tmp_path / "sim.json"
    file.write_text(json.dumps({"fault": [{"fault": "prefill", "seconds": 3, "block": False}, "hang"]}))
    from_file = parse(["m"], {"FLOOR_SIM_CONFIG": str(file)}).simulation.fault
    from_env = parse(["m"], {"FLOOR_SIM_FAULT": "prefill:seconds=3,block=no; hang"}).simulation.fault
    from_flags = parse(["m", "--sim-fault", "prefill:seconds=3,block=false", "--sim-fault=hang"], {}).simulation.fault
    assert from_file == from_env == from_flags
    assert [fault.kind for fault in from_flags] == ["prefill", "hang"]


def test_rates_carry_the_speed_factor_and_the_load_time_shrinks_by_it() -> None:
    settings = parse(["m", "--sim-speed-factor", "10", "--sim-load-time", "300", "--sim-preset", "long"], {})
    assert settings.limits.curve(8) == PRESETS["long"](8) * 10
    assert settings.limits.prefill_rate == 40_000
    assert settings.load_time == 30


@pytest.mark.parametrize(
    ("argv", "tokens"),
    [([], 262_144), (["--max-model-len", "300001"], 300_016), (["--sim-kv-tokens", "1001"], 992)],
)
def test_the_cache_is_whole_blocks_and_holds_one_context(argv: list[str], tokens: int) -> None:
    assert parse(["m", *argv], {}).kv_tokens == tokens


def test_admin_routes_is_a_bare_flag_or_has_a_value() -> None:
    assert parse(["--sim-admin-routes", "m"], {}).simulation.admin_routes
    assert not parse(["m", "--sim-admin-routes=false"], {}).simulation.admin_routes


def test_help_names_every_setting_and_fault() -> None:
    from floor.sim import faults, simflags

    text = usage.help_text()
    assert all(f"--sim-{name.replace('_', '-')}" in text for name in simflags._READERS)
    assert all(f"\n  {kind} " in text or f"\n  {kind}\n" in text for kind in faults.KINDS)


def test_a_rank_that_is_none_of_them_is_refused() -> None:
    with pytest.raises(UsageError, match="--node-rank: found 2; with --nnodes 2 write less than that"):
        parse(["m", "--nnodes", "2", "--node-rank", "2"], {})


names = st.from_regex(r"[a-z]{2,8}(-[a-z]{2,8}){0,3}", fullmatch=True).filter(
    lambda name: not name.startswith("sim") and name not in ("model", "port", "host", "headless", "nnodes")
)
values = st.text(min_size=1, max_size=20).filter(lambda text: not text.startswith("-"))
KNOWN = ("api-key", "served-model-name", "block-size", "kv-cache-dtype", "max-model-len", "max-num-seqs")


@given(st.lists(st.tuples(names, st.one_of(st.none(), values)), max_size=8))
def test_any_flag_of_vllm_is_tolerated(flags: list[tuple[str, str | None]]) -> None:
    """Unknown flags, with a value, with `=value` or bare, change nothing."""
    words = []
    for number, (name, value) in enumerate((n, v) for n, v in flags if n not in KNOWN and "shutdown" not in n):
        if value is None:
            words.append(f"--{name}")
        else:
            words += [f"--{name}={value}"] if number % 2 else [f"--{name}", value]
    settings = parse(["serve", "m", *words, "--port", "1234"], {})
    assert (settings.model, settings.port, settings.served_names) == ("m", 1234, ("m",))


@given(st.dictionaries(names, st.lists(values, min_size=1, max_size=3), max_size=6))
def test_what_goes_in_comes_out(flags: dict[str, list[str]]) -> None:
    """Every value of every flag is found again under its name, byte for byte."""
    from floor.sim import arguments

    taking = {n: v for n, v in flags.items() if not arguments._SWITCHES.match(n) or arguments._VALUED.match(n)}
    argv = ["serve", "m", *(word for name, found in taking.items() for word in (f"--{name}", *found))]
    assert split(argv) == (taking, ["m"])
    assert split(["m", *(f"--{name}={found[-1]}" for name, found in taking.items())])[0] == {
        name: [found[-1]] for name, found in taking.items()
    }


@given(values)
def test_a_json_or_odd_value_is_one_word(value: str) -> None:
    assert last(split(["m", "--hf-overrides", value])[0], "hf-overrides") == value
