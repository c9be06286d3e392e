"""What a machine lacks to be a box: each sight of one, and what is to be done about it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from floor.apply import preparation
from floor.apply.exchange import SUDO
from floor.apply.preparation import FOLDERS, prepare, rule
from floor.box import bare
from floor.box.prepare import ACTIONS

CASES = yaml.safe_load((Path(__file__).parents[2] / "cases/setup/preparation.yaml").read_text())
RELEASE = "0.1.0+aaaaaaaaaaaa"

BARE: dict[str, Any] = {
    "python": "3.11.2",
    "machine": "aarch64",
    "libc": "2.36",
    "os": {"ID": "debian", "PRETTY_NAME": "Debian GNU/Linux 12 (bookworm)"},
    "systemd": True,
    "user": "ops",
    "root": False,
    "sudo": "free",
    "sudo_rs": False,
    "programs": {"nginx": False, "nft": False, "sudo": True, "apt-get": True},
    "nginx": {"load": "not-found", "active": "inactive", "enabled": "", "as_packaged": False},
    "floor_user": None,
    "groups": [],
    "folders": {},
    "rule": "",
    "release": None,
}
READY: dict[str, Any] = {
    **BARE,
    "programs": {"nginx": True, "nft": True, "sudo": True, "apt-get": True},
    "nginx": {"load": "masked", "active": "inactive", "enabled": "masked", "as_packaged": False},
    "floor_user": {"home": "/var/cache/floor", "shell": "/usr/sbin/nologin", "groups": []},
    "folders": {path: {"folder": True, "mode": mode, "owner": owner} for path, (owner, mode) in FOLDERS.items()},
    "rule": hashlib.sha256(rule("ops").encode()).hexdigest(),
    "release": RELEASE,
}


def seen(case: Mapping[str, Any]) -> dict[str, Any]:
    base = READY if case.get("ready") else BARE
    given = case["seen"]
    if "folders" in given:
        folders = {path: {**found, **_mode(found)} for path, found in given["folders"].items()}
        given = {**given, "folders": {**base["folders"], **folders}}
    return {**base, **given}


def _mode(found: Mapping[str, Any]) -> dict[str, int]:
    return {"mode": int(found["mode"], 8)} if isinstance(found.get("mode"), str) else {}


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_what_is_seen_decides_what_is_done(case: dict[str, Any]) -> None:
    found = prepare("spark-a", seen(case), RELEASE)
    assert list(found.refusals) == case.get("refusals", [])
    assert list(found.warnings) == case.get("warnings", [])
    texts = [action.text for action in found.actions]
    if "actions" in case:
        assert texts == case["actions"]
    for text in case.get("contains", []):
        assert text in texts
    if found.refusals:
        assert texts == []


def test_the_package_is_masked_before_it_is_installed() -> None:
    """Debian starts nginx on port 80 in the moment it is installed."""
    doing = [action.do for action in prepare("a", BARE, RELEASE).actions]
    assert doing.index("mask") < doing.index("packages")


def test_the_user_is_there_before_anything_belongs_to_it_and_the_release_comes_last() -> None:
    doing = [action.do for action in prepare("a", BARE, RELEASE).actions]
    assert doing == ["mask", "packages", "user", "folders", "rule", "release"]


def test_every_action_is_known_on_the_box() -> None:
    assert {action.do for action in prepare("a", BARE, RELEASE).actions} <= set(ACTIONS)


def test_every_folder_that_is_made_is_looked_at() -> None:
    assert set(FOLDERS) == set(bare.FOLDERS)


def test_the_rule_allows_the_very_words_that_are_sent() -> None:
    """sudo compares them one by one; one option more or less and it asks for a password."""
    assert rule("ops").splitlines()[-1] == f"ops ALL=(root) NOPASSWD: {' '.join(SUDO[2:])}"
    assert SUDO[:2] == ("sudo", "-n")


def test_sudo_rs_gets_no_line_that_it_would_refuse() -> None:
    assert "Defaults" in rule("ops")
    assert "Defaults" not in rule("ops", rust=True)
    seen_there = {**READY, "sudo_rs": True, "rule": hashlib.sha256(rule("ops", rust=True).encode()).hexdigest()}
    assert prepare("spark-a", seen_there, RELEASE).actions == ()


@pytest.mark.parametrize(("user", "name"), [("ops", "zz-floor-ops"), ("john.doe", "zz-floor-john-dot-doe")])
def test_sudo_skips_files_with_a_dot_in_their_name(user: str, name: str) -> None:
    assert bare.rule_name(user) == name


def test_a_users_own_rule_does_not_come_after_floors() -> None:
    """The last entry that matches counts: `pat ALL=(ALL) ALL` in a later file would ask for a password again."""
    assert all(bare.rule_name("ops") > name for name in ("ops", "pat", "wheel", "zabbix", "90-cloud-init-users"))


def test_an_action_is_json() -> None:
    action = preparation.Action("user", "make it", {"groups": ["video"]})
    assert action.as_json() == {"do": "user", "text": "make it", "params": {"groups": ["video"]}}


def test_who_shares_an_address_needs_keepalived() -> None:
    assert prepare("a", READY, RELEASE, shares=True).actions[0].text == "install keepalived with apt-get"
    there = {**READY, "programs": {**READY["programs"], "keepalived": True}}
    assert prepare("a", there, RELEASE, shares=True).actions == ()
    assert prepare("a", READY, RELEASE).actions == ()
