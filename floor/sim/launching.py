"""How a simulated engine is started in each dialect: words and variables, as the real one takes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Given:
    """`words` of the command line, and variables beside it."""

    words: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)


def launch(dialect: str, model: str, place: tuple[str, int], max_requests: int | None, context: int | None) -> Given:
    """Given a dialect, a served name, host and port, requests at once and context, return how it is started."""
    host, port = place
    if dialect == "llamacpp":
        whole = None if context is None else context * (max_requests or 1)
        flags = {"--model": f"/models/{model}.gguf", "--alias": model, "--host": host, "--port": port}
        return Given(("--metrics", "--jinja", *_words({**flags, "--ctx-size": whole, "--parallel": max_requests})))
    if dialect == "ollama":
        named = {"OLLAMA_HOST": f"[{host}]:{port}" if ":" in host else f"{host}:{port}"}
        named |= {} if max_requests is None else {"OLLAMA_NUM_PARALLEL": str(max_requests)}
        named |= {} if context is None else {"OLLAMA_CONTEXT_LENGTH": str(context)}
        return Given(("serve", f"--served-model-name={model}"), named)
    flags = {"--served-model-name": model, "--host": host, "--port": port, "--max-num-seqs": max_requests}
    return Given(("serve", f"/models/{model}", *_words({**flags, "--max-model-len": context})))


def _words(flags: Mapping[str, object]) -> list[str]:
    return [word for flag, value in flags.items() if value is not None for word in (flag, str(value))]
