"""What went wrong on the way to a box, in words: every line that ssh, sudo and a far shell are known to print."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from floor.apply import words
from floor.apply.exchange import UnreachableError

CASES = yaml.safe_load((Path(__file__).parents[2] / "cases/ssh/words.yaml").read_text())


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_each_failure_says_what_was_found_and_what_to_do(case: dict[str, Any]) -> None:
    error = words.of_ssh("spark-a", "ops@spark-a", case["code"], case["said"])
    assert str(error).startswith("spark-a: ")
    assert case["words"] in str(error)
    assert isinstance(error, UnreachableError) is case["unreachable"]
    assert "\n" not in str(error)


def test_the_host_of_a_url_is_named_without_its_user() -> None:
    error = words.of_ssh("a", "ssh://ops@spark-a", 255, "REMOTE HOST IDENTIFICATION HAS CHANGED")
    assert "`ssh-keygen -R spark-a`" in str(error)


def test_the_last_lines_stand_for_all_that_was_printed() -> None:
    assert words.last("banner\n\none\n  two\n@@@@@@\nthree\n") == "one / two / three"
    assert words.last("  \n@@@\n") == ""
