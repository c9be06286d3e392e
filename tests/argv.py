"""Words that a careless program would change, and a unit that carries them: for tests at every tier.

On a booted box: write `unit(words())`, start it, and /proc/PID/cmdline must be `command(words())`.
"""

from __future__ import annotations

from pathlib import Path

import yaml

from floor.render import systemd_exec

CASES = Path(__file__).parent / "cases" / "argv" / "nasty.yaml"


def words() -> list[str]:
    """The words of the case file."""
    found = yaml.safe_load(CASES.read_text(encoding="utf-8"))
    assert all(isinstance(word, str) for word in found), "a word is not a text: quote it"
    return list(found)


def command(arguments: list[str]) -> list[str]:
    """A command line that stays for ten minutes and does nothing with its arguments."""
    return ["/usr/bin/python3", "-c", "import time; time.sleep(600)", *arguments]


def unit(arguments: list[str]) -> str:
    """A unit that runs `command(arguments)`."""
    return f"[Service]\nType=exec\nExecStart={systemd_exec(command(arguments))}\n"
