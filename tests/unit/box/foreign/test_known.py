"""Engines are known by their command lines, and secrets in them never leave the box."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

from floor.box import foreign
from floor.box.foreign import hidden, known


@pytest.mark.parametrize(
    ("line", "engine", "first"),
    [
        ("vllm serve /m --port 1", "vllm", "/m"),
        ("/usr/bin/python3 /usr/local/bin/vllm serve /m", "vllm", "/m"),
        ("python3 -m vllm.entrypoints.openai.api_server --model /m", "vllm", "--model"),
        ("/opt/floor/current/bin/python -I -m floor.sim serve flagship", "vllm", "flagship"),
        ("python -m floor.sim --sim-dialect llamacpp --sim-seed=1 --model m", "llamacpp", "--model"),
        ("python -m floor.sim --sim-dialect=ollama serve --x", "ollama", "--x"),
        ("python -m floor.sim check serve m", None, ""),
        ("/opt/llama.cpp/bin/llama-server -m x.gguf", "llamacpp", "-m"),
        ("/usr/local/bin/ollama serve --x", "ollama", "--x"),
        ("bash -c vllm serve /m", None, ""),
        ("docker run vllm serve /m", None, ""),
        ("vllm bench serve", None, ""),
        ("ollama runner --port 3", None, ""),
        ("vim /etc/vllm serve", None, ""),
    ],
)
def test_an_engine_is_known_by_its_command_line(line: str, engine: str | None, first: str) -> None:
    found = known.engine(line.split())
    assert (found[0] if found else None) == engine
    if found:
        assert line.split()[found[1]] == first


def test_values_of_secrets_are_left_out_of_command_lines() -> None:
    line = "vllm serve /m --api-key a b --hf-token=c --max-model-len 5 --ssl-key-file /k --x https://me:pw@host/"
    shown, names = hidden.argv(line.split())
    assert names == ["--api-key", "--hf-token", "--x"]
    assert " ".join(shown) == (
        "vllm serve /m --api-key (left out) (left out) --hf-token=(left out) --max-model-len 5 "
        "--ssl-key-file /k --x https://(left out)@host/"
    )


@pytest.mark.parametrize("flag", ["--max-num-batched-tokens", "--n-predict-tokens", "--num-speculative-tokens"])
def test_a_count_of_tokens_is_no_secret(flag: str) -> None:
    for words in (["vllm", "serve", "/m", flag, "8192"], ["vllm", "serve", "/m", f"{flag}=8192"]):
        assert hidden.argv(words) == (words, [])


@pytest.mark.parametrize(
    "name", ["PGPASSWORD", "OPENAI_APIKEY", "SMTP_PASS", "API_TOKENS", "VLLM_API_KEYS", "X-SECRETS"]
)
def test_what_opens_something_is_known_by_its_name(name: str) -> None:
    assert hidden.secret(name)


def test_a_secret_within_a_word_is_told_by_its_flag() -> None:
    token = f"hf_{'x' * 20}"
    assert hidden.argv(["llama-server", "-hft", token]) == (["llama-server", "-hft", hidden.MARK], ["-hft"])


def test_values_of_secrets_are_left_out_of_environments() -> None:
    given = {
        "HF_TOKEN": "x",
        "VLLM_API_KEY": "y",
        "HF_HOME": "/h",
        "VLLM_X": "hf_0123456789abcdef0123",
        "TOKENIZERS": "1",
    }
    assert hidden.environment(given) == ({"HF_HOME": "/h", "TOKENIZERS": "1"}, ["HF_TOKEN", "VLLM_API_KEY", "VLLM_X"])


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (
            "curl -H 'Authorization: Bearer abc' localhost:8000",
            "curl -H 'Authorization: Bearer (left out) localhost:8000",
        ),
        ("export VLLM_API_KEY=abc; vllm serve", "export VLLM_API_KEY=(left out) vllm serve"),
        ("vllm serve --api-key abc", "vllm serve --api-key (left out)"),
        ("docker restart vllm-main", "docker restart vllm-main"),
    ],
)
def test_lines_of_scripts_are_shown_without_keys(line: str, shown: str) -> None:
    assert hidden.text(line) == shown


def test_a_line_of_others_does_nothing_to_a_terminal() -> None:
    assert hidden.shown("\tdocker\trestart vllm\x1b]0;x\x07\udce9\n") == "docker restart vllm?]0;x??"


def test_it_needs_nothing_but_the_standard_library_and_what_goes_with_it() -> None:
    """It runs on machines that floor is not on."""
    for place in Path(str(foreign.__file__)).parent.glob("*.py"):
        tree = ast.parse(place.read_text())
        names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        names |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert {name.split(".")[0] for name in names} <= {*sys.stdlib_module_names, "floor"}
        assert all(name.startswith(("floor.box", "floor.errors")) for name in names if name.startswith("floor"))
