"""nginx as it is written by hand in five lines, and the backend that both proxies stand in front of."""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NGINX = "/usr/sbin/nginx"
TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
# The plainest proxy: every setting is nginx's default, but for as many workers as there are cores, as floor's has.
PROXY = """\
upstream engines {{ server 127.0.0.1:{backend}; }}
server {{
    listen 127.0.0.1:{port};
    location / {{ proxy_pass http://engines; }}
}}"""
BACKEND = """\
access_log off;
keepalive_requests 1000000;
server {{
    listen 127.0.0.1:{port};
    default_type application/json;
    location / {{ return 200 '{{"choices":[{{"message":{{"role":"assistant","content":"ok"}}}}]}}'; }}
}}"""


def free_port() -> int:
    """A port of this machine that nothing listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def nginx(http: str, port: int, workers: str) -> Iterator[None]:
    """Run an nginx with the content of its http block, and return once it answers on `port`."""
    folder = Path(tempfile.mkdtemp(prefix="fl-bench-"))
    folder.chmod(0o755)
    paths = "\n".join(f"{name}_temp_path {folder}/{name};" for name in TEMPORARY)
    (folder / "nginx.conf").write_text(
        f"worker_processes {workers};\npid {folder}/pid;\nerror_log {folder}/error.log;\nevents {{ }}\n"
        f"http {{\n{paths}\naccess_log {folder}/access.log;\n{http}\n}}\n"
    )
    command = [NGINX, "-e", "stderr", "-c", str(folder / "nginx.conf"), "-g", "daemon off;"]
    process = subprocess.Popen(command)
    try:
        wait(port, process)
        yield
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(folder)


def wait(port: int, process: subprocess.Popen[bytes]) -> None:
    """Return once something answers on `port`. Raise RuntimeError when the process ended before."""
    while True:
        if process.poll() is not None:
            raise RuntimeError("nginx did not start; what it said stands above")
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
