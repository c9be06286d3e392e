"""Runtime: keys that belong to the other kind, images that move, options of docker that floor sets itself."""

from __future__ import annotations

import re
from collections.abc import Iterator

from floor.config.model import Config, Runtime
from floor.config.problem import KeyPath, Problem

ONLY = {"docker": ("image", "volumes", "gpus", "options", "entrypoint"), "native": ("command", "user")}
_OPTIONS = {
    "-v": "volumes", "--volume": "volumes", "--gpus": "gpus", "--entrypoint": "entrypoint",
    "-e": "env", "--env": "env", "--env-file": "env", "-p": "port", "--publish": "port", "-P": "port",
    "--stop-timeout": "request_time", "--name": "", "--network": "", "--net": "", "--restart": "", "--rm": "",
    "-d": "", "--detach": "", "-i": "", "-t": "", "-it": "", "--interactive": "", "--tty": "", "--pull": "",
    "--cidfile": "", "--stop-signal": "", "--sig-proxy": "", "--label": "", "-l": "", "--log-driver": "",
    "--log-opt": "", "--init": "",
}  # fmt: skip


def check(config: Config) -> Iterator[Problem]:
    """Given a configuration, yield what is wrong with its runtimes."""
    for name, model in config.models.items():
        path: KeyPath = ("models", name)
        if model.runtime:
            yield from _runtime(model.runtime, (*path, "runtime"))
        for index, copy in enumerate(model.replicas):
            if copy.runtime:
                yield from _runtime(copy.runtime, (*path, "replicas", index, "runtime"))
        if model.split and model.split.runtime:
            yield from _runtime(model.split.runtime, (*path, "split", "runtime"))


def _runtime(runtime: Runtime, path: KeyPath) -> Iterator[Problem]:
    other = "native" if runtime.kind == "docker" else "docker"
    for key in ONLY[other]:
        if key in runtime.model_fields_set:
            yield Problem((*path, key), f"kind: {other}, or leave {key} out", f"{key} beside kind: {runtime.kind}")
    if runtime.kind == "docker":
        yield from _image(runtime.image, (*path, "image"))
        yield from _options(runtime.options, (*path, "options"))
        yield from _volumes(runtime.volumes, (*path, "volumes"))
    else:
        yield from _command(runtime.command, (*path, "command"))


def _image(image: str, path: KeyPath) -> Iterator[Problem]:
    tag = re.search(r":([\w.-]+)$", image.partition("@")[0], re.ASCII)
    if not image:
        yield Problem(path, "the engine's image, such as registry.example/vllm:v0.11.0", "nothing")
    elif "@" not in image and (tag is None or tag[1] == "latest"):
        found = f"{image}, which is another image tomorrow"
        yield Problem(path, "its digest behind it (@sha256:…), or the tag of a release", found, warning=True)


def _options(options: list[str], path: KeyPath) -> Iterator[Problem]:
    if options and not options[0].startswith("-"):
        yield Problem((*path, 0), f"options with their dashes, such as --{options[0]}")
    for index, option in enumerate(options):
        name = option.partition("=")[0]
        if name in _OPTIONS:
            key = _OPTIONS[name]
            yield Problem((*path, index), f"{key} instead" if key else "nothing here (floor sets it itself)", name)


def _volumes(volumes: list[str], path: KeyPath) -> Iterator[Problem]:
    inside: dict[str, str] = {}
    for index, volume in enumerate(volumes):
        folder = volume.split(":")[1].rstrip("/") or "/"
        if folder in inside:
            yield Problem((*path, index), "another folder inside", f"{folder}, which {inside[folder]} has already")
        inside.setdefault(folder, volume)


def _command(command: list[str], path: KeyPath) -> Iterator[Problem]:
    if not command:
        yield Problem(path, "the engine's program, such as /opt/vllm/bin/vllm", "nothing")
    elif not command[0].startswith("/"):
        yield Problem(path, "the program with its whole path, such as /opt/vllm/bin/vllm")
    elif len(command) == 1 and " " in command[0]:
        yield Problem(path, f"a list of words, such as [{', '.join(command[0].split())}]")
    elif command[-1] == "serve":
        yield Problem(path, "the words before serve: floor adds it", "serve at its end")
