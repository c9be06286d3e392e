"""Which boxes floor may change, and when taking one away would take the model away."""

from __future__ import annotations

from floor.config.model import Config
from floor.errors import RefusedError, UsageError
from floor.operations.site import Site


def destination(config: Config, box: str) -> str:
    """Given a box's name, return its ssh destination. Raise UsageError for an unknown or unmanaged box."""
    if box not in config.boxes:
        raise UsageError(f"{box}: no such box in floor.yaml; there are {', '.join(config.boxes)}")
    if not config.boxes[box].managed:
        raise UsageError(f"{box}: has `managed: false`, floor never changes it")
    return config.destination(box)


def refuse_last_copy(site: Site, box: str) -> None:
    """Raise RefusedError where `box` holds the last member of a model's pools, or is the only proxy box."""
    seen = site.observe()
    for model in site.loaded.config.models:
        serving = seen.serving(model)
        if serving and all(backend.endswith(f"@{box}") for backend in serving):
            raise RefusedError(f"{box} holds the last serving copy of {model}; accept the outage with --force")
    if site.loaded.config.proxy.boxes == [box] and any(seen.serving(model) for model in site.loaded.config.models):
        raise RefusedError(f"{box} is the only proxy box: every client would lose the model; accept it with --force")
