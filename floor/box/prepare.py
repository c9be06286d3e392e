"""Carries out the preparation of a machine, as root: each action does what it names and can be done again.

Runs from floor's wheel before anything is installed: standard library only.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from floor.box import command, files, paths, releases, removal
from floor.errors import FloorError

APT_TIMEOUT = 900.0  # seconds
SUDOERS = Path("/etc/sudoers.d")
STATE = paths.LIB / "setup.json"


def main(folder: Path, say: Callable[[str], None]) -> int:
    """Given the folder that was carried over (plan.json and the wheels), do all of it; 0 when done, 1 with why not."""
    plan = json.loads((folder / "plan.json").read_text())
    try:
        for action in plan["actions"]:
            say(f"  {plan['box']}: {action['text']}")
            for line in ACTIONS[action["do"]](folder, action["params"]) or ():
                say(f"  {plan['box']}: {line}")
    except FloorError as error:
        say(f"{plan['box']}: {error}")
        return 1
    return 0


def _packages(_folder: Path, params: Mapping[str, Any]) -> None:
    """Try what is known first: a box without internet may have a mirror, or a list that is fresh enough."""
    install = ["apt-get", "install", "--yes", "--no-install-recommends", *params["packages"]]
    first = _apt(install)
    if not first.ok:
        update, again = _apt(["apt-get", "update"]), _apt(install)
        if not again.ok:
            said = "\n".join((again.said or update.said).splitlines()[-5:])
            names = " ".join(params["packages"])
            raise FloorError(
                f"apt-get cannot install {names}:\n{said}\n  install it by hand, then run floor setup again"
            )


def _apt(argv: Sequence[str]) -> command.Result:
    os.environ["DEBIAN_FRONTEND"] = "noninteractive"
    # Unattended upgrades may hold the lock for a while; needrestart would restart other people's services.
    os.environ["NEEDRESTART_SUSPEND"] = "1"
    return command.run([argv[0], "-o", "DPkg::Lock::Timeout=300", "-q", *argv[1:]], timeout=APT_TIMEOUT)


def _mask(_folder: Path, params: Mapping[str, Any]) -> None:
    if params["stop"]:
        _must(["systemctl", "stop", "nginx.service"])
    _must(["systemctl", "mask", "nginx.service"])
    if not paths.under(paths.ROOT, STATE).exists():  # what floor found at first is what it puts back one day
        files.write(STATE, json.dumps({"masked": True, "was": params["was"]}) + "\n", mode=0o600)


def _user(_folder: Path, params: Mapping[str, Any]) -> None:
    if command.run(["getent", "passwd", "floor"]).code != 0:
        home = ["--home-dir", str(paths.CACHE), "--no-create-home"]
        _must(["useradd", "--system", "--user-group", *home, "--shell", "/usr/sbin/nologin", "floor"])
    if params["groups"]:
        _must(["usermod", "--append", "--groups", ",".join(params["groups"]), "floor"])


def _folders(_folder: Path, params: Mapping[str, Any]) -> None:
    for path, wish in params["folders"].items():
        place = Path(path)
        if place.is_symlink() or (place.exists() and not place.is_dir()):
            raise FloorError(f"{path}: is a link or a file where a folder must be; move it away")
        place.mkdir(mode=0o755, parents=True, exist_ok=True)
        os.chown(place, *files.identity(f"{wish['owner']}:{wish['owner']}", path))
        place.chmod(wish["mode"])


def _rule(_folder: Path, params: Mapping[str, Any]) -> None:
    """A broken file in sudoers.d takes sudo away from everybody: it is checked under a name that sudo does not read."""
    SUDOERS.mkdir(mode=0o750, exist_ok=True)
    staged = SUDOERS / f".{params['name']}.new"  # the dot keeps sudo from reading it
    staged.write_text(params["text"])
    staged.chmod(0o440)
    try:
        _must(["visudo", "-cf", str(staged)])
        staged.replace(SUDOERS / params["name"])
    finally:
        staged.unlink(missing_ok=True)


def _release(folder: Path, params: Mapping[str, Any]) -> None:
    bundle = (folder / "release.tar").read_bytes()
    digest = hashlib.sha256(bundle).hexdigest()
    releases.install(params["release"], bundle, digest, python=os.path.realpath(sys.executable))


def _remove(_folder: Path, params: Mapping[str, Any]) -> list[str]:
    return removal.remove(purge=params["purge"])


def _must(argv: list[str]) -> None:
    result = command.run(argv, timeout=120)
    if not result.ok:
        raise FloorError(f"`{' '.join(argv)}` failed: {result.said or f'exit {result.code}'}")


ACTIONS: dict[str, Callable[[Path, Mapping[str, Any]], list[str] | None]] = {
    "packages": _packages,
    "mask": _mask,
    "user": _user,
    "folders": _folders,
    "rule": _rule,
    "release": _release,
    "remove": _remove,
}
