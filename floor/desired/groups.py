"""The parts of groups: what each box of a split model holds and runs."""

from __future__ import annotations

from collections.abc import Mapping

from floor.box import paths
from floor.config.model import Config
from floor.desired.state import BoxFacts, File, Unit


def unit_name(model: str) -> str:
    """Given a model's name, return that of the unit of its group's part; a box holds one part of a model at most."""
    return f"floor-group-{model}.service"


def settings_path(model: str) -> str:
    """Given a model's name, return where the settings of its group's part lie on a box."""
    return str(paths.GROUPS / f"{model}.json")


def parts(config: Config, boxes: Mapping[str, BoxFacts], release: str) -> dict[str, list[tuple[Unit, list[File]]]]:
    """Given the config, what is known of the boxes and floor's release, return by box the units and files of groups."""
    del config, boxes, release
    return {}
