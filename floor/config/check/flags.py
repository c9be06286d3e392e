"""Engine arguments and environment: what floor sets itself, secrets, and values that no flag can have."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from floor.config import flags
from floor.config.model import Config
from floor.config.problem import KeyPath, Problem
from floor.config.proxy import IDLE_TIME

_SECRET_FLAG = re.compile(r"(^|-)(token|secret|password)$")
_SECRET_NAME = re.compile(r"(^|_)(TOKEN|KEY|SECRET|PASSWORD|PASSWD)$")
_SECRET_VALUE = re.compile(r"\b(hf_|sk-)[A-Za-z0-9_-]{16,}")
_KEEP_ALIVE = "VLLM_HTTP_TIMEOUT_KEEP_ALIVE"
_NO_SECRETS = "nothing here (floor.yaml is copied to every box, secrets do not belong in it)"


def check(config: Config) -> Iterator[Problem]:
    """Given a configuration, yield what is wrong with its args and env."""
    for name, model in config.models.items():
        path: KeyPath = ("models", name)
        yield from _args(model.args, model.engine, (*path, "args"), removes=False)
        yield from _env(model.env, model.engine, (*path, "env"))
        for index, copy in enumerate(model.replicas):
            engine = copy.engine or model.engine
            yield from _args(copy.args, engine, (*path, "replicas", index, "args"), removes=True)
            yield from _env(copy.env, engine, (*path, "replicas", index, "env"))
        if model.split:
            yield from _args(model.split.args, model.engine, (*path, "split", "args"), removes=True)
            yield from _env(model.split.env, model.engine, (*path, "split", "env"))


def _args(args: Mapping[str, Any], engine: str, path: KeyPath, *, removes: bool) -> Iterator[Problem]:
    for flag, value in args.items():
        where = (*path, flag)
        if instead := flags.taken(flag, engine):
            yield Problem(where, instead, f"the flag {flag}")
        elif _SECRET_FLAG.search(flag.lower()) or _secret(value):
            yield Problem(where, _NO_SECRETS, "a secret")
        elif value is None and not removes:
            yield Problem(where, "true for a flag without value, or leave it out")
        elif value in ([], {}) or (isinstance(value, list) and any(isinstance(item, list | None) for item in value)):
            yield Problem(where, "a value, several values or a mapping")


def _env(env: Mapping[str, str], engine: str, path: KeyPath) -> Iterator[Problem]:
    for name, value in env.items():
        where = (*path, name)
        if instead := flags.variable(name, engine):
            yield Problem(where, instead, name)
        elif name.startswith("FLOOR_"):
            yield Problem(where, "another name: those with FLOOR_ are floor's own", name)
        elif _SECRET_NAME.search(name.upper()) or _secret(value):
            yield Problem(where, _NO_SECRETS, "a secret")
        elif name == _KEEP_ALIVE and not _longer(value):
            found = f"{value}, not longer than the {IDLE_TIME:g} s after which the proxy lets an idle connection go"
            yield Problem(where, f'"{IDLE_TIME + 2:g}" or more', found)


def _longer(value: str) -> bool:
    return bool(re.fullmatch(r"[0-9]{1,9}", value, re.ASCII)) and float(value) > IDLE_TIME


def _secret(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_secret(item) for item in value.values())
    if isinstance(value, list):
        return any(_secret(item) for item in value)
    return isinstance(value, str) and _SECRET_VALUE.search(value) is not None
