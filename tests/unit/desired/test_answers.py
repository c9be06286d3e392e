from __future__ import annotations

import json
import re

import pytest

from floor.desired import answers
from floor.desired.routes import HEALTH, PATTERNS, ROUTES


def test_every_answer_is_what_openais_clients_read() -> None:
    for answer in answers.errors(64 * 2**20):
        error = json.loads(answer.body)["error"]
        assert set(error) == {"message", "type", "param", "code"}
        assert error["code"] == answer.status
        assert error["message"].endswith(".")


def test_no_502_and_no_504_reaches_a_client() -> None:
    found = {code: answer for answer in answers.errors(1) for code in answer.found.split(" ")}
    assert {found["502"].status, found["504"].status} == {503}
    assert found["502"].headers == (("Retry-After", "$floor_retry_after"),)
    assert found["502"].body == answers.unavailable()
    assert len(found) == sum(len(answer.found.split(" ")) for answer in answers.errors(1))


def test_when_to_come_again_is_spread_and_short() -> None:
    """At most 60: OpenAI's clients ignore more."""
    shares = [int(share.rstrip("%")) for share, _ in answers.RETRY_AFTER[:-1]]
    assert sum(shares) < 100
    assert answers.RETRY_AFTER[-1][0] == "*"
    assert [seconds for _, seconds in answers.RETRY_AFTER] == list(range(2, 11))


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (64 * 2**20, "64 MiB"),
        (2**30, "1 GiB"),
        (1536, "1536 bytes"),
        (2048, "2 KiB"),
        (9961472, "9728 KiB"),
        (0, "0 GiB"),
    ],
)
def test_sizes(count: int, text: str) -> None:
    assert answers.size(count) == text


def test_nothing_that_administers_is_on_the_list() -> None:
    paths = [route.path for route in ROUTES] + [pattern.before for pattern in PATTERNS]
    assert len(set(paths)) == len(paths) - 1  # two patterns begin alike
    assert all(re.match(r"/v[12]/(?!.*(lora|adapter|render))", path) for path in paths)
    assert not {"/metrics", "/tokenize", "/detokenize", "/invocations", "/health", HEALTH} & set(paths)
    assert {route.method for route in ROUTES} | {pattern.method for pattern in PATTERNS} == {"GET", "POST"}
