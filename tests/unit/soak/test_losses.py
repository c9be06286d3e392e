"""Which lost requests of a soak a fault explains, and which it does not."""

from __future__ import annotations

import pytest

from tests.soak.losses import SHARED, Fault, unexplained


@pytest.mark.parametrize(
    ("kind", "held", "target", "start", "end", "explained"),
    [
        ("engine", False, "boxb", 9, 11, True),  # it was in flight
        ("engine", False, "boxa", 13, 14, False),  # sent after it: to be passed on
        ("engine", False, "boxa", 5, 6, False),
        ("hung", False, "boxb", 11, 17, True),  # it waited on it
        ("hung", False, "boxb", 7, 17, False),  # it was being answered before, and after
        ("hung", False, "boxb", 20, 21, False),
        ("nginx", False, "boxa", 12, 13, True),
        ("nginx", False, "boxb", 9, 11, False),
        ("nginx", False, SHARED, 9, 11, False),
        ("nginx", True, SHARED, 9, 11, True),
        ("nginx", True, SHARED, 20, 21, False),
        ("cut", False, "boxa", 30, 31, True),  # its own proxy, until all is whole
        ("cut", False, "boxa", 41, 42, False),
        ("cut", False, "boxb", 9, 14, True),
        ("cut", False, "boxb", 20, 24, False),  # it was out of the pools by then
        ("harmless", True, "boxa", 9, 11, False),
    ],
)
def test_what_a_fault_explains(
    kind: str,
    held: bool,
    target: str,
    start: float,
    end: float,
    explained: bool,
) -> None:
    fault = Fault(kind, "something on boxa", "boxa", 10, 40, held)
    assert fault.explains(target, start, end) is explained
    lost = unexplained({target: [{"start": start, "end": end}]}, [fault])
    assert len(lost) == (0 if explained else 1)
