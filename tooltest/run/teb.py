"""tool-eval-bench beside ours: a capability score that people quote. It decides nothing here.

It repairs streamed JSON and leaves errors of the server out of its score, which is why no gate can rest on it.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from floor.errors import UsageError

from .send import Endpoint

PROGRAM = "tool-eval-bench"
KEY_VARIABLE = "TOOL_EVAL_API_KEY"  # the key is no argument of it: arguments are for everybody to read


def program() -> str:
    """Where it is: beside this Python, or on the path. Raises UsageError where it is not installed."""
    found = shutil.which(PROGRAM, path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
    if found is None:
        raise UsageError(f"--teb: {PROGRAM} is not installed; pip install 'factory-floor[teb]'")
    return found


def argv(name: str, endpoint: Endpoint, model: str, folder: Path) -> list[str]:
    """Its command line: the whole suite, the result in `folder`."""
    url = endpoint.url.rstrip("/").removesuffix("/v1")
    return [
        *(name, "run", "--base-url", url, "--model", model),
        *("--json-file", str(folder / "result.json"), "--output-dir", str(folder / "runs")),
        *("--timeout", f"{endpoint.timeout:g}"),
    ]


def read(document: Mapping[str, Any]) -> dict[str, Any]:
    """What stands in our report, from its result. Raises KeyError where that is none."""
    score, total = document["final_score"], document["total_scenarios"]
    version = document.get("tool_eval_bench_version")
    return {"score": score, "scenarios": total, "version": version, "words": f"{score} of 100 in {total} scenarios"}


async def run(name: str, endpoint: Endpoint, model: str) -> dict[str, Any]:
    """Run it in a folder of its own, where it reads nobody's .env. A failure is told, not raised."""
    environment = {**os.environ, KEY_VARIABLE: endpoint.key}
    with tempfile.TemporaryDirectory(prefix="floor-teb-") as name_of_folder:
        folder = Path(name_of_folder)
        process = await asyncio.create_subprocess_exec(
            *argv(name, endpoint, model, folder),
            cwd=folder,
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        _, errors = await process.communicate()
        try:
            return read(json.loads((folder / "result.json").read_bytes()))
        except (OSError, ValueError, KeyError, TypeError):
            last = errors.decode("utf-8", "replace").strip().splitlines()[-1:]
            return {"score": None, "words": f"ended with {process.returncode}: {''.join(last)[:200]}"}
