"""Headless Chromium (Debian package chromium), driven through its debugging pipe: no port, no driver beside it.

Protocol: https://chromedevtools.github.io/devtools-protocol/
"""

from __future__ import annotations

import base64
import json
import os
import select
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

# A root's Chromium has no sandbox of its own; /dev/shm is small in containers.
WORDS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
    "--force-color-profile=srgb", "--hide-scrollbars", "--remote-debugging-pipe",
)  # fmt: skip
# Shifts of what is drawn already, from the first drawing on: https://web.dev/articles/cls
SHIFTS = """
window.shifts = [];
new PerformanceObserver((list) => {
  const told = (source) => source.node && (source.node.outerHTML || source.node.textContent).slice(0, 80);
  for (const one of list.getEntries()) window.shifts.push([one.value, one.sources.map(told)]);
}).observe({type: "layout-shift", buffered: true});
"""


class Browser:
    """One page. `said` are the console's errors and warnings, exceptions and requests that failed. Use as a context
    manager; `enter` are words before the command (another network namespace)."""

    def __init__(self, folder: Path, enter: Sequence[str] = (), size: tuple[int, int] = (1280, 900)) -> None:
        self.said: list[str] = []
        self._folder, self._enter, self._size = folder, list(enter), size
        self._number, self._rest, self._answers = 0, b"", {}  # type: tuple[int, bytes, dict[int, Any]]

    def __enter__(self) -> Self:
        theirs_in, self._out = os.pipe()
        self._in, theirs_out = os.pipe()
        words = [*self._enter, "chromium", *WORDS, f"--user-data-dir={self._folder}", "about:blank"]
        script = f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}'
        with self._folder.with_suffix(".log").open("w") as log:
            self._process = subprocess.Popen(
                ["bash", "-c", script, "chromium", *words],
                pass_fds=(theirs_in, theirs_out),
                stdout=subprocess.DEVNULL,
                stderr=log,
                start_new_session=True,
            )
        os.close(theirs_in)
        os.close(theirs_out)
        targets = self._call("Target.getTargets", session=None)["targetInfos"]
        page = next(one["targetId"] for one in targets if one["type"] == "page")
        self._session = self._call("Target.attachToTarget", {"targetId": page, "flatten": True}, session=None)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable")
        self._call("Page.addScriptToEvaluateOnNewDocument", {"source": SHIFTS})
        self.resize(*self._size)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        os.close(self._out)  # it ends when its pipe does
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, 9)
            self._process.wait(10)
        os.close(self._in)

    def open(self, url: str) -> None:
        """Go to a page."""
        found = self._call("Page.navigate", {"url": url})
        assert not found.get("errorText"), f"{url}: {found['errorText']}"
        self.until("document.readyState === 'complete' && location.protocol !== 'about:'", 20)

    def resize(self, width: int, height: int, *, phone: bool = False) -> None:
        """Give the page another size, in its own pixels."""
        self._call(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 2 if phone else 1, "mobile": phone},
        )

    def colours(self, scheme: str) -> None:
        """Ask for `light` or `dark`."""
        self._call("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})

    def ask(self, script: str) -> Any:
        """Return what an expression is worth on the page."""
        found = self._call("Runtime.evaluate", {"expression": script, "returnByValue": True, "awaitPromise": True})
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def until(self, script: str, seconds: float) -> float:
        """Wait until an expression is true on the page; return the seconds it took."""
        began = time.monotonic()
        while not self.ask(script):
            took = time.monotonic() - began
            assert took < seconds, f"{script}: not within {seconds} s; the page says {self.text()[:2000]}; {self.said}"
            time.sleep(0.05)
        return time.monotonic() - began

    def text(self) -> str:
        """All that the page shows."""
        return str(self.ask("document.body.innerText"))

    def shot(self, path: Path, *, whole: bool = True) -> None:
        """Write a picture of the page, all of it or what is in the window."""
        found = self._call("Page.captureScreenshot", {"format": "png", "captureBeyondViewport": whole})
        path.write_bytes(base64.b64decode(found["data"]))

    def accessible(self) -> list[dict[str, Any]]:
        """The tree that a screen reader is given: role and name of each node."""
        nodes = self._call("Accessibility.getFullAXTree")["nodes"]
        return [
            {"role": node.get("role", {}).get("value"), "name": node.get("name", {}).get("value", "")}
            for node in nodes
            if not node.get("ignored")
        ]

    def listen(self) -> None:
        """Take what has come without an answer being waited for."""
        while select.select([self._in], [], [], 0)[0]:
            self._read()

    def _call(self, method: str, params: dict[str, Any] | None = None, session: str | None = "own") -> Any:
        self._number += 1
        asked: dict[str, Any] = {"id": self._number, "method": method, "params": params or {}}
        if session is not None:
            asked["sessionId"] = self._session
        os.write(self._out, json.dumps(asked).encode() + b"\0")
        ends = time.monotonic() + 30
        while self._number not in self._answers:
            assert time.monotonic() < ends, f"chromium does not answer {method}"
            if select.select([self._in], [], [], 1)[0]:
                self._read()
        answer = self._answers.pop(self._number)
        assert "error" not in answer, f"{method}: {answer['error']}"
        return answer["result"]

    def _read(self) -> None:
        chunk = os.read(self._in, 1 << 20)
        assert chunk, f"chromium has ended: {self._folder.with_suffix('.log').read_text()[-2000:]}"
        *whole, self._rest = (self._rest + chunk).split(b"\0")
        for one in map(json.loads, whole):
            if "id" in one:
                self._answers[one["id"]] = one
            else:
                self._event(one["method"], one.get("params") or {})

    def _event(self, method: str, params: dict[str, Any]) -> None:
        tell: dict[str, Callable[[], str]] = {
            "Runtime.exceptionThrown": lambda: f"exception: {params['exceptionDetails']}",
            "Runtime.consoleAPICalled": lambda: f"console.{params['type']}: {params['args']}",
            "Log.entryAdded": lambda: f"{params['entry']['level']}: {params['entry']['text']}",
            "Network.loadingFailed": lambda: f"loading failed: {params}",
        }
        if method in tell:
            self.said.append(tell[method]())
