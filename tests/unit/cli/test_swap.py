"""`floor swap`, from its words to what is printed, written and ended with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.simulated.situation import Situation
from tests.unit.cli.conftest import Floor

PARSER = ("--args", "tool-call-parser=hermes")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "name the model whose build changes, or write --abort"),
        (("flagship", "--abort"), "--abort: goes back to the build before; leave the model and what was to change out"),
        (("--abort", "--to", "/m"), "--abort: goes back to the build before; leave the model and what was to"),
        (("flagshop",), "flagshop: no model of that name; there are flagship"),
        (("flagship", "--args", "x"), "--args x: write NAME=VALUE, such as tool-call-parser=hermes"),
        (("flagship", "--baseline", "gone.json"), "gone.json: cannot be read: No such file or directory"),
    ],
)
def test_words_that_cannot_be_meant(floor: Floor, deployed: Situation, words: tuple[str, ...], told: str) -> None:
    done = floor("swap", *words)
    assert done.code == 2
    assert done.err.startswith(f"error: {told}")


def test_a_dry_run_ends_with_3_and_as_json_has_every_step(floor: Floor, deployed: Situation) -> None:
    done = floor("swap", "flagship", *PARSER, "--dry-run")
    assert done.code == 3
    assert "+    args: {tool-call-parser: hermes}" in done.lines
    assert "2. change flagship@spark-a and test it" in done.lines
    found = json.loads(floor("swap", "flagship", *PARSER, "--dry-run", "--json").out)
    steps = [step for stage in found["stages"] for step in stage["steps"] if step["call"] == "tooltest.run"]
    assert [step["params"]["tier"] for step in steps] == ["baseline", "gate", "quick"]


def test_it_goes_live(floor: Floor, deployed: Situation) -> None:
    done = floor("swap", "flagship", *PARSER)
    assert (done.code, done.err) == (0, "")
    assert "hermes" in deployed.text
    assert floor("swap", "flagship").lines == ["nothing to do"]


def test_blocked_it_ends_with_1_and_says_where_the_report_is(floor: Floor, deployed: Situation) -> None:
    shown = json.loads(floor("swap", "flagship", *PARSER, "--dry-run", "--json").out)
    steps = [step["params"] for stage in shown["stages"] for step in stage["steps"] if step["call"] == "tooltest.run"]
    deployed.world.verdicts = {step["launch"]: "BLOCK" for step in steps if step["tier"] == "gate"}
    done = floor("swap", "flagship", *PARSER, "--report", "why.md")
    assert done.code == 1
    assert "the report is why.md" in done.lines
    assert "floor.yaml is as it was before the swap" in done.lines
    assert done.err.splitlines() == [
        "error: flagship@spark-a: BLOCK: as a test wants BLOCK",
        "  the build before it is back on every copy",
    ]
    assert floor("swap", "--abort").code == 5


def test_a_deployment_says_how_it_is_overridden(floor: Floor, deployed: Situation) -> None:
    deployed.edit("/models/flagship", "/models/other")
    done = floor("deploy")
    assert done.code == 5
    assert "`floor swap flagship` tests it before it serves; --ungated lets it serve as it is" in done.err
    assert floor("deploy", "--ungated").code == 0
    done = floor("deploy", "--abort", "--ungated")
    assert done.code == 2
    assert not Path("floor.yaml.before-swap").exists()
