"""floor.yaml from its text or its file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import yaml
from pydantic import ValidationError

from floor.config.model import Config
from floor.errors import ConfigError


@dataclass(frozen=True)
class Loaded:
    """A configuration with the text it was read from; `warnings` are lines about what is allowed and rarely meant."""

    config: Config
    text: str
    path: Path
    warnings: tuple[str, ...] = ()


def parse(text: str, name: str = "floor.yaml") -> Config:
    """Given the text of a floor.yaml and its name, return the configuration. Raise ConfigError with every problem."""
    try:
        return Config.model_validate(yaml.safe_load(text))
    except (ValidationError, yaml.YAMLError) as error:
        raise ConfigError([f"{name}: {error}"]) from error


def load(path: Path) -> Loaded:
    """Given the path of a floor.yaml, return it loaded. Raise ConfigError with every problem."""
    text = path.read_text(encoding="utf-8")
    return Loaded(parse(text, path.name), text, path)
