"""The unit of an engine, of a whole copy or of one part of a group: its process, and the command lines around it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from floor.box import paths
from floor.config.model import ResolvedCopy, Runtime
from floor.desired import firewall
from floor.desired.nginx import DESCRIPTORS
from floor.desired.state import Launch
from floor.desired.times import GPU_SECONDS, RESTART_BURST, Times, times
from floor.engines import docker, environment
from floor.engines.known import ENGINES
from floor.engines.serve import Ranks, Serve
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
class Seat:
    """What an engine's unit is beside its engine.

    `settings` is the file of what its warm-up and its leave are told, `modes` those in which it starts, `restart` the
    seconds before systemd starts it again; `guarded`: a guard of its box is asked before it starts. For a part of a
    group: its `ranks`, more variables, devices that a container needs, and the command that holds its start. `warms`:
    its start ends when it has generated.
    """

    unit: str
    settings: str
    modes: tuple[str, ...]
    description: str
    template: str
    restart: int
    guarded: bool = True
    ranks: Ranks | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    devices: tuple[str, ...] = ()
    gate: tuple[str, ...] = ()
    warms: bool = True


@dataclass(frozen=True)
class _Made:
    """What depends on the runtime: the process, and the command lines around it."""

    launch: Launch
    before: tuple[tuple[str, ...], ...]
    tidy: tuple[list[str], ...] = ()
    stop: tuple[list[str], ...] = ()


def unit(resolved: ResolvedCopy, ip: str, seat: Seat) -> tuple[Launch, str]:
    """Given an engine, the address that it listens on and its seat, return its launch and the text of its unit file.

    Raises ConfigError naming it where something of it cannot be written down.
    """
    runtime = resolved.runtime
    if runtime is None:
        raise ConfigError([f"{resolved.backend}: there is no runtime; write how the engine is started"])
    drains = runtime.drains and ENGINES[resolved.engine].drains
    when = times(resolved.request_time, resolved.start_time, drains=drains)
    make = _docker if runtime.kind == "docker" else _native
    try:
        made = make(resolved, runtime, _serve(resolved, ip, when, seat.ranks), when, seat)
        return made.launch, _unit(resolved, runtime, made, when, seat)
    except ValueError as error:
        raise ConfigError([f"{resolved.backend}: {error}"]) from error


def condition(modes: Sequence[str]) -> list[str]:
    """Given the modes in which a unit is to run, return the command that succeeds in these."""
    words = [word for mode in modes for word in ("-e", mode)] if len(modes) > 1 else list(modes)
    return [GREP, "-qx", *words, str(paths.MODE)]


def _serve(resolved: ResolvedCopy, ip: str, when: Times, ranks: Ranks | None) -> Serve:
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
        ranks=ranks,
        args=resolved.args,
    )


def _native(resolved: ResolvedCopy, runtime: Runtime, serve: Serve, when: Times, seat: Seat) -> _Made:
    del when
    engine = ENGINES[resolved.engine]
    variables = {**engine.environment(serve, _cache(resolved.model)), **seat.env}
    env = environment.native(runtime.command[0], variables, resolved.env)
    return _Made(Launch((*runtime.command, *engine.arguments(serve)), env), (GPU_WAIT_NATIVE,))


def _docker(resolved: ResolvedCopy, runtime: Runtime, serve: Serve, when: Times, seat: Seat) -> _Made:
    name, cache = PurePosixPath(seat.unit).stem, _cache(resolved.model)
    engine = ENGINES[resolved.engine]
    container = docker.Container(
        name=name,
        image=runtime.image,
        words=engine.arguments(serve),
        entrypoint=runtime.entrypoint or engine.entrypoint,
        gpus=runtime.gpus,
        devices=seat.devices,
        volumes=[f"{cache}:{cache}", *docker.mounts(engine.folder(resolved.source), runtime.volumes)],
        env={**engine.environment(serve, cache), **seat.env, **resolved.env},
        secrets=[engine.key] if engine.key else [],
        options=[f"--oom-score-adj={OOM_SCORE}", *runtime.options],
    )
    launch = Launch(tuple(docker.run(container)), image=runtime.image)
    before = (GPU_WAIT,) if runtime.gpus else ()
    return _Made(launch, before, tidy=(docker.remove(name),), stop=(docker.stop(name, when.docker_stop),))


def _unit(resolved: ResolvedCopy, runtime: Runtime, made: _Made, when: Times, seat: Seat) -> str:
    in_docker = runtime.kind == "docker"
    within = math.ceil(resolved.request_time)
    leave = [str(paths.PYTHON), "-I", "-m", "floor.agent.leave", seat.unit, seat.settings, "--within", str(within)]
    return template(
        f"systemd/{seat.template}",
        backend=resolved.backend,
        how="in a container" if in_docker else "a program of this box",
        description=seat.description,
        docker=in_docker,
        times=when,
        burst=RESTART_BURST,
        restart=seat.restart,
        firewall=firewall.UNIT,
        ensure=firewall.ENSURE,
        condition=condition(seat.modes),
        admit=[*ADMIT, seat.unit] if seat.guarded else [],
        before=made.before,
        tidy=made.tidy,
        gate=seat.gate,
        launch=made.launch,
        warm=[str(paths.PYTHON), "-I", "-m", "floor.agent.warm", seat.settings],
        warms=seat.warms,
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
