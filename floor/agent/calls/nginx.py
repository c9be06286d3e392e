"""nginx's own word on a configuration that is not in place yet."""

from __future__ import annotations

from typing import Any

from floor.agent.call import Call
from floor.box import nginx_test


def test(call: Call) -> dict[str, Any]:
    """{files: [{path, text}], members} → {ok, output}."""
    return nginx_test.staged(call.params.files("files"), call.params.raw("members"), call.run)
