"""The floor.yaml that was last deployed."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from floor.agent.call import Call
from floor.box import files, paths
from floor.box.locked import mine
from floor.box.observe import document

HISTORY = 200  # digests kept: a caller whose file is among the older ones works from an old copy


def put(call: Call) -> dict[str, Any]:
    """{epoch, text} → {sha256}: keeps the text, and its digest at the end of the history."""
    text = call.params.raw("text")
    with call.work():
        digest = hashlib.sha256(text.encode()).hexdigest()
        before = document(paths.CONFIG_HISTORY, call.root) or []
        history = [*(one for one in before if one != digest), digest][-HISTORY:]
        files.write(paths.CONFIG, text, mode=0o600, owner=mine(), root=call.root)
        files.write(paths.CONFIG_HISTORY, json.dumps(history) + "\n", mode=0o600, owner=mine(), root=call.root)
    return {"sha256": digest}
