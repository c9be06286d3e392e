"""The real proxy of a floor.yaml: its own files, rendered for real, in a folder of its own, run by the real nginx.

    with Proxy(site([Copy(engine.host, engine.port)])) as proxy:
        httpx.post(proxy.url + "/v1/chat/completions", json=…)

Only places differ from a box: files, sockets, pid and temporary folders lie below `proxy.root`, and the journal that
the access log goes to is a socket there, which `proxy.log()` reads. Every copy is a member until `proxy.members()`.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from floor.box import clients, paths
from floor.box.document import Document
from floor.box.nginx_test import moved
from floor.box.secrets import texts
from floor.config import Config, parse
from floor.desired.build import build
from floor.desired.nginx import JOURNAL
from floor.desired.state import BoxFacts, BoxState
from floor.pool import members, settings

KEY = "the-engines-key"
NGINX = "/usr/sbin/nginx"


def free_port(host: str = "127.0.0.1") -> int:
    """A port of `host` that nothing listens on now."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


@dataclass(frozen=True)
class Copy:
    """Where a copy of a test answers. Managed ones need a host each: 127.0.0.2, 127.0.0.3 and so on."""

    host: str
    port: int
    managed: bool = True
    engine: str = "vllm"
    key: str = "none"


def site(models: Mapping[str, Sequence[Copy]] | Sequence[Copy], *, request_time: float = 30, **proxy: object) -> str:
    """A floor.yaml: boxes box0, box1, … in the order of the copies, a proxy on box `front`, a free port a model.

    Given copies alone, the model is called flagship. `proxy` are further options of the proxy, such as max_body.
    """
    models = models if isinstance(models, Mapping) else {"flagship": models}
    found: dict[str, Any] = {"boxes": {"front": {"host": "127.0.0.250"}}, "models": {}}
    for name, copies in models.items():
        replicas = []
        for copy in copies:
            box = f"box{len(found['boxes']) - 1}"
            found["boxes"][box] = {"host": copy.host, "managed": copy.managed}
            own = {"port": copy.port} if copy.managed else {"port": copy.port, "key": copy.key, "engine": copy.engine}
            replicas.append({"box": box, **own})
        found["models"][name] = {"listen": free_port(), "request_time": request_time, "replicas": replicas}
        if any(copy.managed for copy in copies):
            found["models"][name]["source"] = "/models/tiny"
            found["models"][name]["runtime"] = {"kind": "native", "command": "/opt/vllm/bin/vllm"}
    found["proxy"] = {"boxes": ["front"], **proxy}
    return json.dumps(found, indent=1)


class Proxy:
    """The proxy on the first proxy box of a configuration. `addresses` replaces what hosts resolve to (None: nothing).

    `files` may be changed before `start`; `state` is what floor wants on that box.
    """

    def __init__(
        self,
        config: Config | str,
        *,
        addresses: Mapping[str, str | None] | None = None,
        ipv6: bool = False,
        rotating: bool = False,
    ) -> None:
        self.config = parse(config) if isinstance(config, str) else config
        self.box = self.config.proxy.boxes[0]
        hosts = {name: box.host for name, box in self.config.boxes.items()} | dict(addresses or {})
        facts = {name: BoxFacts(address, ipv6, rotating=rotating) for name, address in hosts.items()}
        self.state: BoxState = build(self.config, "replicas", facts, "test")[self.box]
        self.files = {f.path: f.text for f in self.state.files if Path(f.path).is_relative_to(paths.NGINX)}
        self.settings = settings.read(Document.parse(self._text(paths.POOL_SETTINGS), "pool.json"), "pool.json")
        # A short name that nginx's workers, which run as another user, may enter.
        self.root = Path(tempfile.mkdtemp(prefix="fl-", dir="/tmp"))
        self.root.chmod(0o755)
        self.clients: dict[str, list[str]] = {}  # their keys, where floor.yaml names any
        self.following: dict[str, str] = {}  # the keys that follow the present ones
        self._process: subprocess.Popen[bytes] | None = None
        self._journal: socket.socket | None = None
        self._lines: list[dict[str, Any]] = []

    def _text(self, path: Path) -> str:
        file = self.state.file(str(path))
        assert file is not None, path
        return file.text

    @property
    def backends(self) -> list[str]:
        return [backend.name for backend in self.settings.backends]

    def port(self, model: str | None = None) -> int:
        """The proxy's port for a model, the first one by default."""
        return self.config.listen(model or next(iter(self.config.models)))

    @property
    def url(self) -> str:
        return f"{'https' if self.config.proxy.tls else 'http'}://127.0.0.1:{self.port()}"

    def place(self, path: Path | str) -> Path:
        """Where a box's path lies here."""
        return paths.under(self.root, path)

    def write(self, within: Collection[str] | None = None) -> None:
        """Write all files; `within` are the members, everybody by default."""
        every = {**texts(KEY, "the-status-key", self.following), **clients.texts(self.clients)}
        keys = {str(path): text for path, text in every.items() if text is not None}
        for path, text in {**keys, **self.files}.items():
            self._put(path, text)
        self._members(self.backends if within is None else within)
        self.place(paths.CACHE / "nginx").mkdir(parents=True, exist_ok=True)

    def _put(self, path: str, text: str) -> None:
        place = self.place(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        text = moved(text, self.root).replace(JOURNAL, str(self.root / "journal.sock"))
        temporary = place.with_name(place.name + ".new")
        temporary.write_text(text)
        temporary.replace(place)

    def _members(self, within: Collection[str], following: Collection[str] = ()) -> None:
        text = members.text(self.settings.pools, set(within), str(paths.EMPTY_SOCKET), set(following))
        self._put(str(paths.MEMBERS), text)

    def command(self, *words: str) -> list[str]:
        """The command line of the unit, with the places of this folder."""
        return [NGINX, "-e", "stderr", "-c", str(self.place(paths.NGINX_CONF)), *words]

    def start(self, within: Collection[str] | None = None) -> Self:
        """Write the files and start nginx; returns when it answers. Raises AssertionError with its log otherwise."""
        self.write(within)
        if self._journal is None:
            self._journal = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            self._journal.bind(str(self.root / "journal.sock"))
            (self.root / "journal.sock").chmod(0o666)
        with (self.root / "stderr").open("ab") as log:
            self._process = subprocess.Popen(self.command("-g", "daemon off;"), stdout=log, stderr=log)
        self.until(self._answers, "nginx to answer")
        return self

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, self.errors()
        with socket.socket() as probe:
            listens = probe.connect_ex(("127.0.0.1", self.port())) == 0
        # The master listens before its workers are there, and `reload` must know all of them.
        return listens and len(self.workers()) == os.sysconf("SC_NPROCESSORS_ONLN")

    def until(self, holds: Callable[[], object], what: str, timeout: float = 10) -> None:
        """Return once `holds` does. Raises AssertionError with nginx's log after `timeout` seconds."""
        deadline = time.monotonic() + timeout
        while not holds():
            assert time.monotonic() < deadline, f"waited {timeout} s for {what}; nginx said: {self.errors()}"
            time.sleep(0.01)

    def members(self, within: Collection[str], following: Collection[str] = ()) -> None:
        """Change the members and reload, as floor-pool does; returns when no old worker takes requests any more.

        `following` are those that take the next engine key.
        """
        self._members(within, following)
        self.reload()

    def reload(self) -> None:
        """Reload, as the unit does; returns when new workers answer and the old ones are leaving or gone."""
        old = set(self.workers())
        subprocess.run(self.command("-s", "reload"), check=True, capture_output=True)
        self.until(lambda: len(set(self.workers()) - old) == len(old) and not set(self.workers()) & old, "new workers")

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def title(self) -> str:
        """The master's title, which nginx writes over its arguments."""
        return Path(f"/proc/{self.pid}/cmdline").read_text().rstrip("\0")

    def workers(self, *, leaving: bool = False) -> list[int]:
        """The worker processes that take requests; with `leaving`, those that only finish what they have."""
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        titles = {int(child): _title(child) for child in children}
        return [pid for pid, title in titles.items() if "worker process" in title and ("shutting" in title) is leaving]

    def errors(self) -> str:
        """What nginx wrote to stderr."""
        place = self.root / "stderr"
        return place.read_text() if place.exists() else ""

    def log(self) -> list[dict[str, Any]]:
        """The access log so far, a mapping a request."""
        assert self._journal is not None
        while True:
            try:
                line = self._journal.recv(65536, socket.MSG_DONTWAIT).decode()
            except BlockingIOError:
                return self._lines
            self._lines.append(json.loads(line[line.index("{") :]))

    def kill(self) -> None:
        """End nginx as a power cut would: nothing is tidied up."""
        assert self._process is not None
        workers = [*self.workers(), *self.workers(leaving=True)]
        for pid in [self.pid, *workers]:  # the master first: it would replace its workers
            os.kill(pid, 9)
        self._process.wait()
        self.until(lambda: not any(_lives(pid) for pid in workers), "the workers to be gone, and their sockets")

    def stop(self) -> None:
        """End nginx and remove the folder."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            self._process.wait(timeout=10)
        if self._journal is not None:
            self._journal.close()
        shutil.rmtree(self.root)

    def __enter__(self) -> Self:
        try:
            return self.start()
        except BaseException:
            self.stop()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _lives(pid: int) -> bool:
    """Whether a process still holds anything; one that only waits to be asked for its status does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def _title(pid: str) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""  # gone since it was listed
