"""The address that the lab's proxies share: who holds it, who held it meanwhile, and when it is served."""

from __future__ import annotations

import json
import threading
import time
from types import TracebackType
from typing import Self

from tests.lab.boxes import Lab
from tests.lab.commands import run
from tests.lab.sites import MODEL, PORT

UNIT = "floor-address.service"


def shared(lab: Lab) -> str:
    """The address that the proxies share."""
    return f"{lab.subnet}.10"


def holders(lab: Lab) -> list[str]:
    """The boxes that have the address, as their networks say: asked from outside, it takes milliseconds."""
    found = []
    for box in lab.boxes.values():
        if not box.is_on():
            continue  # its network outlives it here, with all addresses
        said = run(["ip", "-n", box.wire.name, "-o", "address", "show", "dev", "eth0", "to", shared(lab)], check=False)
        if said.stdout.strip():
            found.append(box.name)
    return found


def one(lab: Lab) -> str:
    """The box that holds the address; empty unless it is just one."""
    found = holders(lab)
    return found[0] if len(found) == 1 else ""


class Watched:
    """Looks again and again at who holds the address, until it is left. `both` is the longest time in which two did,
    `nobody` in which nobody did, in seconds; `last` when the last two were seen."""

    def __init__(self, lab: Lab) -> None:
        self._lab, self._over = lab, threading.Event()
        self._thread = threading.Thread(target=self._look)
        self.both = self.nobody = 0.0
        self.last = 0.0

    def _look(self) -> None:
        since = {0: 0.0, 2: 0.0}
        while not self._over.wait(0.02):
            now, count = time.monotonic(), len(holders(self._lab))
            for wrong in since:
                since[wrong] = (since[wrong] or now) if count == wrong else 0.0
            if count == 2:
                self.last = now
            self.both = max(self.both, now - since[2] if since[2] else 0.0)
            self.nobody = max(self.nobody, now - since[0] if since[0] else 0.0)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._over.set()
        self._thread.join()


def served(lab: Lab, since: float, within: float) -> float:
    """Ask for a short chat through the address again and again, each a new connection; return the seconds from `since`
    (monotonic) to the first answer. Fails after `within` seconds."""
    body = {"model": MODEL, "messages": [{"role": "user", "content": "hello"}], "max_tokens": 1}
    url = f"http://{shared(lab)}:{PORT}/v1/chat/completions"
    words = ["curl", "-sS", "--connect-timeout", "0.3", "-m", "3", "-o", "/dev/null", "-w", "%{http_code}"]
    words += ["-H", "Content-Type: application/json", "-d", json.dumps(body), url]
    said = ""
    while time.monotonic() - since < within:
        done = lab.client.run(words, check=False)
        said = f"{done.stdout} {done.stderr}"
        if done.stdout == "200":
            return time.monotonic() - since
        time.sleep(0.05)
    raise AssertionError(f"{shared(lab)} is not served within {within} s: {said}")
