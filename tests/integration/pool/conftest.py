"""Every test gets a box of its own: what one leaves behind is not the next one's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.pool.stage import BACKENDS, Stage


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    """Two copies, both members."""
    with Stage(tmp_path) as made:
        made.await_members(*BACKENDS)
        yield made
