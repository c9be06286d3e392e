"""The engines that are simulated, by the word of --sim-dialect."""

from __future__ import annotations

from collections.abc import Mapping

from floor.sim import llamacpp, ollama, routes
from floor.sim.exchange import Reply
from floor.sim.kind import Kind

VLLM = Kind(
    find=routes.find_for,
    # vLLM asks for its key on /v1 paths only, known or not.
    keyed=lambda path: path.startswith("/v1"),
    unauthorized=Reply.json({"error": "Unauthorized"}, 401, headers=()),
    unknown=Reply.json({"detail": "Not Found"}, 404),
    refused=lambda refusal: Reply.json({"error": refusal.error}, refusal.status),
)
KINDS: Mapping[str, Kind] = {"vllm": VLLM, "llamacpp": llamacpp.KIND, "ollama": ollama.KIND}
