"""The `floor` command on boxes that exist only in memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from floor.__main__ import run
from tests.simulated.fixtures import deployed, situation
from tests.simulated.situation import Situation

__all__ = ["deployed", "situation"]


@dataclass(frozen=True)
class Done:
    """What a command ended with and printed."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


Floor = Callable[..., Done]


@pytest.fixture
def floor(
    situation: Situation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Floor:
    """`floor WORDS`, with the situation's floor.yaml in the current folder and its boxes behind every transport."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FLOOR_CONFIG", raising=False)
    monkeypatch.delenv("FLOOR_DEBUG", raising=False)
    monkeypatch.setattr("floor.operations.site.Site", lambda *_given: situation.site())
    monkeypatch.setattr("floor.apply.wheels.release_id", lambda: situation.release)

    def floor(*words: str) -> Done:
        Path("floor.yaml").write_text(situation.text)
        capsys.readouterr()
        code = run(list(words))
        printed = capsys.readouterr()
        return Done(code, printed.out, printed.err)

    return floor


@pytest.fixture
def raising(monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException], Any]:
    """Let every command that opens the site raise this."""

    def arrange(error: BaseException) -> None:
        def fail(*_given: object) -> None:
            raise error

        monkeypatch.setattr("floor.operations.site.Site", fail)

    return arrange
