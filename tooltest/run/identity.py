"""What is tested: whatever the endpoint tells of itself, and what the operator says."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import httpx

from floor.errors import EndpointError, UsageError

Told = dict[str, Any]
LATEST = ":latest"  # Ollama lists each model with its tag, and takes that one unsaid


async def identity(client: httpx.AsyncClient, model: str, stated: Mapping[str, str]) -> Told:
    """Return the served name, its context where it is told, the engine and its version, and what the operator stated.

    Raises EndpointError where there is no list of models, UsageError where it leaves open which model is meant.
    """
    listed = await _models(client)
    names = [str(one.get("id")) for one in listed]
    if not model and len(names) != 1:
        raise UsageError(f"{client.base_url}: serves {', '.join(names) or 'nothing'}; name one with --model")
    model = model or names[0]
    found = next((one for one in listed if model in _names(one.get("id"))), None)
    if found is None:
        raise UsageError(f"{client.base_url}: serves {', '.join(names) or 'nothing'}, not {model}; correct --model")
    told: Told = {"model": model, "context": _context(found)}
    told |= await _engine(client, told["model"])
    return told | {name: value for name, value in stated.items() if value}


def _names(name: object) -> tuple[str, str]:
    """Under which names a model that is listed so may be asked for."""
    return str(name), str(name).removesuffix(LATEST)


async def _models(client: httpx.AsyncClient) -> list[Mapping[str, Any]]:
    try:
        answer = await client.get("/v1/models")
    except httpx.TransportError as error:
        raise EndpointError(f"{client.base_url}: does not answer: {error or type(error).__name__}; is it up?") from None
    if answer.status_code in (401, 403):
        raise EndpointError(f"{client.base_url}: wants a key (HTTP {answer.status_code}); give it with --key-file")
    try:
        return [one for one in answer.json()["data"] if isinstance(one, dict)]
    except (ValueError, KeyError, TypeError):
        raise EndpointError(
            f"{client.base_url}: /v1/models answered HTTP {answer.status_code} without a list; is that an engine?"
        ) from None


def _context(model: Mapping[str, Any]) -> int | None:
    """Tokens of context: vLLM's `max_model_len`, llama.cpp's `meta.n_ctx`; None where it is not told."""
    meta = model.get("meta")
    found = model.get("max_model_len") or (meta.get("n_ctx") if isinstance(meta, Mapping) else None)
    return found if isinstance(found, int) else None


async def _engine(client: httpx.AsyncClient, model: str) -> Told:
    props = await _json(client, "/props")
    if "build_info" in props:
        template = str(props.get("chat_template", ""))
        digest = sha256(template.encode()).hexdigest()
        return {"engine": "llamacpp", "version": props["build_info"], "template_sha256": digest}
    ollama = await _json(client, "/api/version")
    if "version" in ollama:
        tags = (await _json(client, "/api/tags")).get("models", [])
        digests = [one.get("digest") for one in tags if {*_names(one.get("name"))} & {*_names(model)}]
        return {"engine": "ollama", "version": ollama["version"], "digest": digests[0] if digests else None}
    version = await _json(client, "/version")
    return {"engine": "vllm", "version": version["version"]} if "version" in version else {"engine": "unknown"}


async def _json(client: httpx.AsyncClient, path: str) -> dict[str, Any]:
    """What an optional page says; {} where there is none."""
    try:
        content = (await client.get(path)).json()
    except (httpx.TransportError, ValueError):
        return {}
    return content if isinstance(content, dict) and "error" not in content else {}
