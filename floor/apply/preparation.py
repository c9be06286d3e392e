"""What a machine still lacks to be a box of floor. Pure: decided from what `floor.box.bare` saw there."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from floor.box.bare import AGENT, rule_name

OLDEST = (3, 11)
USER = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*\$?")
# Path → owner and mode. Root's, all of them: an engine's user must not be able to put a link where root writes.
FOLDERS: dict[str, tuple[str, int]] = {
    "/opt/floor": ("root", 0o755),
    "/etc/floor": ("root", 0o755),
    "/etc/floor/secrets": ("root", 0o700),
    "/var/lib/floor": ("root", 0o755),
    "/var/cache/floor": ("root", 0o755),
}


@dataclass(frozen=True)
class Action:
    """One thing to do there: `do` is known to `floor.box.prepare`, `text` says it to a person."""

    do: str
    text: str
    params: Mapping[str, Any]

    def as_json(self) -> dict[str, Any]:
        return {"do": self.do, "text": self.text, "params": dict(self.params)}


@dataclass(frozen=True)
class Preparation:
    """`actions` in order, `warnings` to be read, and `refusals` that have to be settled first."""

    actions: tuple[Action, ...] = ()
    warnings: tuple[str, ...] = ()
    refusals: tuple[str, ...] = ()


def prepare(box: str, seen: Mapping[str, Any], release: str, *, shares: bool = False) -> Preparation:
    """Given what was seen on a box and the release that it must run, return what is left to do; `shares` where it is
    one of the proxy boxes that share an address."""
    if refusals := _refusals(box, seen):
        return Preparation(refusals=tuple(refusals))
    steps, warnings = _nginx(box, seen)
    wanted = {"nginx": "nginx", "nft": "nftables", "sudo": "sudo"}
    if shares:  # its package's own service starts only with a configuration of the system's
        wanted["keepalived"] = "keepalived"
    packages = [package for program, package in wanted.items() if not seen["programs"].get(program)]
    if packages:
        steps.append(Action("packages", f"install {', '.join(packages)} with apt-get", {"packages": packages}))
    steps += _user(seen) + _folders(seen) + _rule(seen)
    if seen["release"] != release:
        before = f", now {seen['release']}" if seen["release"] else ""
        steps.append(Action("release", f"install floor {release} into /opt/floor{before}", {"release": release}))
    return Preparation(tuple(steps), tuple(warnings))


def _refusals(box: str, seen: Mapping[str, Any]) -> list[str]:
    names = {seen["os"].get("ID"), *seen["os"].get("ID_LIKE", "").split()}
    python = tuple(int(part) for part in re.findall(r"\d+", seen["python"])[:2])
    found = []
    if not names & {"debian", "ubuntu"}:
        what = seen["os"].get("PRETTY_NAME") or "an unknown system"
        found.append(f"{box}: runs {what}; floor prepares Debian and Ubuntu only")
    if python < OLDEST:
        found.append(f"{box}: has Python {seen['python']}, floor needs 3.11 or newer: Debian 12, Ubuntu 24.04 or newer")
    if not seen["systemd"]:
        found.append(f"{box}: systemd does not run there; floor needs it to keep engines running")
    if seen["sudo"] == "none":
        found.append(f"{box}: {seen['user']} is not root and there is no sudo; set it up as root once")
    if not USER.fullmatch(seen["user"]):
        found.append(f"{box}: the user name {seen['user']!r} cannot stand in a sudoers file; use another user")
    return found


def _nginx(box: str, seen: Mapping[str, Any]) -> tuple[list[Action], list[str]]:
    """The package's own service must not take port 80, but what somebody serves with it is not floor's to stop."""
    service = seen["nginx"]
    if service["enabled"] in ("masked", "masked-runtime"):
        return [], []
    mask = {"stop": service["active"] not in ("", "inactive", "failed"), "was": service["enabled"]}
    if not mask["stop"]:
        return [Action("mask", "mask nginx.service, so that the package's own nginx never starts", mask)], []
    if service["as_packaged"]:
        text = "stop and mask nginx.service, which serves its package's welcome page only"
        return [Action("mask", text, mask)], []
    return [], [
        f"{box}: nginx.service runs there with sites of its own and is left alone; give `listen` a port it leaves free"
    ]


def _user(seen: Mapping[str, Any]) -> list[Action]:
    groups = sorted(seen["groups"])
    if seen["floor_user"] is None:
        more = f", in {' and '.join(groups)}" if groups else ""
        return [Action("user", f"make the system user floor, without a login{more}", {"groups": groups})]
    lacking = sorted(set(groups) - set(seen["floor_user"]["groups"]))
    if lacking:
        return [Action("user", f"put the user floor into {' and '.join(lacking)}", {"groups": lacking})]
    return []


def _folders(seen: Mapping[str, Any]) -> list[Action]:
    wrong = {}
    for path, (owner, mode) in FOLDERS.items():
        found = seen["folders"].get(path)
        hidden = found is not None and found.get("hidden")
        if not hidden and found != {"folder": True, "mode": mode, "owner": owner}:
            wrong[path] = {"owner": owner, "mode": mode}
    if not wrong:
        return []
    return [Action("folders", f"make {', '.join(wrong)}", {"folders": wrong})]


def _rule(seen: Mapping[str, Any]) -> list[Action]:
    """Root needs no rule; anybody else gets one that allows exactly one command."""
    user = seen["user"]
    text = rule(user, rust=seen["sudo_rs"])
    present = seen["rule"] in ("allowed", hashlib.sha256(text.encode()).hexdigest())
    if user == "root" or present:
        return []
    name = rule_name(user)
    say = f"let {user} run `{' '.join(AGENT)}` with sudo (/etc/sudoers.d/{name})"
    return [Action("rule", say, {"name": name, "text": text})]


def rule(user: str, *, rust: bool = False) -> str:
    """Given a user, return the sudoers file: one command, every word of it fixed, no terminal asked for.

    sudo-rs (`rust`, Ubuntu since 25.10) never asks for a terminal, and refuses a file with the line that says so.
    """
    terminal = "" if rust else f"Defaults!{AGENT[0]} !requiretty, !use_pty\n"
    return f"# Made by floor setup, removed by floor remove.\n{terminal}{user} ALL=(root) NOPASSWD: {' '.join(AGENT)}\n"
