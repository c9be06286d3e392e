"""`floor status --watch` goes from one proxy box to the next."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest

from floor.errors import BoxError
from floor.operations import watch
from tests.simulated.situation import Situation

DOCUMENT = {"models": {}, "asked": "spark-a"}


def test_the_first_proxy_box_tells_and_then_the_next(deployed: Situation) -> None:
    for name in ("spark-a", "spark-b"):
        deployed.box(name).journal = [json.dumps({**DOCUMENT, "asked": name})] * 2
    found = list(islice(watch.watch(deployed.site()), 5))
    assert [one.get("asked") for one in found] == ["spark-a", "spark-a", "spark-b", "spark-b", None]
    assert found[4]["lost"] == "spark-a: the connection ended; spark-b: the connection ended"


def test_it_is_told_where_every_status_port_is(deployed: Situation) -> None:
    deployed.box("spark-a").journal = [json.dumps(DOCUMENT)]
    next(watch.watch(deployed.site()))
    line = next(one for one in deployed.world.log if "live.follow" in one)
    assert "spark-a=http://192.0.2.11:" in line
    assert "spark-b=http://192.0.2.12:" in line


def test_a_box_that_is_away_is_passed_over(deployed: Situation) -> None:
    deployed.box("spark-a").up = False
    deployed.box("spark-b").journal = [json.dumps({**DOCUMENT, "asked": "spark-b"})]
    assert next(watch.watch(deployed.site()))["asked"] == "spark-b"


def test_none_that_tells_anything_is_an_error_at_first_and_no_end_later(deployed: Situation) -> None:
    with pytest.raises(BoxError, match=r"(?s)spark-a: the connection ended.*spark-b"):
        next(watch.watch(deployed.site()))
    deployed.box("spark-a").journal = [json.dumps(DOCUMENT)]
    documents = watch.watch(deployed.site())
    assert next(documents)["asked"] == "spark-a"
    deployed.box("spark-a").up = deployed.box("spark-b").up = False
    assert "spark-b: no way there" in next(documents)["lost"]
    deployed.box("spark-b").up = True
    deployed.box("spark-b").journal = [json.dumps({**DOCUMENT, "asked": "spark-b"})]
    assert next(documents)["asked"] == "spark-b"


@pytest.mark.parametrize(
    ("line", "why"), [("no", "told 'no'"), ("[]", r"told '\[\]'"), ('{"error": "no key"}', "no key"), ("{}", "told")]
)
def test_what_is_no_document_is_said(deployed: Situation, line: str, why: str) -> None:
    for name in ("spark-a", "spark-b"):
        deployed.box(name).journal = [line]
    with pytest.raises(BoxError, match=f"spark-a: {why}"):
        next(watch.watch(deployed.site()))


def test_a_box_that_says_nothing_is_left(monkeypatch: pytest.MonkeyPatch, deployed: Situation) -> None:
    monkeypatch.setattr(watch, "PATIENCE", 0.05)
    gate = threading.Event()

    def silent(*_: Any) -> Iterator[str]:
        yield json.dumps(DOCUMENT)
        gate.wait(30)
        yield ""

    box = deployed.box("spark-a")
    monkeypatch.setattr(type(box), "stream", silent)
    documents = watch.watch(deployed.site())
    assert next(documents)["asked"] == "spark-a"
    next(documents)  # spark-b, which is as silent
    lost = next(documents)["lost"]
    gate.set()
    assert lost == "spark-a: no word for 0.05 s; spark-b: no word for 0.05 s"
