"""What must not be refused: files that look odd and are right, each as a case."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from floor.config.load import examine
from floor.config.model import Config

FOLDER = Path(__file__).parents[2] / "cases" / "config-accepted"
CASES = sorted(FOLDER.glob("*.yaml"))


def _examine(path: Path) -> tuple[Config, tuple[str, ...]]:
    return examine(yaml.safe_load(path.read_text(encoding="utf-8"))["input"], "floor.yaml")


def _config(name: str) -> Config:
    return _examine(FOLDER / f"{name}.yaml")[0]


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_this_is_right_and_nothing_is_said_about_it(path: Path) -> None:
    assert _examine(path)[1] == ()


def test_an_anchor_gives_both_the_same() -> None:
    config = _config("an-anchor-for-what-copies-share")
    assert config.models["flagship"].runtime == config.models["second"].runtime


def test_a_flag_taken_away_is_gone() -> None:
    first, second = _config("a-flag-taken-away-in-a-copy").copies("flagship")
    assert (first.args, second.args) == ({"enforce-eager": True}, {})


def test_two_servers_of_one_machine_are_two_backends() -> None:
    copies = _config("two-servers-of-one-unmanaged-machine").copies("flagship")
    assert [copy.url for copy in copies] == [None, "http://192.0.2.20:8080", "http://192.0.2.20:8081"]


def test_flags_keep_their_shapes() -> None:
    [args] = {str(copy.args): copy.args for copy in _config("flags-of-every-shape").copies("flagship")}.values()
    assert args["enforce-eager"] is True
    assert args["enable-prefix-caching"] is False
    assert args["cudagraph-capture-sizes"] == [1, 2, 4]
    assert args["speculative-config"] == {"method": "mtp", "x": [None, True]}
    assert args["chat-template"] == "{{ x }} % $ 'y'"
