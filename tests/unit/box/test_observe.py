"""One answer with all that a planner compares, whatever state the box is in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from floor.box import files, observe, processes, secrets
from floor.box.operation import Operation
from floor.errors import FloorError

from .conftest import Programs

UNIT = "floor-copy-m.service"


def shown(*names: str, active: str = "inactive", pid: int = 0) -> str:
    blocks = (
        f"Id={name}\nLoadState=loaded\nActiveState={active}\nSubState=x\nUnitFileState=enabled\nMainPID={pid}\n"
        f"ControlGroup=/system.slice/{name}\nExecMainStartTimestampMonotonic=5000000\n"
        for name in names
    )
    return "\n".join(blocks)


@pytest.fixture
def quiet(programs: Programs, monkeypatch: pytest.MonkeyPatch) -> Programs:
    monkeypatch.setattr(processes, "listening", dict)
    programs.on("list-units", out="")
    return programs


def test_a_box_that_was_only_set_up_has_nothing(quiet: Programs, root: Path) -> None:
    seen = observe.read({}, root, quiet)
    expected: dict[str, Any] = {
        "release": None,
        "mode": None,
        "operation": None,
        "config": None,
        "configs": [],
        "files": {},
        "texts": {},
        "owned": [],
        "units": {},
        "images": {},
        "paths": {},
        "weights": {},
        "listening": {},
        "drains": {},
        "starts": {},
        "holds": {},
        "pool": None,
        "secrets": None,
        "keys": None,
        "clients": {},
        "tls": None,
        "firewall": {"installed": False, "loaded": False, "same": None, "direct": []},
        "firewalls": [],
        "sources": {},
        "tests": {},
        "baselines": {},
        "alarms": [],
    }
    assert {key: value for key, value in seen.items() if key != "facts"} == expected


def test_a_box_in_use_is_told_whole(quiet: Programs, root: Path, me: str) -> None:
    put = {
        "/etc/floor/mode": "replicas\n",
        "/etc/floor/pool.json": "{}",
        f"/etc/systemd/system/{UNIT}": "[Unit]\n",
        "/var/lib/floor/floor.yaml": "boxes: {}\n",
        "/var/lib/floor/configs.json": '["aa", "bb"]',
        "/var/lib/floor/drains.json": '{"m@a": []}',
        "/run/floor/pool/state.json": '{"at": 1}',
    }
    files.put([{"path": path, "text": text, "owner": me} for path, text in put.items()], root)
    secrets.put("e" * 30, "s" * 30, root, me)
    (root / "models").mkdir()
    Operation(root).take({"epoch": 4, "verb": "deploy", "by": {"user": "ann"}})
    quiet.on("show", out=shown(UNIT))
    quiet.on("image", out='[{"Id": "sha256:1"}]')
    asked = {
        "files": ["/etc/floor/mode", "/etc/floor/none"],
        "read": ["/etc/floor/pool.json", "/etc/floor/none", "/etc/floor/secrets/engine.key"],
        "images": ["vllm:1"],
        "paths": ["/models", "/none"],
    }
    seen = observe.read(asked, root, quiet)
    assert seen["mode"] == "replicas"
    assert seen["config"] == "boxes: {}\n"
    assert seen["configs"] == ["aa", "bb"]
    assert seen["drains"] == {"m@a": []}
    assert seen["pool"] == {"at": 1}
    assert (seen["operation"]["epoch"], seen["operation"]["live"]) == (4, True)
    assert seen["files"]["/etc/floor/none"] is None
    assert seen["files"]["/etc/floor/mode"]["owner"] == me
    assert seen["texts"] == {
        "/etc/floor/pool.json": "{}",
        "/etc/floor/none": None,
        "/etc/floor/secrets/engine.key": None,
    }
    assert seen["images"] == {"vllm:1": "sha256:1"}
    assert seen["paths"] == {"/models": True, "/none": False}
    assert seen["owned"] == ["/etc/floor/mode", "/etc/floor/pool.json", f"/etc/systemd/system/{UNIT}"]
    assert list(seen["units"]) == [UNIT]
    assert len(seen["secrets"]) == 16
    assert json.loads(json.dumps(seen)) == seen


def test_no_key_is_ever_in_the_answer(quiet: Programs, root: Path, me: str) -> None:
    secrets.put("E" * 30, "S" * 30, root, me)
    asked = {"read": ["/etc/floor/secrets/engine.key", "/etc/floor/nginx/../secrets/engine.env"]}
    answer = json.dumps(observe.read(asked, root, quiet))
    assert "E" * 30 not in answer
    assert "S" * 30 not in answer


def test_units_that_are_loaded_without_a_file_are_told(programs: Programs, root: Path) -> None:
    programs.on(
        "list-units", out="floor-copy-old.service loaded failed failed old\nfloor-x.scope loaded active running x\n"
    )
    (root / "etc/systemd/system").mkdir(parents=True)
    (root / "etc/systemd/system/floor.target").write_text("")
    (root / "etc/systemd/system/floor-copy-m.service.d").mkdir()
    assert observe.listed_units(root, programs) == ["floor-copy-old.service", "floor.target"]


def test_a_unit_asked_for_is_told_with_its_process(
    programs: Programs, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs.on("show", out=shown(UNIT, active="active", pid=77))
    programs.on("container", "inspect", out="[]", err=f"Error: No such container: {UNIT[:-8]}", code=1)
    group = root / "sys/fs/cgroup/system.slice" / UNIT
    group.mkdir(parents=True)
    (group / "cgroup.procs").write_text("77\n78\n")
    monkeypatch.setattr(processes, "argv", lambda pid: ["/opt/vllm", str(pid)])
    monkeypatch.setattr(processes, "environ", lambda _pid, keys: dict.fromkeys(keys, "v"))
    monkeypatch.setattr(processes, "children", lambda _pid: [78, 79])
    monkeypatch.setattr(processes, "started", {78: 10.0, 79: None}.get)
    seen = observe.seen_units({UNIT: ["A"]}, root, programs)[UNIT]
    assert seen["argv"] == ["/opt/vllm", "77"]
    assert seen["env"] == {"FLOOR_LAUNCH": "v", "FLOOR_KEYS": "v", "A": "v"}
    assert seen["left"] == [77, 78]
    assert seen["youngest_child"] == 10.0
    assert seen["container"] is None
    assert seen["main_started"] > 0


def test_a_unit_that_does_not_run_has_no_process(programs: Programs, root: Path) -> None:
    programs.on("show", out=shown(UNIT))
    seen = observe.seen_units({UNIT: ["A"]}, root, programs)[UNIT]
    assert (seen["argv"], seen["env"], seen["main_started"], seen["youngest_child"]) == ([], {}, None, None)


def test_a_dead_docker_does_not_hide_the_rest_of_the_box(quiet: Programs, root: Path) -> None:
    quiet.on("show", out=shown(UNIT))
    quiet.on("docker", err="Cannot connect to the Docker daemon", code=1)
    seen = observe.read({"units": {UNIT: {}}, "images": ["i"]}, root, quiet)
    assert seen["images"] == {"i": None}
    assert "Cannot connect" in seen["facts"]["docker_error"]
    assert "Cannot connect" in seen["units"][UNIT]["container"]["error"]


@pytest.mark.parametrize(
    "path", ["/var/lib/floor/configs.json", "/var/lib/floor/drains.json", "/run/floor/pool/state.json"]
)
def test_a_file_of_ours_that_is_no_json_is_named(quiet: Programs, root: Path, me: str, path: str) -> None:
    files.put([{"path": path, "text": "{", "owner": me}], root)
    with pytest.raises(FloorError, match=rf"{path}: is not JSON .*; look at it"):
        observe.read({}, root, quiet)


def test_an_empty_mode_file_is_no_mode(quiet: Programs, root: Path, me: str) -> None:
    files.put([{"path": "/etc/floor/mode", "text": "\n", "owner": me}], root)
    assert observe.read({}, root, quiet)["mode"] is None
