"""What `floor status --watch` shows, a line of JSON each second, told by this proxy box of all boxes."""

from __future__ import annotations

import re
import sys

from floor.agent.call import Call, Stream
from floor.box import paths
from floor.errors import FloorError, UsageError

_BOX = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*=http://[A-Za-z0-9.:\[\]%-]+/status")


def follow(call: Call) -> Stream:
    """{name, boxes: ["NAME=URL" of each status port]} → {} and then the lines, until the caller closes stdin.

    Raise FloorError where this is no proxy box."""
    words = call.params.texts("boxes")
    for word in words:
        if not _BOX.fullmatch(word):
            raise UsageError(f"live.follow: {word!r}: must be NAME=http://ADDRESS:PORT/status")
    if not paths.under(call.root, paths.POOL_SETTINGS).is_file():
        raise FloorError("no pool is set up here; `floor deploy` does that on the boxes of proxy.boxes")
    name = call.params.text("name")
    argv = [sys.executable, "-I", "-m", "floor.metrics.follow", "--root", str(call.root), "--name", name, "--", *words]
    return Stream(argv, follow=True)
