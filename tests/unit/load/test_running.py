"""Load that is run beside a test: it is waited for until it is under way, and nothing of its report is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.load import running
from tests.load.running import Running

REPORT = '{"sent": 3, "good": 3, "statuses": {"200": 3}, "failures": [], "requests": []}'


def test_a_load_that_is_over_at_once_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "generate.py"
    script.write_text(f"print('under way\\n{REPORT}')\n")
    monkeypatch.setattr(running, "SCRIPT", script)
    with Running("http://127.0.0.1:1", "m") as load:
        report = load.report()
    assert (report.sent, report.good) == (3, 3)


def test_a_load_that_cannot_begin_fails_the_test(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "SCRIPT", tmp_path / "none.py")
    with pytest.raises(AssertionError, match="the load did not begin: ''"):
        Running("http://127.0.0.1:1", "m").__enter__()
