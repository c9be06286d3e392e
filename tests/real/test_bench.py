"""`floor bench` beside `vllm bench serve`, which people trust: the same requests to the same real vLLM, in turn."""

from __future__ import annotations

import json
import os
import random
import statistics
from pathlib import Path

import pytest

from tests.lab.box import Box
from tests.lab.boxes import Lab
from tests.lab.commands import run
from tests.lab.floor import Floor
from tests.real.engine import PORT, await_ready, serve_natively
from tests.real.environment import ENVIRONMENT, vllm_environment
from tests.real.tiny_model import VOCABULARY

AT, PROMPT, ANSWER = 4, 64, 64  # requests at once; tokens of each prompt and answer
ROUNDS, SECONDS, PROMPTS = 3, 20, 120
AGREE = 0.05  # the stated part by which they may differ; the test fails beyond twice that


@pytest.fixture(scope="module")
def engine(real_lab: Lab) -> Box:
    box = real_lab.boxes["boxa"]
    serve_natively(box)
    await_ready(box, 300)
    return box


def floors(floor: Floor, box: Box, number: int) -> float:
    """Tokens a second as `floor bench` measures them."""
    chance = random.Random(number)  # noqa: S311 -- no secret
    body = {"max_tokens": ANSWER, "ignore_eos": True}
    prompts = [[chance.randrange(100, VOCABULARY - 1) for _ in range(PROMPT)] for _ in range(400)]
    traffic = floor.folder / f"traffic-{number}.jsonl"
    traffic.write_text("".join(json.dumps({**body, "prompt": prompt}) + "\n" for prompt in prompts))
    words = ["bench", "tiny", "--url", f"http://{box.address}:{PORT}", "--levels", str(AT), "--seconds", str(SECONDS)]
    words += ["--traffic", str(traffic), "--out", str(floor.folder / f"run-{number}.json"), "--json"]
    found = json.loads(floor(*words).stdout)
    assert found["levels"][0]["errors"] == 0
    return float(found["levels"][0]["tokens_per_second"])


def theirs(box: Box, folder: Path, number: int) -> float:
    """Tokens a second as `vllm bench serve` measures them."""
    python = vllm_environment() / "bin/python3"
    words = [
        "-m",
        "vllm.entrypoints.cli.main",
        "bench",
        "serve",
        "--backend",
        "openai",
        "--endpoint",
        "/v1/completions",
    ]
    words += ["--base-url", f"http://{box.address}:{PORT}", "--model", "tiny", "--tokenizer", "/models/tiny"]
    words += ["--dataset-name", "random", "--random-input-len", str(PROMPT), "--random-output-len", str(ANSWER)]
    words += ["--num-prompts", str(PROMPTS), "--max-concurrency", str(AT), "--ignore-eos", "--seed", str(number)]
    words += ["--save-result", "--result-dir", str(folder), "--result-filename", f"theirs-{number}.json"]
    tokenizer = box.shows["/models/tiny"]
    words[words.index("/models/tiny")] = str(tokenizer)
    run([python, *words], timeout=400, env=os.environ | ENVIRONMENT)
    found = json.loads((folder / f"theirs-{number}.json").read_text())
    assert found["completed"] == PROMPTS
    return float(found["output_throughput"])


def test_both_measure_the_same_throughput(engine: Box, real_lab: Lab, tmp_path: Path) -> None:
    floor = Floor(real_lab, tmp_path)
    pairs = [(floors(floor, engine, number), theirs(engine, tmp_path, number)) for number in range(ROUNDS)]
    ours, others = (statistics.median(values) for values in zip(*pairs, strict=True))
    print(f"tokens a second, ours and theirs: {pairs}; medians {ours:.1f} and {others:.1f}: {ours / others - 1:+.1%}")
    assert abs(ours / others - 1) < 2 * AGREE
