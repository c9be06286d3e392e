"""The lab's boxes, for a soak."""

from __future__ import annotations

from tests.lab.conftest import clean_lab, lab, pytest_sessionfinish

__all__ = ["clean_lab", "lab", "pytest_sessionfinish"]
