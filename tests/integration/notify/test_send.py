"""A message to a command's stdin and to a web hook, and what is said when nobody takes it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from floor.errors import FloorError
from floor.notify.decide import Message
from floor.notify.send import send
from floor.notify.settings import Notify

NEWS = Message("lost flagship@spark-a", "new", "flagship@spark-a is out: refused")


@pytest.fixture
def hook() -> Iterator[Any]:
    """A web hook that keeps what it is sent; `status` is what it answers."""

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["content-length"])
            server.taken.append(json.loads(self.rfile.read(length)))  # type: ignore[attr-defined]
            self.send_response(server.status)  # type: ignore[attr-defined]
            self.end_headers()

        def log_message(self, *_given: Any) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Hook)
    server.taken, server.status = [], 200  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_web_hook(hook: Any, tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{hook.server_port}/hook/secret"
    send(Notify(webhook=url), "spark-a", NEWS)
    (tmp_path / "hook").write_text(url + "\n")
    send(Notify(webhook_file=Path("/hook")), "spark-a", Message("k", "over", "it"), tmp_path)
    assert hook.taken == [
        {
            "text": "floor on spark-a: flagship@spark-a is out: refused",
            "box": "spark-a",
            "key": "lost flagship@spark-a",
            "state": "new",
        },
        {"text": "floor on spark-a: over: it", "box": "spark-a", "key": "k", "state": "over"},
    ]


def test_a_web_hook_that_does_not_take_it(hook: Any, tmp_path: Path) -> None:
    hook.status = 500
    url = f"http://127.0.0.1:{hook.server_port}/hook/secret"
    with pytest.raises(FloorError, match=r"^the web hook answered 500$"):
        send(Notify(webhook=url), "spark-a", NEWS)
    with pytest.raises(FloorError, match=r"^the web hook did not answer \(ConnectError\)$"):
        send(Notify(webhook="http://127.0.0.1:9/hook/secret"), "spark-a", NEWS)
    with pytest.raises(FloorError, match="the web hook's address cannot be read"):
        send(Notify(webhook_file=Path("/hook")), "spark-a", NEWS, tmp_path)


def test_a_command(tmp_path: Path) -> None:
    send(Notify(command=("/bin/sh", "-c", f"cat > {tmp_path}/told")), "spark-a", NEWS)
    assert json.loads((tmp_path / "told").read_text())["text"].endswith("flagship@spark-a is out: refused")
    with pytest.raises(FloorError, match=r"^notify.command /bin/sh: no line$"):
        send(Notify(command=("/bin/sh", "-c", "echo no line >&2; exit 3")), "spark-a", NEWS)
    with pytest.raises(FloorError, match=r"^notify.command /no/such: /no/such: not installed$"):
        send(Notify(command=("/no/such",)), "spark-a", NEWS)
