"""What a real nginx makes of our quoting: it answers with the texts it was given."""

from __future__ import annotations

import http.client
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from floor.render import nginx
from tests import argv
from tests.integration.proxy import NGINX, free_port

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=60) | st.text(
    "${}\"'\\ ;#\n\tnrt", min_size=1, max_size=12
)


@contextmanager
def _nginx(texts: list[str]) -> Iterator[int]:
    """An nginx that answers /N with text N."""
    port = free_port()
    places = "\n".join(f"location = /{number} {{ return 200 {nginx(text)}; }}" for number, text in enumerate(texts))
    names = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    with tempfile.TemporaryDirectory(prefix="fl-", dir="/tmp") as folder:
        temporary = "\n".join(f"{name}_temp_path {folder}/{name};" for name in names)
        conf = Path(folder) / "nginx.conf"
        conf.write_text(
            f"pid {folder}/pid; error_log stderr; worker_processes 1; events {{ }}\n"
            f'http {{ access_log off; {temporary}\n geo $floor_dollar {{ default "$"; }}\n'
            f"server {{ listen 127.0.0.1:{port};\n{places}\n}} }}\n",
            encoding="utf-8",
        )
        process = subprocess.Popen([NGINX, "-e", "stderr", "-c", str(conf), "-g", "daemon off;"])
        try:
            yield port
        finally:
            process.terminate()
            process.wait()


def _answers(port: int, count: int) -> list[str]:
    deadline = time.monotonic() + 5
    while True:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        try:
            connection.connect()
            break
        except ConnectionRefusedError:
            assert time.monotonic() < deadline, "nginx does not start"
            time.sleep(0.01)
    found = []
    for number in range(count):
        connection.request("GET", f"/{number}")
        answer = connection.getresponse()
        assert answer.status == 200
        found.append(answer.read().decode())
    connection.close()
    return found


def test_every_nasty_word_comes_back() -> None:
    with _nginx(argv.words()) as port:
        assert _answers(port, len(argv.words())) == argv.words()


@settings(max_examples=8, deadline=None)
@given(st.lists(TEXTS, min_size=40, max_size=80))
def test_any_text_comes_back(texts: list[str]) -> None:
    with _nginx(texts) as port:
        assert _answers(port, len(texts)) == texts
