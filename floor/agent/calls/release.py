"""Releases of floor, carried over as wheels."""

from __future__ import annotations

from typing import Any

from floor.agent.call import Call
from floor.box import releases


def install(call: Call) -> dict[str, Any]:
    """{release, size, sha256, epoch|null} + a tar of wheels → {release, changed}.

    Without an epoch nobody may hold the box.
    """
    params = call.params
    bundle = call.stdin.read(params.whole("size"))
    with call.work_if_named():
        return releases.install(params.text("release"), bundle, params.text("sha256"), root=call.root)
