"""What is read from the answers of real engines, and from nonsense."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from floor.errors import FloorError
from floor.healthcheck.dialects import find, openai

CASES = Path(__file__).parents[2] / "cases"


def body(path: str) -> bytes:
    """The body of a captured answer, with or without its HTTP head."""
    content = (CASES / path).read_bytes()
    if not content.startswith(b"HTTP/"):
        return content
    return content.replace(b"\r\n", b"\n").split(b"\n\n", 1)[1]


def test_an_unknown_dialect_names_the_known_ones() -> None:
    with pytest.raises(FloorError) as caught:
        find("tgi")
    assert str(caught.value) == "unknown dialect 'tgi'; known: llamacpp, ollama, vllm"


def test_model_lists_of_real_engines() -> None:
    """Names and aliases, each once."""
    assert openai.served(body("vllm/models.json")) == ("flagship",)
    assert openai.served(body("llamacpp/models.json")) == ("gemma-270m.gguf",)


def test_an_error_is_no_model_list() -> None:
    assert openai.served(body("llamacpp/models_while_loading.json")) is None
    assert openai.served(body("vllm/unauthorized.txt")) is None


def test_a_reasoning_answer_without_text_has_tokens() -> None:
    """The captured answer's content is empty and its usage says 8."""
    assert b'"content":""' in body("vllm/chat.txt")
    assert openai.tokens(body("vllm/chat.txt")) == 8
    assert openai.tokens(body("llamacpp/chat.txt")) == 12


def test_the_engines_own_words() -> None:
    """vLLM and llama.cpp nest them differently."""
    assert openai.error(body("vllm/unauthorized.txt")) == "Unauthorized"
    assert openai.error(body("vllm/wrong_model.txt")) == "The model `nope` does not exist. Valid aliases: flagship."
    assert openai.error(body("llamacpp/unauthorized_401.json")) == "Invalid API Key"


def test_loading_is_what_the_engine_calls_so() -> None:
    loading = find("vllm").loading
    assert loading(503, body("llamacpp/health_loading_503.json"))
    assert not loading(503, b"")
    assert not loading(200, b"Loading model")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"<html>",
        b"[]",
        b"null",
        b'{"data":null}',
        b'{"data":[1]}',
        b'{"data":[{"id":5}]}',
        b'{"data":[{"name":"x"}]}',
        b"\xff",
        b"[" * 100_000,
        b'{"data":' + b"9" * 5000 + b"}",
    ],
)
def test_no_model_list(content: bytes) -> None:
    assert openai.served(content) is None


@pytest.mark.parametrize("usage", ["null", "5", "{}", '{"completion_tokens":true}', '{"completion_tokens":"1"}'])
def test_no_count_of_tokens(usage: str) -> None:
    """A count that is no whole number from 0 up is none."""
    assert openai.tokens(b'{"usage":%s}' % usage.encode()) is None
    assert openai.tokens(b'{"usage":{"completion_tokens":-1}}') is None


def test_an_empty_list_is_a_list() -> None:
    assert openai.served(b'{"data":[]}') == ()


def test_one_token_is_asked_in_chat_first() -> None:
    """A model without a chat template refuses the first; nothing that only vLLM knows is in a request for one token."""
    first, second = openai.generations("flagship", 1)
    assert first == (
        "/v1/chat/completions",
        {
            "model": "flagship",
            "max_tokens": 1,
            "temperature": 0,
            "stream": False,
            "messages": [{"role": "user", "content": "Hi"}],
        },
    )
    assert second[0] == "/v1/completions"
    assert second[1]["prompt"] == "Hi"


def test_a_speed_is_measured_over_all_its_tokens() -> None:
    """The model may not stop at the first one."""
    assert all(request["ignore_eos"] is True for _, request in openai.generations("flagship", 16))


@given(st.binary(max_size=200))
@settings(deadline=None)
def test_no_bytes_raise(content: bytes) -> None:
    openai.served(content)
    openai.tokens(content)
    openai.error(content)


def test_the_counts_of_llamacpp() -> None:
    """Captured from its server with two requests under way; a field that its page lacks is unknown."""
    load = find("llamacpp").load(body("llamacpp/metrics_busy.txt"))
    assert load is not None
    assert (load.running, load.waiting, load.in_flight) == (2, 0, 2)
    assert (load.generated, load.prompted, load.steps) == (24, 85, 90)
    assert (load.usage, load.finished, load.started) == (None, None, None)


def test_llamacpp_without_metrics_tells_no_counts() -> None:
    """It answers 501 with words of its own where it was not started with --metrics."""
    refusal = b'{"error":{"message":"This server does not support metrics endpoint.","code":501}}'
    assert find("llamacpp").load(refusal) is None
    assert find("llamacpp").load(body("vllm/metrics_busy.txt")) is None


def test_llamacpp_says_that_it_loads() -> None:
    assert find("llamacpp").loading(503, body("llamacpp/health_loading_503.json"))
    assert not find("llamacpp").loading(200, body("llamacpp/health_200.json"))


def test_what_ollama_has_in_memory() -> None:
    load = find("ollama").load(body("ollama/ps.json"))
    assert load is not None
    assert load.resident == ("mistral", "mistral:latest")
    assert (load.on_card, load.running, load.in_flight, load.generated) == (1.0, None, None, None)
    assert not load.lacks("mistral")
    assert load.lacks("gemma")


@pytest.mark.parametrize(
    ("models", "share"), [("", None), ('{"name": "a", "size": 10, "size_vram": 4}', 0.4), ('{"name": "a"}', None)]
)
def test_how_much_of_it_is_on_a_card(models: str, share: float | None) -> None:
    load = find("ollama").load(f'{{"models": [{models}]}}'.encode())
    assert load is not None
    assert load.on_card == share


@pytest.mark.parametrize(
    "page", [b"", b"[]", b"{}", b'{"models": 3}', b'{"models": [3]}', b'{"models": [{}]}', b"\xff"]
)
def test_what_is_not_ollamas_list_is_none(page: bytes) -> None:
    assert find("ollama").load(page) is None


def test_ollamas_names_go_without_their_tag_too() -> None:
    listed = b'{"object": "list", "data": [{"id": "gemma:latest"}, {"id": "qwen3:8b"}]}'
    assert find("ollama").served(listed) == ("gemma", "qwen3:8b", "gemma:latest")


def test_embeddings_and_scores_are_counted() -> None:
    assert openai.embedded(b'{"data": [{"embedding": [0.1]}, {"embedding": "AAAA"}]}') == 2
    assert openai.embedded(b'{"data": [{"embedding": []}]}') == 0
    assert openai.embedded(b'{"results": [{"index": 0, "relevance_score": 0.5}]}') == 1
    assert openai.embedded(b'{"choices": []}') is None
