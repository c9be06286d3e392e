"""Which hub is asked, and as whom: from the caller's environment, as its own tools read it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from floor.box import hub
from floor.errors import UsageError


def endpoint(environment: Mapping[str, str] = os.environ) -> str:
    """Return the hub's address: HF_ENDPOINT, by default that of Hugging Face. Raises UsageError for no address."""
    given = environment.get("HF_ENDPOINT") or hub.DEFAULT
    if not re.fullmatch(r"https?://[^\s/]+(/\S*)?", given):
        raise UsageError(f"HF_ENDPOINT: found {given!r}; write an address such as {hub.DEFAULT}")
    return given.rstrip("/")


def token(environment: Mapping[str, str] = os.environ) -> str | None:
    """Return the caller's token: HF_TOKEN, else the file that `hf auth login` writes; None where there is none.

    It goes to the box that asks the hub through the stdin of ssh, and is kept nowhere there.
    """
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
        if environment.get(name, "").strip():
            return environment[name].strip()
    home = Path(environment.get("HF_HOME") or Path.home() / ".cache" / "huggingface")
    place = Path(environment.get("HF_TOKEN_PATH") or home / "token")
    try:
        return place.read_text().strip() or None
    except (OSError, UnicodeDecodeError):
        return None
