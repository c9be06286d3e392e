"""A proxy box in a temporary folder: real nginx, the real pool, status ports of two boxes, simulated engines."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, Self

from floor.box import drains, paths
from floor.pool import front, settings
from floor.sim.process import SimulatedEngine, free_port

MODEL = "flagship"
UNIT = "floor-copy-flagship.service"
BACKENDS = ("flagship@a", "flagship@b")
KEY = "status-secret"

NGINX = """
user root;
worker_processes 2;
pid {root}/run/floor/nginx/nginx.pid;
error_log {root}/error.log info;
events {{ worker_connections 1024; }}
http {{
    access_log {root}/access.log;
    client_body_temp_path {root}/tmp/body;
    proxy_temp_path {root}/tmp/proxy;
    fastcgi_temp_path {root}/tmp/fastcgi;
    uwsgi_temp_path {root}/tmp/uwsgi;
    scgi_temp_path {root}/tmp/scgi;
    include {root}/run/floor/nginx/members.conf;
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://floor_flagship;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header Host localhost;
            proxy_buffering off;
            proxy_connect_timeout 2s;
            proxy_read_timeout 60s;
        }}
    }}
    server {{
        listen unix:{root}/run/floor/nginx/empty.sock;
        default_type application/json;
        location / {{
            add_header Retry-After 3 always;
            return 503 '{{"error": {{"message": "nobody is there"}}}}';
        }}
    }}
}}
"""

# Prints what `systemctl show` would print of the units in a file, so that the status port itself is the real one.
SYSTEMCTL = """#!{python} -IS
import json, sys
from pathlib import Path
if "--property=SystemState" in sys.argv:
    sys.exit(print("running"))
units = json.loads((Path({units!r})).read_text())
for name in sys.argv[sys.argv.index("--") + 1:]:
    print("\\n".join(f"{{key}}={{value}}" for key, value in units[name].items()), end="\\n\\n")
"""


# Goals in seconds: on a busy machine a test fails only beyond twice of them.
OUT, BACK = 3.0, 2.0
SLACK = 2.0


def until(what: Callable[[], Any], seconds: float = 10.0, every: float = 0.02) -> float:
    """Wait until `what` is true and return how long it took; fail if it does not become so."""
    began = time.monotonic()
    while not what():
        assert time.monotonic() - began < seconds, f"not so within {seconds} s"
        time.sleep(every)
    return time.monotonic() - began


class Box:
    """One box's status port, with units that are whatever a test says."""

    def __init__(self, folder: Path, name: str) -> None:
        self.root, self.port = folder / name, free_port()
        self._units = folder / f"{name}-units.json"
        self._process: subprocess.Popen[bytes] | None = None
        for part in ("etc/floor/secrets", "var/lib/floor", "bin"):
            (self.root / part).mkdir(parents=True, exist_ok=True)
        (self.root / "etc/floor/secrets/status.key").write_text(KEY + "\n")
        document = {"listen": "127.0.0.1", "port": self.port, "key_file": str(paths.STATUS_KEY), "units": [UNIT]}
        (self.root / "etc/floor/agent.json").write_text(json.dumps(document))
        script = self.root / "bin/systemctl"
        script.write_text(SYSTEMCTL.format(python=sys.executable, units=str(self._units)))
        script.chmod(0o755)
        self.unit("active", "run-1")

    def unit(self, active: str, invocation: str, sub: str = "running") -> None:
        facts = {
            "Id": UNIT,
            "LoadState": "loaded",
            "ActiveState": active,
            "SubState": sub,
            "Result": "success",
            "InvocationID": invocation,
        }
        new = self._units.with_suffix(".new")
        new.write_text(json.dumps({UNIT: facts}))
        new.rename(self._units)

    @property
    def argv(self) -> list[str]:
        return [sys.executable, "-I", "-m", "floor.agent.status", "--root", str(self.root)]

    def start(self, log: IO[bytes] | int = subprocess.DEVNULL) -> None:
        environ = os.environ | {"PATH": f"{self.root}/bin:{os.environ['PATH']}"}
        self._process = subprocess.Popen(self.argv, env=environ, stderr=log)

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(10)
            self._process = None


class Stage:
    """The proxy box is `a`. `managed=False`: floor knows nothing of the units, only of what answers."""

    def __init__(self, folder: Path, *, managed: bool = True, **engine: Any) -> None:
        self.folder = folder
        self.boxes = {name: Box(folder, name) for name in ("a", "b")}
        self.root = self.boxes["a"].root
        self.port = free_port()
        options = {"max_requests": 32, "context": 4096, "speed_factor": 20} | engine
        self.engines = {name: SimulatedEngine(MODEL, **options) for name in BACKENDS}
        self._managed = managed
        self._pool: subprocess.Popen[bytes] | None = None
        self._nginx = False
        self._configure()

    def _configure(self) -> None:
        for part in ("etc/floor/nginx", "run/floor/nginx", "run/floor/pool", "tmp"):
            (self.root / part).mkdir(parents=True)
        self.conf = self.root / "etc/floor/nginx/nginx.conf"
        self.conf.write_text(NGINX.format(root=self.root, port=self.port))
        self._reloads = self.folder / "reloads"
        self._reloads.touch()
        self.reload = self.folder / "reload"
        self.reload.write_text(
            f"#!/bin/sh\nnginx -t -q -c {self.conf} || exit 1\n"
            f"nginx -c {self.conf} -s reload || exit 1\necho reload >> {self._reloads}\n"
        )
        self.reload.chmod(0o755)
        self.settings = self.root / "etc/floor/pool.json"
        self.settings.write_text(json.dumps(self.document()))

    def document(self) -> dict[str, Any]:
        backends = [
            {
                "name": name,
                "url": self.engines[name].url,
                "address": "127.0.0.1",
                "port": self.engines[name].port,
                "server": f"127.0.0.1:{self.engines[name].port}",
                "weight": 1,
                "box": name[-1],
                "unit": UNIT if self._managed else None,
                "status_url": f"http://127.0.0.1:{self.boxes[name[-1]].port}/status" if self._managed else None,
                "dialect": "vllm",
                "key": False,
                "stall": 300,
                "min_speed": None,
            }
            for name in BACKENDS
        ]
        pool = {"model": MODEL, "upstream": "floor_flagship", "keepalive": 32, "idle": 3.0, "backends": backends}
        keys = {"key_file": None, "status_key_file": str(paths.STATUS_KEY)}
        return {"interval": 0.5, **keys, "pools": [pool]}

    def __enter__(self) -> Self:
        for engine in self.engines.values():
            engine.start()
        if self._managed:
            for box in self.boxes.values():
                box.start()
        front.ensure(settings.load(self.settings).pools, self.root)
        self.start_nginx()
        self.start_pool()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop_pool()
        self.stop_nginx()
        for box in self.boxes.values():
            box.stop()
        for engine in self.engines.values():
            engine.kill()

    def start_nginx(self) -> None:
        subprocess.run(["nginx", "-c", self.conf], check=True, stderr=subprocess.DEVNULL)
        self._nginx = True

    def stop_nginx(self) -> None:
        if self._nginx:
            # Not `nginx -s stop`: that reads the configuration, which a test may have broken.
            os.kill(int((self.root / "run/floor/nginx/nginx.pid").read_text()), signal.SIGTERM)
            until(lambda: not (self.root / "run/floor/nginx/nginx.pid").exists())
            self._nginx = False

    def start_pool(self, *more: str) -> None:
        argv = [sys.executable, "-I", "-m", "floor.pool", "--root", str(self.root), "--reload", str(self.reload), *more]
        with (self.folder / "pool.log").open("ab") as log:
            self._pool = subprocess.Popen(argv, stderr=log)

    def stop_pool(self, number: int = signal.SIGTERM) -> int:
        if self._pool is None:
            return 0
        self._pool.send_signal(number)
        code = self._pool.wait(10)
        self._pool = None
        return code

    @property
    def pool_pid(self) -> int:
        assert self._pool is not None
        return self._pool.pid

    def log(self) -> list[str]:
        return (self.folder / "pool.log").read_text().splitlines()

    def reloads(self) -> int:
        return len(self._reloads.read_text().splitlines())

    def state(self) -> dict[str, Any]:
        try:
            return dict(json.loads((self.root / "run/floor/pool/state.json").read_text()))
        except FileNotFoundError:
            return {"pools": {MODEL: {"members": [], "backends": {}}}, "acknowledged": {}}

    def members(self) -> list[str]:
        return list(self.state()["pools"][MODEL]["members"])

    def await_members(self, *names: str, seconds: float = 10.0) -> float:
        try:
            return until(lambda: self.members() == list(names), seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}: members {', '.join(names) or 'none'}\n{self.told()}") from None

    def told(self) -> str:
        """What the pool and nginx last said, for a test that failed."""
        errors = (self.root / "error.log").read_text().splitlines()
        return "\n".join([json.dumps(self.state(), indent=1), *self.log()[-12:], *errors[-12:]])

    def drain(self, backend: str, holder: str = "a person") -> None:
        drains.add(backend, holder, None, at=time.time(), root=self.root)

    def undrain(self, backend: str) -> None:
        drains.remove(backend, None, None, root=self.root)

    def await_acknowledged(self, backend: str, seconds: float = 10.0) -> float:
        return until(lambda: self.state()["acknowledged"].get(backend), seconds)
