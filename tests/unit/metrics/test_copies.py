"""What is remembered of a copy between looks, and kept over a restart of the service."""

from __future__ import annotations

from pathlib import Path

import pytest

from floor.errors import FloorError
from floor.healthcheck.sample import Answer, Fault
from floor.metrics import records
from floor.metrics.copies import Copy, Gone, own, parts
from floor.metrics.exposition import Reader
from floor.metrics.look import PAGE_LIMIT, Look, read
from floor.metrics.merge import REMOVED
from floor.metrics.settings import Backend
from floor.metrics.values import Family

BUSY = (Path(__file__).parents[2] / "cases" / "vllm" / "metrics_busy.txt").read_bytes()
BACKEND = Backend("m@a", "http://10.0.0.1:8000", "a", "m", "vllm", key=True)
DOWN = Look("refused", "connection refused", 0.1)


def answered(body: bytes, status: int = 200, backend: Backend = BACKEND) -> Look:
    return read(backend, Answer("GET /metrics", status, None, "", 0.1), body, Reader(), 0.1)


def flat(families: list[Family]) -> dict[str, object]:
    return {
        family.name + "".join(f" {text}" for label, text in labels if label == "reason"): value
        for family in families
        for labels, value in family.children.items()
    }


def test_a_failed_look_holds_counters_for_good_and_gauges_for_a_while() -> None:
    copy = Copy(BACKEND)
    copy.take(answered(BUSY), 100.0)
    copy.take(DOWN, 105.0)
    soon, late = copy.part(110.0, 18.0).figures, copy.part(200.0, 18.0).figures
    assert soon["requests_running"] == 4
    assert "requests_running" not in late
    assert soon["generated_tokens_total"] == late["generated_tokens_total"] == 2971


def test_what_is_told_of_looks() -> None:
    copy = Copy(BACKEND)
    assert flat(own([copy], 90.0))["floor_target_reason not_yet"] == 1
    copy.take(answered(BUSY), 100.0)
    copy.take(DOWN, 105.0)
    copy.take(DOWN, 110.0)
    found = flat(own([copy], 112.0))
    assert found == {
        "floor_target_up": 0,
        "floor_target_reason refused": 1,
        "floor_target_age_seconds": 12,
        "floor_target_look_seconds": 0.1,
        "floor_target_failures_total refused": 2,
        "floor_target_restarts_total": 0,
    }


@pytest.mark.parametrize(
    ("body", "status", "reason", "detail"),
    [
        (b"<html>", 502, "http_502", "GET /metrics answered 502"),
        (b'{"error": 1}', 501, "http_501", "GET /metrics answered 501; llama.cpp shows metrics with --metrics alone"),
        (b"<html>\n", 200, "unreadable", "the page line 1 is no metric: '<html>'"),
        (b"", 200, "unreadable", "the page holds no metric"),
        (b"a 1\n" * (PAGE_LIMIT // 4), 200, "too_long", "the page is longer than 2097152 bytes"),
    ],
)
def test_reasons(body: bytes, status: int, reason: str, detail: str) -> None:
    found = answered(body, status)
    assert (found.up, found.reason, found.detail) == (False, reason, detail)


@pytest.mark.parametrize("fault", list(Fault))
def test_every_fault_has_a_word(fault: Fault) -> None:
    found = read(BACKEND, Answer("GET /metrics", None, fault, "words", 0.1), b"", Reader(), 0.1)
    assert (found.reason, found.detail) == (str(fault), "words")


def test_an_ollama_that_is_not_seen_is_not_shown_as_it_was() -> None:
    copy = Copy(Backend("m@a", "http://h:1", "a", "m", "ollama", key=False))
    copy.take(answered(b'{"models": []}', backend=copy.backend), 100.0)
    assert copy.part(101.0, 18.0).figures == {"loaded": 0.0}
    assert copy.part(200.0, 18.0).figures == {}


def test_a_restart_of_the_service_loses_nothing() -> None:
    copy = Copy(BACKEND)
    copy.take(answered(BUSY), 100.0)
    kept = records.restore(records.compose([copy], []), "state.json")
    fresh = Copy(BACKEND, past=kept["m@a"].past)
    assert fresh.past == copy.past
    fresh.take(answered(BUSY.replace(b"1.79600774693e+09", b"1.8e+09")), 200.0)
    assert fresh.part(200.0, 18.0).figures["generated_tokens_total"] == 2 * 2971
    again = records.restore(records.compose([fresh], []), "state.json")["m@a"].past
    assert again == fresh.past


def test_a_removed_copy_stays_in_the_sums_and_comes_back_without_counting_twice() -> None:
    copy = Copy(BACKEND)
    copy.take(answered(BUSY), 100.0)
    kept = records.restore(records.compose([copy], []), "state.json")
    other = Copy(Backend("m@b", "http://10.0.0.2:8000", "b", "m", "vllm", key=True))
    other.take(answered(BUSY), 100.0)
    found = {
        part.copy: part.figures["generated_tokens_total"] for part in parts([other], [*kept.values()], 100.0, 18.0)
    }
    assert found == {"m@b": 2971, REMOVED: 2971}
    back = records.restore(records.compose([other], [*kept.values()]), "state.json")["m@a"]
    copy = Copy(BACKEND, past=back.past)
    copy.take(answered(BUSY), 200.0)
    assert copy.part(200.0, 18.0).figures["generated_tokens_total"] == 2971


def test_what_another_model_counted_is_no_part_of_this_one() -> None:
    copy = Copy(BACKEND)
    copy.take(answered(BUSY), 100.0)
    assert [part.copy for part in parts([copy], [Gone("n@a", "n", "vllm", copy.past)], 100.0, 18.0)] == ["m@a"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is no record of floor-metrics"),
        ("[]", "is no record of floor-metrics"),
        ('{"version": 7}', "is of another version of floor"),
        ('{"version": 1, "copies": {"a": {}}}', "is no record of floor-metrics"),
        ('{"version": 1, "copies": {"a": {"started": null, "base": [["x", "odd", "", []]]}}}', "is no record"),
    ],
)
def test_a_record_that_is_none(text: str, says: str) -> None:
    with pytest.raises(FloorError, match=says):
        records.restore(text, "state.json")
