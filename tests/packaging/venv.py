"""A virtual environment of its own, as somebody who installs floor from a file has it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

NEEDS = "needs the package index (PyPI) or a mirror of it"


def run(argv: Sequence[str | Path], cwd: Path, what: str) -> str:
    """Run a command away from the checkout and return what it printed; fail with `what` and its last words."""
    done = subprocess.run(
        [str(word) for word in argv], cwd=cwd, capture_output=True, text=True, timeout=300, check=False
    )
    if done.returncode:
        pytest.fail(f"{what}: exit {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}", pytrace=False)
    return done.stdout


class Venv:
    """An environment below `folder`; every command in it runs in `folder`, where nothing of floor lies."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        argv = [sys.executable, "-m", "venv", "--without-pip", folder / "venv"]
        run(argv, folder, "no virtual environment could be made")
        (self.packages,) = (folder / "venv" / "lib").glob("python*/site-packages")

    def program(self, name: str) -> Path:
        """A program of the environment."""
        return self.folder / "venv" / "bin" / name

    def __call__(self, name: str, *words: str | Path) -> str:
        """Run a program of the environment; it must succeed. Returns what it printed."""
        return run([self.program(name), *words], self.folder, f"{name} {' '.join(map(str, words))}")

    def python(self, *words: str | Path) -> str:
        """Run its Python, which sees nothing but what is installed."""
        return self("python", "-I", *words)

    def pip(self, *words: str | Path) -> str:
        """Run this interpreter's pip on the environment, which has none of its own until somebody installs it."""
        pip = [sys.executable, "-P", "-m", "pip", "--python", self.program("python")]
        return run([*pip, *words], self.folder, f"pip {words[0]}; what it installs {NEEDS}")

    def install(self, *what: str | Path) -> None:
        """Install with pip; what is not at hand comes from the package index."""
        self.pip("install", "--quiet", "--no-compile", *what)

    def files(self) -> dict[str, bytes]:
        """Every file in site-packages, without what Python compiled."""
        found = (path for path in self.packages.rglob("*") if path.is_file() and path.suffix != ".pyc")
        return {path.relative_to(self.packages).as_posix(): path.read_bytes() for path in found}
