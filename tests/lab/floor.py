"""`floor` as a person runs it, with the lab's boxes behind it."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from tests.lab.boxes import Lab

ROOT = Path(__file__).parents[2]


class Floor:
    """A folder with a floor.yaml, and the command run in it."""

    def __init__(self, lab: Lab, folder: Path) -> None:
        self.lab, self.folder = lab, folder
        self.environment = {
            **lab.environment(),
            "FLOOR_SSH_CONFIG": str(lab.ssh_config),
            "COLUMNS": "160",
            "PYTHONUNBUFFERED": "1",
        }

    @property
    def config(self) -> Path:
        return self.folder / "floor.yaml"

    def write(self, text: str) -> None:
        """Write floor.yaml."""
        self.config.write_text(text)

    def edit(self, old: str, new: str) -> None:
        """Replace one passage of floor.yaml, which must be there."""
        text = self.config.read_text()
        assert old in text, f"{old!r} is not in\n{text}"
        self.config.write_text(text.replace(old, new))

    def __call__(self, *words: str, code: int | None = 0, timeout: float = 600) -> subprocess.CompletedProcess[str]:
        """Run `floor WORDS`; the exit code must be `code` unless that is None."""
        began = time.monotonic()
        done = subprocess.run(
            self._argv(words),
            cwd=self.folder,
            env=self.environment,
            text=True,
            capture_output=True,
            timeout=timeout,
            check=False,
        )
        took = time.monotonic() - began
        told = f"floor {' '.join(words)}: exit {done.returncode} after {took:.1f} s\n{done.stdout}\n{done.stderr}"
        print(told)
        assert code is None or done.returncode == code, told
        assert "Traceback" not in done.stdout + done.stderr, told
        return done

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Start `floor WORDS` and leave it running."""
        return subprocess.Popen(
            self._argv(words),
            cwd=self.folder,
            env=self.environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def _argv(self, words: tuple[str, ...]) -> list[str]:
        return [sys.executable, "-m", "floor", *words]
