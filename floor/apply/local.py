"""This machine itself is the box."""

from __future__ import annotations

import os
from collections.abc import Sequence

from floor.apply import words
from floor.apply.exchange import AGENT, SUDO, Transport
from floor.errors import BoxError


class LocalTransport(Transport):
    """As root the agent runs directly, else through sudo as over ssh. `argv` replaces the command (tests)."""

    def __init__(self, box: str, argv: Sequence[str] | None = None) -> None:
        super().__init__(box)
        self._argv = list(argv) if argv else list(AGENT if os.geteuid() == 0 else SUDO)

    def argv(self) -> list[str]:
        return self._argv

    def explain(self, code: int, said: str) -> BoxError:
        return words.beyond_ssh(self.box, code, said)
