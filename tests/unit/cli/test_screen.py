"""What a person sees: tables at two widths, and lines of work that make room for each other."""

from __future__ import annotations

import io
import sys
from typing import Any

import pytest
from rich.console import Console

from floor.cli.screen import Screen
from floor.cli.tables import status_table

FOUND: dict[str, Any] = {
    "boxes": {
        "spark-a": {
            "managed": True,
            "mode": "replicas",
            "memory": {"total": 128 << 30, "available": 20 << 30},
            "units": {"floor-proxy.service": {"active": "active"}, "floor-pool.service": {"active": "failed"}},
            "release": "0.1.0+0123456789ab",
        },
        "spark-b": {"managed": True, "error": "spark-b: no way there"},
        "spark-c": {"managed": True, "mode": None, "memory": None, "units": {}, "release": None},
        "mac": {"managed": False, "host": "192.0.2.20"},
    },
    "backends": [
        {
            "backend": "flagship@spark-a",
            "managed": True,
            "unit": "active",
            "member": {"spark-a": True, "spark-b": True},
            "reason": "ok",
            "evidence": "12 tokens in the last 0.5 s",
            "running": 3,
            "waiting": 2,
            "drains": [],
        },
        {
            "backend": "flagship@spark-b",
            "managed": True,
            "unit": "failed",
            "member": {"spark-a": False, "spark-b": False},
            "reason": "refused",
            "evidence": "[Errno 111] connect to [fd00::2]:8000 [/red] was refused; nothing listens there [bold]now",
            "running": None,
            "waiting": None,
            "drains": [],
        },
        {
            "backend": "flagship@mac",
            "managed": False,
            "unit": None,
            "member": {"spark-a": True, "spark-b": False},
            "reason": "drained",
            "evidence": "",
            "running": 0,
            "waiting": 0,
            "drains": ["ada@laptop"],
        },
    ],
    "warnings": ["spark-b: no way there [/x]", "flagship: only flagship@spark-a is left " + "of them " * 20],
}


def shown(width: int, *, terminal: bool = True) -> list[str]:
    out = io.StringIO()
    status_table(FOUND, Console(file=out, width=width, force_terminal=terminal, color_system=None))
    return [line.rstrip() for line in out.getvalue().splitlines()]


@pytest.mark.parametrize("width", [80, 160])
def test_no_line_is_wider_than_the_terminal_and_no_name_is_broken(width: int) -> None:
    lines = shown(width)
    table = lines[: next(number for number, line in enumerate(lines) if line.startswith("!"))]
    assert all(len(line) <= width for line in table)
    for name in ("spark-a", "flagship@spark-a", "flagship@spark-b", "flagship@mac", "0.1.0+0123456789ab"):
        assert any(name in line for line in table), name
    assert any("20.0 of 128.0 GiB" in line and "pool failed" in line for line in table)
    assert any(line.startswith("spark-c") and "none yet" in line for line in table)


def test_a_wide_terminal_has_a_line_a_row() -> None:
    lines = shown(160)
    (row,) = [line for line in lines if line.startswith("flagship@spark-a  in")]
    assert row.endswith("3 + 2     12 tokens in the last 0.5 s")
    assert any(line.startswith("flagship@mac") and "only spark-a" in line for line in lines)
    assert any("drained by ada@laptop" in line for line in lines)


def test_what_a_box_says_is_no_markup() -> None:
    text = "\n".join(shown(300))
    assert "[Errno 111] connect to [fd00::2]:8000 [/red] was refused; nothing listens there [bold]now" in text
    assert "! spark-b: no way there [/x]" in text


def test_in_a_pipe_every_row_and_every_warning_is_one_line() -> None:
    lines = shown(80, terminal=False)
    assert len(lines) == 1 + len(FOUND["boxes"]) + 1 + len(FOUND["backends"]) + len(FOUND["warnings"])


@pytest.mark.parametrize(
    ("holders", "told"), [([], "nobody"), (["spark-a"], "spark-a"), (["spark-a", "spark-b"], "spark-a and spark-b")]
)
def test_who_holds_the_shared_address_has_a_line(holders: list[str], told: str) -> None:
    out = io.StringIO()
    found = {**FOUND, "address": {"address": "192.0.2.10", "holders": holders}}
    status_table(found, Console(file=out, width=160))
    assert f"192.0.2.10 is held by {told}" in out.getvalue().splitlines()


def test_progress_makes_room(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("shutil.get_terminal_size", lambda: type("Size", (), {"columns": 20}))
    screen = Screen()
    screen.say("one")
    screen.progress("waiting for a long time")
    screen.progress("still")
    screen.say("two")
    screen.clear()
    printed = capsys.readouterr()
    assert printed.out == "one\ntwo\n"
    assert printed.err == "waiting for a long \r\x1b[Kstill\r\x1b[K"


def test_no_progress_but_for_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    screen = Screen(beside=True)
    screen.progress("waiting")
    screen.say("one")
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "one\n")
