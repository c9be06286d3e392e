"""floor.yaml from its text or its file: every problem at once, each with its place."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from floor.config import check, explain, source
from floor.config.model import Config
from floor.config.problem import Problem, Source
from floor.errors import ConfigError

LARGEST = 256 * 1024  # bytes; a fleet of a hundred boxes needs a tenth


@dataclass(frozen=True)
class Loaded:
    """A configuration with the text it was read from; `warnings` are lines about what is allowed and rarely meant."""

    config: Config
    text: str
    path: Path
    warnings: tuple[str, ...] = ()


def parse(text: str, name: str = "floor.yaml") -> Config:
    """Given the text of a floor.yaml and its name, return the configuration. Raise ConfigError with every problem."""
    return examine(text, name)[0]


def load(path: Path) -> Loaded:
    """Given the path of a floor.yaml, return it loaded. Raise ConfigError with every problem."""
    text = text_of(path)
    config, warnings = examine(text, str(path))
    return Loaded(config, text, path, warnings)


def examine(text: str, name: str) -> tuple[Config, tuple[str, ...]]:
    """Given the text of a floor.yaml and its name, return the configuration and the warnings about it.

    Raise ConfigError with every problem: first those of single values, then those between them.
    """
    if len(text) > LARGEST:
        raise ConfigError([f"{name}: found more than {LARGEST // 1024} KiB; write what floor needs to know"])
    read, problems = source.read(text, name)
    try:
        config = Config.model_validate(read.data)
    except ValidationError as error:
        errors = error.errors(include_url=False, include_input=False)
        problems += explain.explain(errors, [problem.path for problem in problems])
        raise ConfigError(_lines(read, problems)) from None
    if problems:
        raise ConfigError(_lines(read, problems))
    found = list(check.check(config))
    if errors_found := [problem for problem in found if not problem.warning]:
        raise ConfigError(_lines(read, errors_found))
    return config, tuple(_lines(read, found))


def decode(raw: bytes, name: str) -> str:
    """Given the bytes of a floor.yaml, return its text. Raise ConfigError where they are not plain UTF-8."""
    if raw.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise ConfigError([f"{name}:1: found a byte order mark; write the file as UTF-8 without one"])
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise ConfigError(
            [f"{name}:{line}: found the byte 0x{raw[error.start]:02x}; write the file as UTF-8"]
        ) from None


def text_of(path: Path) -> str:
    """Given the path of a floor.yaml, return its text. Raise ConfigError where it cannot be had."""
    return decode(_read(path), str(path))


def _read(path: Path) -> bytes:
    try:
        if path.exists() and not path.is_file():
            raise ConfigError([f"{path}: found no plain file; write the name of a floor.yaml"])
        with path.open("rb") as file:
            return file.read(LARGEST * 4 + 1)
    except FileNotFoundError:
        raise ConfigError([f"{path}: found no such file; write one, or let `floor init` do it"]) from None
    except OSError as error:
        raise ConfigError(
            [f"{path}: found it unreadable ({error.strerror}); write its permissions so that you may"]
        ) from None


def _lines(read: Source, problems: list[Problem]) -> list[str]:
    problems = sorted(problems, key=lambda problem: (read.line(problem), [str(key) for key in problem.path]))
    return list(dict.fromkeys(read.tell(problem) for problem in problems))
