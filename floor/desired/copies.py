"""A copy on a box: its unit, what its process is started with, and the settings that its warm-up reads."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from floor.box import paths
from floor.config.hosts import netloc
from floor.config.model import Health, ResolvedCopy, Runtime
from floor.desired import firewall
from floor.desired.nginx import DESCRIPTORS
from floor.desired.state import File, Kind, Launch, Unit
from floor.desired.times import GPU_SECONDS, RESTART_BURST, RESTART_SECONDS, Times, times
from floor.engines import docker, environment
from floor.engines.known import ENGINES
from floor.engines.serve import GENERATE, Serve
from floor.errors import ConfigError
from floor.render import template

GREP = "/usr/bin/grep"
# Where an engine's unit finds its key; Ollama has none.
SECRETS = {"vllm": paths.ENGINE_ENV, "llamacpp": paths.LLAMACPP_ENV, "ollama": None}
ADMIT = (str(paths.PYTHON), "-I", "-m", "floor.guard.admit")
# Short of memory, the kernel takes the process with the highest of these (-1000 to 1000, default 0) first.
OOM_SCORE = 500
# The one shell in a unit; no words of a config are in it. A start without the card would run on the CPU, green and 50
# times slower (llama.cpp#27923), so it fails. A program of the box waits where the box has a driver at all.
_NO_GPU = f"no GPU answered within {GPU_SECONDS} s; in a container that needs none, gpus: none in the runtime"
_ASK_GPU = f"timeout {GPU_SECONDS} sh -c 'until timeout 20 nvidia-smi -L 2>/dev/null; do sleep 2; done'"
_WAIT = f"{_ASK_GPU} || {{ timeout 20 nvidia-smi -L; echo '{_NO_GPU}'; exit 1; }} >&2"
GPU_WAIT = ("/bin/sh", "-c", _WAIT)
GPU_WAIT_NATIVE = ("/bin/sh", "-c", f"command -v nvidia-smi >/dev/null || exit 0; {_WAIT}")


@dataclass(frozen=True)
class _Made:
    """What depends on the runtime: the process, and the command lines around it."""

    launch: Launch
    before: tuple[tuple[str, ...], ...]
    tidy: tuple[list[str], ...] = ()
    stop: tuple[list[str], ...] = ()


def copy(
    resolved: ResolvedCopy, ip: str, modes: tuple[str, ...], health: Health, *, guarded: bool = True
) -> tuple[Unit, list[File]]:
    """Given a managed copy, the address that it listens on, the modes in which it runs, how copies are judged and
    whether the box has a guard, return its unit and its files. Raises ConfigError naming the copy where something of it
    cannot be written down."""
    runtime = resolved.runtime
    if runtime is None:
        raise ConfigError([f"{resolved.backend}: there is no runtime; write how the engine is started"])
    name = unit_name(resolved.model)
    drains = runtime.drains and ENGINES[resolved.engine].drains
    when = times(resolved.request_time, resolved.start_time, drains=drains)
    try:
        made = (
            _docker(resolved, runtime, ip, when) if runtime.kind == "docker" else _native(resolved, runtime, ip, when)
        )
        text = _unit(resolved, runtime, made, when, modes, guarded=guarded)
    except ValueError as error:
        raise ConfigError([f"{resolved.backend}: {error}"]) from error
    files = [File(str(paths.UNITS / name), text), File(settings_path(resolved.model), settings(resolved, ip, health))]
    return Unit(name, Kind.COPY, made.launch, resolved.backend, modes=modes), files


def condition(modes: Sequence[str]) -> list[str]:
    """Given the modes in which a unit is to run, return the command that succeeds in these."""
    words = [word for mode in modes for word in ("-e", mode)] if len(modes) > 1 else list(modes)
    return [GREP, "-qx", *words, str(paths.MODE)]


def unit_name(model: str) -> str:
    """Given a model's name, return that of the unit of its copy; a box holds one copy of a model at most."""
    return f"floor-copy-{model}.service"


def settings_path(model: str) -> str:
    """Given a model's name, return where the settings of its copy lie on a box."""
    return str(paths.ENGINES / f"{model}.json")


def settings(resolved: ResolvedCopy, ip: str, health: Health) -> str:
    """Given a copy, its address and how copies are judged, return what the warm-up and the agent are told of it."""
    found = {
        "backend": resolved.backend,
        "url": f"http://{netloc(ip, resolved.port)}",
        "model": resolved.model,
        "dialect": resolved.engine,
        "key_file": str(paths.ENGINE_KEY) if resolved.key else None,
        "start_time": resolved.start_time,
        "context": resolved.context,
        "stall": health.stall,
        "min_speed": health.min_speed,
    }
    if resolved.task != GENERATE:
        found["task"] = resolved.task
    if resolved.engine == "ollama":
        # It alone tells where its model lies, and falls back on the processor without a word (ollama#7669).
        runtime = resolved.runtime
        found["card"] = runtime is not None and (runtime.kind == "native" or runtime.gpus is not None)
    return json.dumps(found, indent=1, sort_keys=True) + "\n"


def _serve(resolved: ResolvedCopy, ip: str, when: Times) -> Serve:
    return Serve(
        source=resolved.source,
        name=resolved.model,
        host=ip,
        port=resolved.port,
        context=resolved.context,
        max_requests=resolved.max_requests,
        kv_cache=resolved.kv_cache,
        utilization=resolved.utilization,
        cache_memory=resolved.cache_memory,
        drain=when.drain or None,
        start=resolved.start_time,
        task=resolved.task,
        args=resolved.args,
    )


def _native(resolved: ResolvedCopy, runtime: Runtime, ip: str, when: Times) -> _Made:
    engine, serve = ENGINES[resolved.engine], _serve(resolved, ip, when)
    variables = engine.environment(serve, _cache(resolved.model))
    env = environment.native(runtime.command[0], variables, resolved.env)
    return _Made(Launch((*runtime.command, *engine.arguments(serve)), env), (GPU_WAIT_NATIVE,))


def _docker(resolved: ResolvedCopy, runtime: Runtime, ip: str, when: Times) -> _Made:
    name, cache = PurePosixPath(unit_name(resolved.model)).stem, _cache(resolved.model)
    engine, serve = ENGINES[resolved.engine], _serve(resolved, ip, when)
    container = docker.Container(
        name=name,
        image=runtime.image,
        words=engine.arguments(serve),
        entrypoint=runtime.entrypoint or engine.entrypoint,
        gpus=runtime.gpus,
        volumes=[f"{cache}:{cache}", *docker.mounts(engine.folder(resolved.source), runtime.volumes)],
        env={**engine.environment(serve, cache), **resolved.env},
        secrets=[engine.key] if engine.key else [],
        options=[f"--oom-score-adj={OOM_SCORE}", *runtime.options],
    )
    launch = Launch(tuple(docker.run(container)), image=runtime.image)
    before = (GPU_WAIT,) if runtime.gpus else ()
    return _Made(launch, before, tidy=(docker.remove(name),), stop=(docker.stop(name, when.docker_stop),))


def _unit(
    resolved: ResolvedCopy, runtime: Runtime, made: _Made, when: Times, modes: tuple[str, ...], *, guarded: bool
) -> str:
    in_docker = runtime.kind == "docker"
    name, settings_file = unit_name(resolved.model), settings_path(resolved.model)
    within = math.ceil(resolved.request_time)
    leave = [str(paths.PYTHON), "-I", "-m", "floor.agent.leave", name, settings_file, "--within", str(within)]
    return template(
        "systemd/copy.service.j2",
        backend=resolved.backend,
        how="in a container" if in_docker else "a program of this box",
        description=f"floor: {resolved.model}, the copy on {resolved.box}",
        docker=in_docker,
        times=when,
        burst=RESTART_BURST,
        restart=RESTART_SECONDS,
        firewall=firewall.UNIT,
        ensure=firewall.ENSURE,
        admit=[*ADMIT, unit_name(resolved.model)] if guarded else [],
        condition=condition(modes),
        before=made.before,
        tidy=made.tidy,
        launch=made.launch,
        warm=[str(paths.PYTHON), "-I", "-m", "floor.agent.warm", settings_file],
        stop=made.stop,
        leave=leave,
        leave_within=within,
        user=runtime.user,
        descriptors=DESCRIPTORS,
        oom=OOM_SCORE,
        cache=f"floor/{resolved.model}",
        secrets=SECRETS[resolved.engine],
        keys=paths.KEYS_ENV,
    )


def _cache(model: str) -> str:
    return str(paths.CACHE / model)
