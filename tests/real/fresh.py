"""Tokens a second as a client sees them: streams through the proxy, timed by the client's own clock.

Written apart from what floor measures by, so that one can be held against the other.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence

from tests.lab.boxes import Lab
from tests.lab.sites import MODEL, proxy

TRIES = 3
_SCRIPT = """
import json, sys, threading, time, urllib.request
url, body, streams = sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3])
seen = [[] for _ in range(streams)]
def one(number):
    body_of_its_own = {**body, "prompt": [(n * 7 + number * 13 + body["seed"]) % 500 + 10 for n in body["prompt"]]}
    data = json.dumps(body_of_its_own).encode()
    asked = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(asked, timeout=120) as answer:
        for line in answer:
            if line.startswith(b"data: {"):
                seen[number].append(time.monotonic())
threads = [threading.Thread(target=one, args=(number,)) for number in range(streams)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(json.dumps(seen))
"""


def streaming(lab: Lab, streams: int, prompt: int, tokens: int) -> float:
    """Given how many streams run at once, and the tokens of each prompt and answer, return the tokens a second of all
    together, counted from when all have begun until the first ends: the middle of some tries."""
    return statistics.median(_once(lab, streams, prompt, tokens, seed) for seed in range(TRIES))


def _once(lab: Lab, streams: int, prompt: int, tokens: int, seed: int) -> float:
    body = {
        "model": MODEL,
        "prompt": list(range(prompt)),
        "seed": seed,
        "max_tokens": tokens,
        "min_tokens": tokens,
        "ignore_eos": True,
        "temperature": 0,
        "stream": True,
    }
    words = ["python3", "-c", _SCRIPT, f"{proxy(lab)}/v1/completions", json.dumps(body), str(streams)]
    seen: Sequence[Sequence[float]] = json.loads(lab.client.run(words, timeout=180).stdout)
    assert all(8 <= len(times) <= tokens for times in seen), [len(times) for times in seen]
    begin, end = max(times[0] for times in seen), min(times[-1] for times in seen)
    # On a busy machine vLLM puts several tokens into one event; there are as many in all as were asked for.
    made = sum((tokens - 1) / (len(times) - 1) * sum(begin < at <= end for at in times) for times in seen)
    return made / (end - begin)
