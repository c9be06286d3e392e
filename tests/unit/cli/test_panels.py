"""`floor --help` shows every command under its heading, with the whole of its first sentence."""

from __future__ import annotations

import pytest

from floor.__main__ import run


def test_headings_stand_in_order_over_their_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    shown = capsys.readouterr().out
    words = ["Start here:", "  init ", "  setup ", "Change:", "  deploy ", "Look:", "  status ", "Try out:", "  sim "]
    places = [shown.index(word) for word in words]
    assert places == sorted(places)
    assert "..." not in shown.partition("Start here:")[2]
