"""floor.yaml: the one place where decisions live."""

from __future__ import annotations

from floor.config.load import Loaded, load, parse
from floor.config.model import Config, ResolvedCopy

__all__ = ["Config", "Loaded", "ResolvedCopy", "load", "parse"]
