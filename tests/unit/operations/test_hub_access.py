"""Which hub is asked, and as whom."""

from __future__ import annotations

from pathlib import Path

import pytest

from floor.errors import UsageError
from floor.operations import hub_access
from floor.operations.fetch import Hub


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({}, "https://huggingface.co"),
        ({"HF_ENDPOINT": ""}, "https://huggingface.co"),
        ({"HF_ENDPOINT": "http://mirror:8080/hub/"}, "http://mirror:8080/hub"),
    ],
)
def test_the_endpoint_is_that_of_the_environment(given: dict[str, str], found: str) -> None:
    assert hub_access.endpoint(given) == found


def test_an_endpoint_that_is_no_address() -> None:
    with pytest.raises(UsageError, match="HF_ENDPOINT: found 'mirror'; write an address such as https://huggingface"):
        hub_access.endpoint({"HF_ENDPOINT": "mirror"})


def test_the_token_comes_from_the_environment_or_from_where_its_own_tool_keeps_it(tmp_path: Path) -> None:
    assert hub_access.token({"HF_TOKEN": " a\n", "HF_HOME": str(tmp_path)}) == "a"
    assert hub_access.token({"HUGGING_FACE_HUB_TOKEN": "b"}) == "b"
    assert hub_access.token({"HF_HOME": str(tmp_path)}) is None
    (tmp_path / "token").write_text("c\n")
    assert hub_access.token({"HF_HOME": str(tmp_path)}) == "c"
    (tmp_path / "other").write_text("d\n")
    assert hub_access.token({"HF_HOME": str(tmp_path), "HF_TOKEN_PATH": str(tmp_path / "other")}) == "d"


def test_a_token_is_not_shown() -> None:
    assert "secret" not in repr(Hub("https://huggingface.co", "secret"))
