"""JUnit's XML for CI: failure is a regression or a broken check, error the endpoint's, skipped what was not run."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement, tostring

from ..contract import names
from ..trial.record import Record
from ..verdict.gate import BLOCK, HOLD, Verdict
from .result import Result
from .summary import checks, errors

NOT_XML = {code: "\ufffd" for code in range(32) if chr(code) not in "\t\n\r"}


def xml(result: Result, verdict: Verdict | None = None) -> str:
    """A test case for each scenario and each check of the contract, and one for the gate where it was asked."""
    root = Element("testsuites", name="floor tooltest")
    scenarios: dict[str, list[Record]] = {}
    for one in result.trials:
        scenarios.setdefault(one.scenario, []).append(one)
    behaviour = [_scenario(name, trials) for name, trials in scenarios.items()]
    behaviour += [_case("behaviour", name, skipped="longer than the context") for name in result.left_out]
    contract = []
    for check in checks(result.trials):
        told = (
            f"{check.failed} of {check.applied} trials, first {check.scenario}: {check.example}" if check.failed else ""
        )
        missing = "" if check.applied else "nothing in this run could show it"
        contract.append(_case("contract", check.name, failure=told, skipped=missing, text=names.CHECKS[check.name]))
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
    root = Element("testsuites", name="floor tooltest")
    _suite(root, "gate", [_case("gate", "gate", skipped=reason)])
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _suite(root: Element, name: str, cases: Sequence[Element]) -> None:
    counts = {kind + "s": str(sum(one.find(kind) is not None for one in cases)) for kind in ("failure", "error")}
    skipped = str(sum(one.find("skipped") is not None for one in cases))
    suite = SubElement(root, "testsuite", {"name": name, "tests": str(len(cases)), **counts, "skipped": skipped})
    suite.extend(cases)


def _scenario(name: str, trials: Sequence[Record]) -> Element:
    """A scenario fails where more than half of its worth is gone, and is an error where the endpoint failed it."""
    worth = sum(one.score for one in trials) / len(trials)
    failed = errors(trials)
    reason = next((one.reason for one in trials if one.score < 1), "")
    words = f"{worth:.2f} of 1: {reason}" if worth < 0.5 else ""
    case = _case("behaviour", name, failure="" if failed else words, error=failed[0].error if failed else "")
    case.set("time", f"{sum(one.seconds for one in trials):.3f}")
    return case


def _case(group: str, name: str, *, failure: str = "", error: str = "", skipped: str = "", text: str = "") -> Element:
    case = Element("testcase", {"classname": f"tooltest.{group}", "name": name})
    for kind, words in (("error", error), ("failure", failure), ("skipped", skipped)):
        if words:
            SubElement(case, kind, message=words.translate(NOT_XML)[:500]).text = text or None
            break
    return case
