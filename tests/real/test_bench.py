"""`floor bench` beside `vllm bench serve`, which people trust: the same requests to the same real vLLM, in turn.

What a machine gives changes from minute to minute, so each is held against what the engine itself counted meanwhile.
"""

from __future__ import annotations

import json
import os
import random
import re
import statistics
import threading
import time
from itertools import pairwise
from pathlib import Path
from typing import Self

import httpx
import pytest

from floor.bench.load import SETTLE
from tests.lab.box import Box
from tests.lab.boxes import Lab
from tests.lab.commands import run
from tests.lab.floor import Floor
from tests.real.engine import PORT, await_ready, serve_natively
from tests.real.environment import ENVIRONMENT, MODEL, vllm_environment
from tests.real.tiny_model import VOCABULARY

AT, PROMPT, ANSWER = 4, 64, 64  # requests at once; tokens of each prompt and answer
ROUNDS, SECONDS, PROMPTS = 3, 20, 80
TOKENS = re.compile(r"^vllm:generation_tokens_total\{[^}]*\} (\S+)$", re.MULTILINE)
AGREE = 0.05  # the stated part by which they may differ; the test fails beyond twice that


@pytest.fixture(scope="module")
def engine(real_lab: Lab) -> Box:
    box = real_lab.boxes["boxa"]
    serve_natively(box)
    await_ready(box, 300)
    return box


class Counted:
    """The engine's own count of generated tokens, again and again while something runs. Use as a context manager."""

    def __init__(self, box: Box) -> None:
        self._url = f"http://{box.address}:{PORT}/metrics"
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self.seen: list[tuple[float, float]] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        with httpx.Client() as client:
            while not self._over.wait(0.2):
                found = TOKENS.search(client.get(self._url, timeout=30).text)
                assert found, "no count of tokens in the engine's metrics"
                self.seen.append((time.monotonic(), float(found[1])))

    @property
    def first(self) -> float:
        """When the first token of all was counted."""
        return next(at for (_, before), (at, now) in pairwise(self.seen) if now > before)

    @property
    def last(self) -> float:
        """When the last one was."""
        return [at for (_, before), (at, now) in pairwise(self.seen) if now > before][-1]

    def rate(self, start: float, end: float) -> float:
        """Tokens a second between two moments."""
        return (self._at(end) - self._at(start)) / (end - start)

    def _at(self, moment: float) -> float:
        for (before, low), (after, high) in pairwise(self.seen):
            if before <= moment <= after:
                return low + (high - low) * (moment - before) / (after - before)
        return self.seen[-1][1]


def floors(floor: Floor, box: Box, number: int) -> tuple[float, float]:
    """Tokens a second as `floor bench` tells them of the part of the level that counts, and as the engine does."""
    chance = random.Random(number)  # noqa: S311 -- no secret
    body = {"max_tokens": ANSWER, "ignore_eos": True, "temperature": 0}  # as the other one asks
    prompts = [[chance.randrange(100, VOCABULARY - 1) for _ in range(PROMPT)] for _ in range(400)]
    traffic = floor.folder / f"traffic-{number}.jsonl"
    traffic.write_text("".join(json.dumps({**body, "prompt": prompt}) + "\n" for prompt in prompts))
    words = ["bench", "tiny", "--url", f"http://{box.address}:{PORT}", "--levels", str(AT), "--seconds", str(SECONDS)]
    words += ["--traffic", str(traffic), "--out", str(floor.folder / f"run-{number}.json"), "--json"]
    with Counted(box) as counted:
        level = json.loads(floor(*words).stdout)["levels"][0]
    assert level["errors"] == 0
    began = counted.first
    return float(level["tokens_per_second"]), counted.rate(began + SETTLE * SECONDS, began + SECONDS)


def theirs(box: Box, folder: Path, number: int) -> tuple[float, float]:
    """Tokens a second as `vllm bench serve` measures them over all its requests, and as the engine does."""
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
    words += ["--base-url", f"http://{box.address}:{PORT}", "--model", "tiny", "--tokenizer", str(box.shows[MODEL])]
    words += ["--dataset-name", "random", "--random-input-len", str(PROMPT), "--random-output-len", str(ANSWER)]
    words += ["--num-prompts", str(PROMPTS), "--max-concurrency", str(AT), "--ignore-eos", "--seed", str(number)]
    words += ["--save-result", "--result-dir", str(folder), "--result-filename", f"theirs-{number}.json"]
    with Counted(box) as counted:
        run([python, *words], timeout=400, env=os.environ | ENVIRONMENT)
    found = json.loads((folder / f"theirs-{number}.json").read_text())
    assert found["completed"] == PROMPTS
    # Before it measures it sends one request to see whether there is an engine.
    return float(found["output_throughput"]), counted.rate(counted.last - found["duration"], counted.last)


def test_both_measure_the_same_throughput(engine: Box, real_lab: Lab, tmp_path: Path) -> None:
    floor = Floor(real_lab, tmp_path)
    pairs = [(floors(floor, engine, number), theirs(engine, tmp_path, number)) for number in range(ROUNDS)]
    ours = statistics.median(told / counted for (told, counted), _ in pairs)
    others = statistics.median(told / counted for _, (told, counted) in pairs)
    print(f"tokens a second, told and counted, of ours and theirs: {pairs}")
    print(f"of what the engine counted ours tells {ours:.1%}, theirs {others:.1%}: {ours / others - 1:+.1%}")
    assert abs(ours / others - 1) < 2 * AGREE
