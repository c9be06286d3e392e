"""`floor metrics`: what every copy does now, and what they come to."""

from __future__ import annotations

from typing import Any

from floor.errors import BoxError
from floor.operations.site import Site


def metrics(site: Site, seconds: float) -> dict[str, Any]:
    """Given how many seconds rates are measured over, return the answer of the first proxy box that gives one, with its
    name as `asked`. Raise BoxError with what each of them said if none does."""
    failed: list[str] = []
    for box in site.loaded.config.proxy.boxes:
        try:
            found = site.boxes[box].call("metrics.read", {"seconds": seconds}, timeout=30 + seconds)
        except BoxError as error:
            failed.append(str(error))
        else:
            return {"asked": box, **found}
    raise BoxError("\n".join(failed))
