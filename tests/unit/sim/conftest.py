"""Captured answers of a real vLLM, and case files, for the simulated engine's unit tests."""

from __future__ import annotations

from pathlib import Path

import pytest

CASES = Path(__file__).parents[2] / "cases"


@pytest.fixture
def vllm() -> Path:
    """The folder of answers captured from vLLM 0.32."""
    return CASES / "vllm"
