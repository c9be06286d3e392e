"""What a box tells on its status port, as far as people are shown it."""

from __future__ import annotations

import json

import pytest

from floor.metrics.exposition import UnreadableError
from floor.metrics.told import Told, read

WHOLE = {
    "units": {"floor-pool.service": {"active": "active", "sub": "running"}},
    "mode": "split",
    "memory": {"total": 100, "available": 40},
    "floor": 4.0,
    "operation": {
        "epoch": 7, "verb": "switch", "state": "live", "live": True, "by": {"user": "ada", "host": "laptop", "pid": 1},
    },
    "away": {"flagship": {"until": 1200.0, "mode": "split"}},
    "holds": {"floor-copy-m.service": "the guard keeps it down"},
    "pool": {"age": 0.5, "backends": {"m@a": {"member": True, "acknowledged": False, "reason": "ok"}}},
    "direct": [{"address": "192.0.2.7", "connections": 3}],
    "events": [{"at": 5, "who": "pool", "text": "m@a is in"}],
    "problems": ["x"],
}  # fmt: skip


def test_all_of_it() -> None:
    told = read(json.dumps(WHOLE).encode())
    assert (told.mode, told.total, told.available, told.floor) == ("split", 100, 40, 4)
    assert told.units == {"floor-pool.service": "active"}
    assert told.operation == {"epoch": 7, "verb": "switch", "state": "live", "live": True, "by": "ada@laptop"}
    assert told.away == {"flagship": {"until": 1200.0, "mode": "split"}}
    assert told.holds == {"floor-copy-m.service": "the guard keeps it down"}
    assert (told.pool, told.pool_age) == ({"m@a": True}, 0.5)
    assert told.direct == (("192.0.2.7", 3),)
    assert told.events == ((5.0, "pool", "m@a is in"),)
    assert told.problems == ("x",)


def test_what_is_not_told_is_not_known() -> None:
    assert read(b'{"units": {}}') == Told()


@pytest.mark.parametrize(
    "body",
    [b"", b"no", b"[]", b"{}", b"null", b'{"units": 3}', b'{"units": {"a": {}}}', b'{"units": {}, "away": {"m": {}}}',
     b'{"units": {}, "events": [{"at": "x"}]}', b'{"units": {}, "pool": {"age": 1}}', b"[" * 100000],
)  # fmt: skip
def test_anything_else_is_said_to_be_none(body: bytes) -> None:
    with pytest.raises(UnreadableError, match="is no answer of a status port"):
        read(body)
