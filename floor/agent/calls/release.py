"""Releases of floor, carried over as wheels."""

from __future__ import annotations

from typing import Any

from floor.agent.call import Call
from floor.box import releases
from floor.errors import UsageError

LARGEST = 512 * 1024 * 1024  # bytes


def install(call: Call) -> dict[str, Any]:
    """{release, size, sha256, epoch|null} + a tar of wheels → {release, changed}.

    Without an epoch nobody may hold the box.
    """
    params = call.params
    size = params.whole("size")
    if size > LARGEST:
        raise UsageError(f"release.install: {size} bytes are no release of floor, which has some 10 MB")
    bundle = call.stdin.read(size)
    with call.work_if_named():
        return releases.install(params.text("release"), bundle, params.text("sha256"), root=call.root)
