"""Which of the engine keys an engine takes: two may be in use while one is being replaced."""

from __future__ import annotations

from pathlib import Path

import httpx

from floor.box import paths, secrets

SECONDS = 10.0


def taken(url: str, root: Path = paths.ROOT) -> str:
    """Given an engine's address, return the key that it takes; the present one where it does not tell, empty where
    this box has none."""
    keys = secrets.accepted("engine", root)
    for key in keys if len(keys) > 1 else ():
        try:
            headers = {"Authorization": f"Bearer {key}"}
            answer = httpx.get(f"{url}/v1/models", headers=headers, timeout=SECONDS, trust_env=False)
        except httpx.TransportError:
            break  # told by whatever is asked next
        if answer.status_code not in (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN):
            return key
    return keys[0] if keys else ""
