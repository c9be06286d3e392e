"""JUnit's XML for CI: failure is a regression, error the endpoint's, skipped what was not run or not decided.

Where a gate judges, its verdict alone makes CI red: what a build fails at that the one before failed at as well is told
beside (`system-out`). A run without a verdict knows no build before, and calls a failure what it failed at.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from xml.etree.ElementTree import Element, SubElement, tostring

from ..contract import names
from ..trial.record import Record
from ..verdict import score
from ..verdict.gate import BLOCK, HOLD, Verdict
from .result import Result
from .summary import Check, checks, errors

NOT_XML = {code: "\ufffd" for code in range(32) if chr(code) not in "\t\n\r"}


def xml(result: Result, verdict: Verdict | None = None, before: Result | None = None) -> str:
    """A test case for each scenario and each check of the contract, and one for the gate where it was asked, with what
    it compared with (`before`)."""
    root = Element("testsuites", name="floor tooltest")
    scenarios: dict[str, list[Record]] = {}
    for one in result.trials:
        scenarios.setdefault(one.scenario, []).append(one)
    was = score.by_scenario(before.trials) if before else {}
    counts = verdict is None or verdict.word == BLOCK
    behaviour = [_scenario(name, trials, was.get(name, ()), counts) for name, trials in scenarios.items()]
    behaviour += [_case("behaviour", name, skipped="longer than the context") for name in result.left_out]
    broken = {one.check for one in verdict.broken} if verdict else set(names.CHECKS)
    contract = [_check(check, counts and check.name in broken) for check in checks(result.trials)]
    suites = {"behaviour": behaviour, "contract": contract}
    if verdict is not None:
        words = "; ".join(verdict.reasons)
        suites["gate"] = [
            _case(
                "gate",
                "gate",
                failure=words if verdict.word == BLOCK else "",
                skipped=words if verdict.word == HOLD else "",
            )
        ]
    for name, cases in suites.items():
        _suite(root, name, cases)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def refused(reason: str) -> str:
    """The XML of a gate that could not compare: one test case, skipped."""
    return _alone(_case("gate", "gate", skipped=reason))


def down(reason: str) -> str:
    """The XML of a run that came to no end, as its endpoint or the test itself had gone: one test case, an error."""
    return _alone(_case("gate", "gate", error=reason))


def _alone(case: Element) -> str:
    root = Element("testsuites", name="floor tooltest")
    _suite(root, "gate", [case])
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _suite(root: Element, name: str, cases: Sequence[Element]) -> None:
    counts = {kind + "s": str(sum(one.find(kind) is not None for one in cases)) for kind in ("failure", "error")}
    skipped = str(sum(one.find("skipped") is not None for one in cases))
    suite = SubElement(root, "testsuite", {"name": name, "tests": str(len(cases)), **counts, "skipped": skipped})
    suite.extend(cases)


def _scenario(name: str, trials: Sequence[Record], was: Sequence[float], counts: bool) -> Element:
    """A scenario fails where more than half of its worth is gone, which was there before (`was`: its scores then), and
    is an error where the endpoint failed it. Where that does not count (`counts`) it is told beside."""
    worth = fmean(one.score for one in trials)
    failed = errors(trials)
    reason = next((one.reason for one in trials if one.score < 1), "")
    words = f"{worth:.2f} of 1: {reason}" if worth < 0.5 else ""
    error = failed[0].error if failed else ""
    if counts and (error or not was or worth < fmean(was)):
        case = _case("behaviour", name, failure="" if failed else words, error=error)
    else:
        case = _case("behaviour", name, beside=error or words)
    case.set("time", f"{sum(one.seconds for one in trials):.3f}")
    return case


def _check(check: Check, counts: bool) -> Element:
    told = f"{check.failed} of {check.applied} trials, first {check.scenario}: {check.example}" if check.failed else ""
    if not check.applied:
        return _case("contract", check.name, skipped="nothing in this run could show it")
    if not counts:
        return _case("contract", check.name, beside=told)
    return _case("contract", check.name, failure=told, text=names.CHECKS[check.name])


def _case(
    group: str, name: str, *, failure: str = "", error: str = "", skipped: str = "", beside: str = "", text: str = ""
) -> Element:
    case = Element("testcase", {"classname": f"tooltest.{group}", "name": name})
    for kind, words in (("error", error), ("failure", failure), ("skipped", skipped)):
        if words:
            SubElement(case, kind, message=words.translate(NOT_XML)[:500]).text = text or None
            break
    if beside:
        SubElement(case, "system-out").text = beside.translate(NOT_XML)[:500]
    return case
