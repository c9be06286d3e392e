"""A floor.yaml with free ports, and all that it makes of two boxes: the real files, moved below one folder."""

from __future__ import annotations

import itertools
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from string import Template

from floor import config
from floor.apply.wheels import release_id
from floor.box import paths, secrets
from floor.box.locked import mine
from floor.box.nginx_test import moved
from floor.config.model import Config
from floor.desired.build import build
from floor.desired.nginx import JOURNAL
from floor.desired.state import BoxFacts, BoxState, File
from floor.errors import FloorError
from floor.sim.process import free_port

from .tempo import Tempo

MODEL = "flagship"
# Not tempfile's own choice: a unix socket's path holds 107 bytes, and $TMPDIR may be long.
TEMPORARY = Path("/tmp")  # noqa: S108 -- mkdtemp makes a folder there that nobody else can have made
FLOOR_YAML = Path(__file__).parent / "floor.yaml"


@dataclass(frozen=True)
class Site:
    """Two boxes in one folder: `roots` says where the files of each lie that would be below / on a real one."""

    folder: Path
    text: str
    config: Config
    states: dict[str, BoxState]
    roots: dict[str, Path]
    keys: dict[str, str]

    @property
    def proxy(self) -> str:
        """The box that runs nginx."""
        return self.config.proxy.boxes[0]

    @property
    def url(self) -> str:
        """Where clients find the model."""
        return f"http://127.0.0.1:{self.config.listen(MODEL)}"

    @property
    def journal(self) -> Path:
        """The socket that nginx logs requests to, in place of journald's."""
        return self.folder / "journal.sock"

    def place(self, box: str, path: Path) -> Path:
        """Given a box and a path as it is there, return where that lies here."""
        return paths.under(self.roots[box], path)


@contextmanager
def make_site(tempo: Tempo) -> Iterator[Site]:
    """Given the tempo, make the folder and every file in it; it is gone afterwards. Raise FloorError without nginx."""
    if nginx_program() is None:
        raise FloorError("nginx is not installed here; install it with: sudo apt-get install nginx-light")
    folder = Path(tempfile.mkdtemp(prefix="floor-demo-", dir=TEMPORARY))
    try:
        folder.chmod(0o711)  # nginx's workers are another user where this runs as root
        yield _fill(folder, tempo)
    finally:
        shutil.rmtree(folder)


def nginx_program() -> str | None:
    """The nginx of this machine; /usr/sbin is not on everybody's PATH."""
    return shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")


def fill_in(tempo: Tempo, ports: Iterator[int]) -> str:
    """Given the tempo, and free ports of both boxes in turn, return the floor.yaml."""
    names = ("engine_a", "engine_b", "status_a", "status_b", "proxy")
    given = dict(zip(names, ports, strict=False))
    return Template(FLOOR_YAML.read_text()).substitute(given, python=sys.executable, load=tempo.load, speed=tempo.speed)


def _fill(folder: Path, tempo: Tempo) -> Site:
    text = fill_in(tempo, (free_port(host) for host in itertools.cycle(("127.0.0.1", "127.0.0.2"))))
    loaded = config.parse(text)
    facts = {name: BoxFacts(box.host) for name, box in loaded.boxes.items()}
    states = build(loaded, "replicas", facts, release_id())
    roots = {name: folder / name for name in states}
    keys: dict[str, str] = {}
    for root in roots.values():  # as `floor deploy` does: made on the first box, copied to the others
        root.mkdir()
        keys = keys or secrets.ensure(root, owner=mine())
        secrets.put(keys["engine"], keys["status"], root, mine())
    site = Site(folder, text, loaded, states, roots, keys)
    for name, state in states.items():
        for file in state.files:
            place = site.place(name, Path(file.path))
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(_here(file, site, name))
    return site


def _here(file: File, site: Site, box: str) -> str:
    """The text with floor's paths below the folder, where its reader takes them as they are; nobody from outside."""
    if not Path(file.path).is_relative_to(paths.NGINX) and not Path(file.path).is_relative_to(paths.ENGINES):
        return file.text  # pool and status port are told their root, units are not read here
    listen = site.config.listen(MODEL)
    text = file.text.replace(JOURNAL, str(site.journal)).replace(f"listen {listen} ", f"listen 127.0.0.1:{listen} ")
    return moved(text, site.roots[box])
