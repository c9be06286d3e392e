"""Why an engine ended, and whether a start would help."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from floor.engines.ending import ending

CASES = yaml.safe_load((Path(__file__).parents[2] / "cases/engines/endings.yaml").read_text())


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['says']}: {(case['lines'] or ['-'])[0][:40]}")
def test_ending(case: dict[str, Any]) -> None:
    found = ending(case["lines"], case.get("status"))
    if case["says"] is None:
        assert found is None
        return
    assert found is not None
    assert found.words == case["says"]
    assert found.terminal == (case["start"] == "useless")
    assert found.line
