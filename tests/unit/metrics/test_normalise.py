"""Present names, and floor's own figures of engines of each kind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from floor.metrics.catalogue import FIGURES, GAUGES
from floor.metrics.exposition import Reader, UnreadableError
from floor.metrics.normalise import figures, ollama, present
from floor.metrics.values import Histogram, Kind

CASES = Path(__file__).parents[2] / "cases"


def of(dialect: str, text: bytes | str) -> dict[str, object]:
    page = present(Reader().read(text if isinstance(text, bytes) else text.encode()))
    return {
        name: value.count if isinstance(value, Histogram) else value for name, value in figures(dialect, page).items()
    }


def test_a_busy_vllm() -> None:
    assert of("vllm", (CASES / "vllm" / "metrics_busy.txt").read_bytes()) == {
        "requests_running": 4,
        "requests_waiting": 4,
        "kv_cache_usage_ratio": 0.012701514411333714,
        "kv_cache_tokens": 262144,
        "generated_tokens_total": 2971,
        "prompt_tokens_total": 36,
        "prompt_tokens_cached_total": 0,
        "requests_answered_total": 2,
        "steps_total": 969,
        "preemptions_total": 0,
        "time_to_first_token_seconds": 6,
        "inter_token_seconds": 2965,
        "request_seconds": 2,
        "queue_seconds": 2,
    }


def test_a_busy_llamacpp() -> None:
    """Its prompt tokens leave out those from the cache, vLLM's do not: under one name they mean the same."""
    assert of("llamacpp", (CASES / "llamacpp" / "metrics_busy.txt").read_bytes()) == {
        "requests_running": 2,
        "requests_waiting": 0,
        "generated_tokens_total": 24,
        "prompt_tokens_total": 108,
        "prompt_tokens_cached_total": 23,
        "steps_total": 90,
        "draft_tokens_total": 0,
        "draft_tokens_accepted_total": 0,
    }


@pytest.mark.parametrize(
    ("dialect", "text", "expected"),
    [
        ("vllm", "vllm:gpu_cache_usage_perc 0.4\n", {}),  # of no type: nothing is known of it
        (
            "vllm",
            "# TYPE vllm:gpu_cache_usage_perc gauge\nvllm:gpu_cache_usage_perc 0.4\n",
            {"kv_cache_usage_ratio": 0.4},
        ),
        (
            "vllm",
            (
                "# TYPE vllm:gpu_cache_usage_perc gauge\nvllm:gpu_cache_usage_perc 0.4\n"
                "# TYPE vllm:kv_cache_usage_perc gauge\nvllm:kv_cache_usage_perc 0.5\n"
            ),
            {"kv_cache_usage_ratio": 0.5},
        ),
        (
            "vllm",
            (
                '# TYPE vllm:kv_cache_usage_perc gauge\nvllm:kv_cache_usage_perc{engine="0"} 0.2\n'
                'vllm:kv_cache_usage_perc{engine="1"} 0.4\n'
            ),
            {"kv_cache_usage_ratio": pytest.approx(0.3)},
        ),
        (
            "vllm",
            (
                "# TYPE vllm:time_per_output_token_seconds histogram\n"
                'vllm:time_per_output_token_seconds_bucket{le="+Inf"} 3\nvllm:time_per_output_token_seconds_count 3\n'
            ),
            {"inter_token_seconds": 3},
        ),
        (
            "vllm",
            '# TYPE vllm:cache_config_info gauge\nvllm:cache_config_info{num_gpu_blocks="100",block_size="16"} 1\n',
            {"kv_cache_tokens": 1600},
        ),
        ("vllm", '# TYPE vllm:cache_config_info gauge\nvllm:cache_config_info{num_gpu_blocks="None"} 1\n', {}),
        ("llamacpp", "# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running 1\n", {}),
        ("vllm", "# TYPE vllm:generation_tokens_total counter\nvllm:generation_tokens_total NaN\na 1\n", {}),
    ],
)
def test_other_pages(dialect: str, text: str, expected: dict[str, float]) -> None:
    assert of(dialect, text) == expected


def test_what_was_renamed_is_shown_under_its_present_name_once() -> None:
    both = "# TYPE vllm:gpu_cache_usage_perc gauge\nvllm:gpu_cache_usage_perc 1\n"
    both += "# TYPE vllm:kv_cache_usage_perc gauge\nvllm:kv_cache_usage_perc 1\n"
    assert list(present(Reader().read(both.encode()))) == ["vllm:kv_cache_usage_perc"]


def test_a_longest_sequence_is_no_counter() -> None:
    page = present(Reader().read((CASES / "llamacpp" / "metrics_busy.txt").read_bytes()))
    assert page["llamacpp:n_tokens_max"].kind is Kind.GAUGE


def test_an_ollama() -> None:
    body = (CASES / "ollama" / "ps.json").read_bytes()
    loaded = {"loaded": 1.0, "resident_bytes": 5137025024.0, "resident_gpu_bytes": 5137025024.0}
    assert ollama(body, "mistral") == ollama(body, "mistral:latest") == loaded
    assert ollama(body, "other") == {"loaded": 0.0}
    assert ollama(b'{"models": []}', "mistral") == {"loaded": 0.0}


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"models": 3}', b'{"models": [{}]}', b"[" * 100_000])
def test_what_is_no_ollama(body: bytes) -> None:
    with pytest.raises(UnreadableError, match=r"no answer of Ollama's /api/ps"):
        ollama(body, "m")


def test_an_ollama_whose_names_are_no_texts() -> None:
    assert ollama(b'{"models": [{"name": 5}, {"name": ["m"]}, {"name": "m"}]}', "m")["loaded"] == 1.0


def test_an_ollama_with_a_size_that_no_number_holds() -> None:
    with pytest.raises(UnreadableError):
        ollama(b'{"models": [{"name": "m", "size": 1%s}]}' % (b"0" * 400), "m")
    body = b'{"models": [{"name": "m", "size": 1%s}, {"name": "n", "size": -1%s}]}' % (b"0" * 400, b"0" * 400)
    assert ollama(body, "m") == {"loaded": 1.0, "resident_bytes": 0.0, "resident_gpu_bytes": 0.0}


def test_an_ollama_with_odd_sizes() -> None:
    body = json.dumps({"models": [{"name": "m", "size": None, "size_vram": -1}]}).encode()
    assert ollama(body, "m") == {"loaded": 1.0, "resident_bytes": 0.0, "resident_gpu_bytes": 0.0}


def test_the_catalogue_is_whole() -> None:
    """Each gauge says how several become one; names end as Prometheus wants them to."""
    for figure in FIGURES:
        assert (figure.mode is not None) == (figure.kind is Kind.GAUGE), figure.name
        assert figure.name.endswith("_total") == (figure.kind is Kind.COUNTER), figure.name
        for dialect in ("vllm", "llamacpp"):
            source = figure.source(dialect)
            if source is not None and figure.kind is Kind.GAUGE:
                assert GAUGES[source.families[0]] is figure.mode
