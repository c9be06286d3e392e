"""Looks at a machine on which floor may not be yet. Sent over ssh as text: standard library only."""

from __future__ import annotations

import grp
import hashlib
import json
import os
import platform
import pwd
import shutil
import stat
import subprocess
from pathlib import Path
from typing import Any

FOLDERS = ("/opt/floor", "/etc/floor", "/etc/floor/secrets", "/var/lib/floor", "/var/cache/floor")
PROGRAMS = ("nginx", "nft", "sudo", "apt-get", "keepalived")
AGENT = ("/opt/floor/current/bin/python", "-I", "-m", "floor.agent")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def look() -> dict[str, Any]:
    """Return what the preparation of this machine is decided by; what this user may not see is None."""
    os.environ["PATH"] = os.environ.get("PATH", "") + ":" + PATH
    os.environ["LC_ALL"] = "C.UTF-8"
    user = pwd.getpwuid(int(os.environ.get("SUDO_UID") or os.getuid())).pw_name
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "libc": platform.libc_ver()[1] or None,
        "os": _os_release(),
        "systemd": Path("/run/systemd/system").is_dir(),
        "user": user,
        "root": os.geteuid() == 0,
        "sudo": _sudo(),
        "sudo_rs": "sudo-rs" in _said("sudo", "--version")[1],
        "programs": {name: shutil.which(name) is not None for name in PROGRAMS},
        "nginx": _nginx(),
        "floor_user": _user("floor"),
        "groups": [name for name in ("video", "render") if _group(name)],
        "folders": {path: _folder(Path(path)) for path in FOLDERS},
        "rule": _rule(Path("/etc/sudoers.d") / rule_name(user)),
        "release": _release(Path("/opt/floor/current")),
    }


def rule_name(user: str) -> str:
    """Given a user, return the name of the sudoers file for it.

    The last entry that matches counts and files are read in the order of their names: a user's own rule must not come
    after it. sudo skips files with a dot in their name.
    """
    return "zz-floor-" + user.replace(".", "-dot-")


def _said(*argv: str) -> tuple[int, str]:
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=30, stdin=subprocess.DEVNULL, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return 127, str(error)
    return done.returncode, done.stdout


def _os_release() -> dict[str, str]:
    try:
        return platform.freedesktop_os_release()
    except OSError:
        return {}


def _sudo() -> str:
    """How this user gets to be root: `root` already, `free` without a password, `password`, or `none`."""
    if os.geteuid() == 0:
        return "root"
    if shutil.which("sudo") is None:
        return "none"
    return "free" if _said("sudo", "-n", "true")[0] == 0 else "password"


def _user(name: str) -> dict[str, Any] | None:
    try:
        found = pwd.getpwnam(name)
    except KeyError:
        return None
    groups = [group.gr_name for group in grp.getgrall() if name in group.gr_mem]
    return {"home": found.pw_dir, "shell": found.pw_shell, "groups": sorted(groups)}


def _group(name: str) -> bool:
    return any(group.gr_name == name for group in grp.getgrall())


def _folder(path: Path) -> dict[str, Any] | None:
    try:
        seen = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except PermissionError:
        return {"hidden": True}
    try:
        owner = pwd.getpwuid(seen.st_uid).pw_name
    except KeyError:
        owner = str(seen.st_uid)
    return {"folder": stat.S_ISDIR(seen.st_mode), "mode": stat.S_IMODE(seen.st_mode), "owner": owner}


def _rule(path: Path) -> str | None:
    """The digest of the sudoers file, "" where there is none; None where this user may not look."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except FileNotFoundError:
        return ""
    except PermissionError:
        # The rule itself still tells: an agent that is asked nothing answers so, if sudo lets it.
        return "allowed" if "@floor" in _said("sudo", "-n", *AGENT)[1] else None


def _release(current: Path) -> str | None:
    try:
        # An upgrade of the system takes away the Python that the release was made with.
        whole = (current / "floor-release").is_file() and (current / "bin" / "python").exists()
        return current.readlink().name if whole else None
    except OSError:
        return None


def _nginx() -> dict[str, Any]:
    """nginx's own service, and whether it serves nothing but the welcome page that its package came with."""
    _, shown = _said("systemctl", "show", "-p", "LoadState,ActiveState,UnitFileState", "nginx.service")
    facts = dict(line.split("=", 1) for line in shown.splitlines() if "=" in line)
    return {
        "load": facts.get("LoadState", ""),
        "active": facts.get("ActiveState", ""),
        "enabled": facts.get("UnitFileState", ""),
        "as_packaged": _as_packaged(),
    }


def _as_packaged() -> bool:
    sites = Path("/etc/nginx/sites-enabled")
    extra = [path.name for folder in (sites, Path("/etc/nginx/conf.d")) if folder.is_dir() for path in folder.iterdir()]
    if set(extra) - {"default"}:
        return False
    code, listed = _said("dpkg-query", "-W", "-f=${Conffiles}\n", "nginx-common")
    digests = dict(line.split()[:2] for line in listed.splitlines() if line.startswith(" /etc/nginx/"))
    return code == 0 and bool(digests) and all(_md5(Path(path)) in (digest, None) for path, digest in digests.items())


def _md5(path: Path) -> str | None:
    try:
        return hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()  # what dpkg keeps
    except OSError:
        return None


if __name__ == "__main__":
    print("@floor " + json.dumps({"ok": look()}))
