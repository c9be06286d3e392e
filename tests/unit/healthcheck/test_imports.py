"""What the package may use."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[3] / "healthcheck"
PURE = ("exposition", "finding", "history", "judge", "load", "report", "sample", "target", "verdict")
NO_IO = {"httpx", "asyncio", "socket", "time", "os", "pathlib", "subprocess", "random", "datetime", "sys"}


def imported(path: Path) -> Iterator[str]:
    """The modules that a file imports by their full name."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module


def test_nothing_of_floor_but_errors() -> None:
    """It runs alone."""
    for path in ROOT.rglob("*.py"):
        ours = {name for name in imported(path) if name.split(".")[0] == "floor"}
        allowed = {"floor.errors"} | ({"floor.healthcheck.command"} if path.name == "__main__.py" else set())
        assert ours <= allowed, path


def test_the_rules_do_no_input_or_output() -> None:
    """The same history and sample give the same verdict, anywhere and at any time."""
    for name in PURE:
        assert not {module.split(".")[0] for module in imported(ROOT / f"{name}.py")} & NO_IO, name
