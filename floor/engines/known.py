"""The engines that floor starts, a line each: how they are launched, asked for a key, and told to stop."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from floor.engines import environment, llamacpp, ollama, vllm
from floor.engines.serve import Serve


@dataclass(frozen=True)
class Engine:
    """One kind of engine.

    `entrypoint` is its program in its makers' image, `key` the variable that it takes the engine key from (None: it
    asks for none), `drains` whether it finishes what it has after a SIGTERM. `arguments` gives the words behind the
    program, `environment` its variables for a cache folder, `folder` what of the weights a container must see, `needs`
    what must lie on the box, given source and name.
    """

    title: str
    entrypoint: tuple[str, ...]
    key: str | None
    drains: bool
    arguments: Callable[[Serve], list[str]]
    environment: Callable[[Serve, str], Mapping[str, str]]
    folder: Callable[[str], str] = str
    needs: Callable[[str, str], Sequence[str]] = lambda source, name: (source,)  # noqa: ARG005


ENGINES: Mapping[str, Engine] = {
    "vllm": Engine(
        title="vLLM",
        entrypoint=("vllm",),
        key="VLLM_API_KEY",
        drains=True,
        arguments=vllm.arguments,
        environment=lambda _, folder: environment.vllm(folder),
    ),
    # Its handler of SIGTERM ends the loop that answers: what runs is cut (tools/server/server.cpp).
    "llamacpp": Engine(
        title="llama.cpp",
        entrypoint=("/app/llama-server",),
        key="LLAMA_API_KEY",
        drains=False,
        arguments=llamacpp.arguments,
        environment=lambda _, folder: llamacpp.environment(folder),
        # The other parts of a model in several files lie beside the first.
        folder=lambda source: str(PurePosixPath(source).parent),
    ),
    "ollama": Engine(
        title="Ollama",
        entrypoint=("ollama",),
        key=None,
        drains=False,
        arguments=ollama.arguments,
        environment=ollama.environment,
        needs=lambda source, name: (source, ollama.manifest(source, name)),
    ),
}
