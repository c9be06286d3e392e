"""Loading a configuration costs what it must: nothing that only an edit, a document or a schema needs."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = [
    "ruamel",
    "jinja2",
    "httpx",
    "rich",
    "typer",
    "jsonschema",
    "psutil",
    "floor.config.edit",
    "floor.config.schema",
    "floor.config.init",
]


@pytest.mark.parametrize("module", ["floor.config", "floor.config.model", "floor.config.load"])
def test_what_an_import_brings_along(module: str) -> None:
    code = f"import sys, {module}; print(*sorted(sys.modules))"
    loaded = set(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    )
    assert loaded.isdisjoint(HEAVY)
    assert "pydantic" in loaded
