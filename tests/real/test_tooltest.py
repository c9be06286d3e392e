"""The tool test against real vLLM whose model has random weights: it fails by its own doing, not by the test's; and
a swap of it, which is as bad as before and so goes live, while nobody's request fails."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.lab.box import Box
from tests.lab.boxes import Lab
from tests.lab.deployment import UNIT, in_both, invocations, until
from tests.lab.floor import Floor
from tests.lab.sites import PORT
from tests.load.running import Running
from tests.real.sites import NATIVE, site

TOOLS = "enforce-eager: true, dtype: float32, enable-auto-tool-choice: true, tool-call-parser: hermes"
TOKENS = 16  # of an answer: what is said is nonsense however long it is
KEY = "/etc/floor/secrets/engine.key"


@pytest.fixture(scope="module")
def floor(real_lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Floor:
    """A copy that takes tools on each box, deployed from bare boxes."""
    floor = Floor(real_lab, tmp_path_factory.mktemp("site"))
    text = site(real_lab, NATIVE).replace("enforce-eager: true, dtype: float32", TOOLS)
    floor.write(text.replace("context: 2048", "context: 8192"))
    for name in real_lab.boxes:
        floor("setup", name, "--yes")
    floor("deploy", timeout=900)
    return floor


def asked(box: Box, command: str, *words: str) -> dict[str, Any]:
    """Run a command of the tool test on a box, against its own engine; return the JSON that it wrote."""
    python = ["/opt/floor/current/bin/python", "-I", "-m", "floor.tooltest", command]
    url = f"http://{box.address}:8000"
    box.run([*python, url, "--key-file", KEY, "--max-tokens", str(TOKENS), *words], timeout=600)
    return dict(json.loads(box.read("/root/result.json")))


def test_random_weights_call_no_tools_and_the_test_itself_is_well(floor: Floor) -> None:
    found = asked(floor.lab.boxes["boxb"], "run", "--tier", "quick", "--output", "/root/result.json")
    figures = found["summary"]
    told = found["tested"]
    print(f"{told}: {figures['behaviour']} of 100, {len(found['trials'])} trials in {found['seconds']:.0f} s")
    assert (told["engine"], told["version"], told["context"]) == ("vllm", "0.32.0", 8192)
    assert len(found["trials"]) >= 18  # all that fit the context
    assert figures["behaviour"] < 10
    assert figures["unanswered"] == 0
    for check in ("accepted", "history-accepted", "own-call-accepted", "well-formed"):
        assert figures["contract"][check]["failed"] == 0, figures["contract"]
    assert figures["contract"]["well-formed"]["applied"] == len(found["trials"])
    assert found["harness_seconds"] <= 0.1 * found["seconds"]


def test_a_swap_loses_no_request(floor: Floor) -> None:
    """Its baseline is short, as the processor is slow; the gate then takes the settings of it."""
    lab, boxa = floor.lab, floor.lab.boxes["boxa"]
    asked(boxa, "baseline", "--tier", "quick", "--trials", "2", "--save", "/root/result.json")
    baseline = Path(floor.folder / "before.json")
    baseline.write_text(boxa.read("/root/result.json"))
    before = invocations(lab)
    until("both copies serve", lambda: in_both(lab), 60)
    url = f"http://{boxa.address}:{PORT}"
    with Running(
        url, "flagship", "--clients", "1", "--tokens", "4", "--stream", "both", enter=lab.client.enter()
    ) as load:
        done = floor("swap", "flagship", "--args", "seed=7", "--baseline", str(baseline), timeout=1200)
        report = load.stop()
    print(f"{report.good} of {report.sent} requests good")
    assert report.failures == [], report.failures[:3]
    assert "take over the baseline that is given" in done.stdout
    after = invocations(lab)
    assert all(before[name][UNIT] != after[name][UNIT] for name in lab.boxes)
    assert json.loads(boxa.read(f"/var/lib/floor/tooltest/{UNIT}.json"))["word"] == "PASS"
    assert floor("deploy").stdout.strip() == "nothing to do"
