"""O21: a start waits for the card, bounded, and fails rather than run on the CPU."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from floor.desired.engine_unit import GPU_WAIT, GPU_WAIT_NATIVE
from floor.desired.times import GPU_SECONDS

BOUND = f"timeout {GPU_SECONDS} "


def _run(command: tuple[str, ...], folder: Path) -> subprocess.CompletedProcess[str]:
    """The unit's own command, with moments instead of two minutes, and `folder` first on the PATH."""
    shell, flag, script = command
    assert BOUND in script
    quick = (
        script.replace(BOUND, "timeout 0.4 ").replace("timeout 20 ", "timeout 0.2 ").replace("sleep 2", "sleep 0.02")
    )
    env = {"PATH": f"{folder}:/usr/bin:/bin"}
    return subprocess.run([shell, flag, quick], env=env, capture_output=True, text=True, timeout=10)


def _nvidia_smi(folder: Path, script: str) -> None:
    program = folder / "nvidia-smi"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


@pytest.mark.parametrize("command", [GPU_WAIT, GPU_WAIT_NATIVE])
def test_a_card_that_comes_late_is_waited_for(tmp_path: Path, command: tuple[str, ...]) -> None:
    asked = tmp_path / "asked"
    _nvidia_smi(tmp_path, f"echo x >>{asked}; [ $(wc -l <{asked}) -ge 3 ] || exit 9; echo GPU 0: GB10")
    done = _run(command, tmp_path)
    assert (done.returncode, done.stdout) == (0, "GPU 0: GB10\n")


@pytest.mark.parametrize("command", [GPU_WAIT, GPU_WAIT_NATIVE])
@pytest.mark.parametrize("script", ["echo no driver; exit 9", "exec sleep 30"], ids=["fails", "hangs"])
def test_without_a_card_the_start_fails_and_says_why(tmp_path: Path, command: tuple[str, ...], script: str) -> None:
    _nvidia_smi(tmp_path, script)
    done = _run(command, tmp_path)
    assert done.returncode == 1
    assert f"no GPU answered within {GPU_SECONDS} s" in done.stderr


def test_a_container_for_the_card_needs_a_driver(tmp_path: Path) -> None:
    done = _run(GPU_WAIT, tmp_path)
    assert done.returncode == 1
    assert "nvidia-smi" in done.stderr


def test_a_program_on_a_box_without_a_driver_starts_at_once(tmp_path: Path) -> None:
    done = _run(GPU_WAIT_NATIVE, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
