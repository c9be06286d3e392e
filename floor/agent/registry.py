"""Every call by its name. A call's file is imported when it is asked for: starting up is most of what a call costs."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, cast

from floor.agent.call import Call
from floor.errors import UsageError

CALLS = {
    "bench": ("level",),
    "box": ("reboot", "back"),
    "calibrate": ("look", "measure", "keep"),
    "clients": ("ensure", "read", "put", "rotate", "retire"),
    "config": ("put",),
    "connections": ("look",),
    "drain": ("add", "remove"),
    "engine": ("check", "idle"),
    "events": ("read",),
    "fabric": ("look", "meet"),
    "fetch": ("look", "read", "list", "start", "stop", "drop"),
    "files": ("put", "remove"),
    "foreign": ("look", "disable", "stop", "kill"),
    "group": ("leave",),
    "guard": ("state", "release"),
    "launch": ("check", "trial"),
    "layout": ("look",),
    "live": ("follow",),
    "logs": ("",),
    "memory": ("wait",),
    "metrics": ("read",),
    "mode": ("put",),
    "nginx": ("test",),
    "observe": ("",),
    "operation": ("take", "renew", "release"),
    "pool": ("wait", "direct", "announce"),
    "release": ("install",),
    "secrets": ("ensure", "put", "begin", "promote", "show"),
    "tooltest": ("run", "accept", "page", "read", "put"),
    "unit": ("start", "stop", "restart", "reload", "enable", "disable", "kill", "wait"),
    "units": ("reload",),
    "verify": ("chat", "embed"),
    "watchdog": ("last", "round"),
    "address": ("look",),
}

Function = Callable[[Call], Any]


def names() -> list[str]:
    """Return the names of all calls."""
    return [f"{noun}.{verb}".rstrip(".") for noun, verbs in CALLS.items() for verb in verbs]


def find(name: str) -> Function:
    """Given a call's name, return its function. Raises UsageError naming the known ones."""
    noun, _, verb = name.partition(".")
    if name not in names():
        raise UsageError(f"call {name!r}: not known here; known are {', '.join(names())}")
    module = import_module(f"floor.agent.calls.{noun}")
    return cast("Function", getattr(module, verb or noun))
