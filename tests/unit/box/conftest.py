"""A box in a temporary folder, and programs that answer as they are told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from floor.box.command import Result
from floor.box.locked import mine


@dataclass
class Programs:
    """Answers the first rule whose words all stand in the argv; others are not installed. Keeps what was run."""

    rules: list[tuple[tuple[str, ...], Result | Callable[[Sequence[str]], Result]]] = field(default_factory=list)
    ran: list[list[str]] = field(default_factory=list)

    def on(self, *words: str, out: str = "", err: str = "", code: int = 0) -> None:
        self.rules.append((words, Result(code, out, err)))

    def __call__(self, argv: Sequence[str]) -> Result:
        self.ran.append(list(argv))
        for words, answer in self.rules:
            if all(word in argv for word in words):
                return answer(argv) if callable(answer) else answer
        return Result(None, "", f"{argv[0]}: not installed")


@pytest.fixture
def programs() -> Programs:
    return Programs()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A box's file system: what every Linux has of /proc, and nothing of floor's."""
    boot = tmp_path / "proc/sys/kernel/random/boot_id"
    boot.parent.mkdir(parents=True)
    boot.write_text("11111111-2222-3333-4444-555555555555\n")
    return tmp_path


@pytest.fixture
def me() -> str:
    """Whoever runs the tests: only root may give files away."""
    return mine()
