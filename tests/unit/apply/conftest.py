"""A fake `ssh` on PATH: a shell script that notes its argv and does what a test tells it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest


@pytest.fixture
def short() -> Iterator[Path]:
    """A folder with a name short enough for the sockets in it."""
    with tempfile.TemporaryDirectory(prefix="fl", dir="/tmp") as folder:
        yield Path(folder)


@pytest.fixture
def fake_ssh(tmp_path: Path, short: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Given the body of a shell script, put it on PATH as `ssh`; return the file that holds its argv, a word a line."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(short))
    monkeypatch.delenv("FLOOR_SSH_CONFIG", raising=False)
    noted = tmp_path / "argv"

    def make(body: str) -> Path:
        program = tmp_path / "bin" / "ssh"
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\nfor word; do printf '%s\\n' \"$word\"; done > {noted}\n{body}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
        return noted

    return make
