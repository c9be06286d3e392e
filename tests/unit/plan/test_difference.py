"""Where a box differs from what is wanted, and how that is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from floor.desired.state import BoxState, File, Kind, Launch, Unit
from floor.plan import difference
from floor.plan.seen import FileSeen, Seen, UnitSeen

CASES = yaml.safe_load((Path(__file__).parents[2] / "cases/plan/words.yaml").read_text())
LAUNCH = Launch(("vllm", "serve"), {"A": "1"}, image="vllm:v1")
UNIT = Unit("floor-copy-flagship.service", Kind.COPY, LAUNCH)
RUNNING = UnitSeen(
    UNIT.name, "active", argv=LAUNCH.argv, env={"A": "1", "FLOOR_LAUNCH": LAUNCH.digest}, image="sha256:1"
)
DROP_IN = f"/etc/systemd/system/{UNIT.name}.d/x.conf"
OF_ALL = "/etc/systemd/system/floor-copy-.service.d/x.conf"
BOX = Seen("spark-a", images={"vllm:v1": "sha256:1"}, owned=(DROP_IN, OF_ALL))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_difference_of_arguments_in_words(case: dict[str, Any]) -> None:
    unit = Unit("u", Kind.COPY, Launch(tuple(case["wanted"])))
    seen = UnitSeen("u", "active", argv=tuple(case["running"]), env={"FLOOR_LAUNCH": "other"})
    assert difference.relaunch(unit, seen, BOX) == case["told"]


def test_a_process_as_wanted_stays() -> None:
    assert difference.relaunch(UNIT, RUNNING, BOX) is None


def test_a_unit_without_a_process_has_nothing_to_replace() -> None:
    assert difference.relaunch(UNIT, UnitSeen(UNIT.name, "failed"), BOX) is None


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"env": {"A": "1", "FLOOR_LAUNCH": "0123"}}, "its settings, environment or release changed"),
        ({"env": {"A": "2", "FLOOR_LAUNCH": LAUNCH.digest}}, "it runs with A='2', wanted '1'"),
        ({"image": "sha256:0"}, "vllm:v1 is another image now (sha256:1), it runs sha256:0"),
        ({"dropins": (DROP_IN,)}, f"drop-in {DROP_IN} may have changed how it runs"),
        ({"dropins": ("/usr/lib/systemd/system/service.d/10-timeout.conf",)}, None),
        ({"dropins": ("/etc/systemd/system/service.d/all.conf",)}, None),
        ({"dropins": (OF_ALL,)}, None),
    ],
)
def test_why_a_process_must_be_replaced(changed: dict[str, Any], told: str | None) -> None:
    seen = UnitSeen(**{**vars(RUNNING), **changed})
    assert difference.relaunch(UNIT, seen, BOX) == told


def test_an_image_that_is_no_longer_there_is_no_reason_to_stop_what_runs() -> None:
    assert difference.relaunch(UNIT, RUNNING, Seen("spark-a", images={"vllm:v1": None})) is None


def test_nginx_is_known_by_its_title() -> None:
    unit = Unit("floor-proxy.service", Kind.PROXY, Launch(("/usr/sbin/nginx", "-c", "/x")))
    seen = UnitSeen(unit.name, "active", argv=("nginx: master process /usr/sbin/nginx -c /x",))
    assert difference.relaunch(unit, seen, BOX) is None
    other = UnitSeen(unit.name, "active", argv=("nginx: master process /usr/sbin/nginx -c /y",))
    assert difference.relaunch(unit, other, BOX) == "it runs as 'nginx: master process /usr/sbin/nginx -c /y'"


def test_a_file_younger_than_what_read_it_asks_for_a_reload() -> None:
    unit = Unit("floor-proxy.service", Kind.PROXY, Launch(()), reload_on=("/etc/floor/nginx/nginx.conf",))
    young = Seen("spark-a", files={"/etc/floor/nginx/nginx.conf": FileSeen("", 0o644, "root:root", 20.0)})
    assert difference.stale(unit, UnitSeen(unit.name, "active", youngest_child=10.0), young)
    assert difference.stale(unit, UnitSeen(unit.name, "active", youngest_child=30.0), young) is None


def test_files_are_missing_different_misowned_or_stray() -> None:
    wanted = BoxState("spark-a", "1", "replicas", tuple(File(f"/etc/floor/{name}", "x") for name in "abcd"), ())
    good = File("", "x").sha256
    seen = Seen(
        "spark-a",
        files={
            "/etc/floor/a": FileSeen(good, 0o644, "root:root", 0),
            "/etc/floor/b": FileSeen("other", 0o644, "root:root", 0),
            "/etc/floor/c": FileSeen(good, 0o600, "root:root", 0),
        },
        owned=("/etc/floor/a", "/etc/floor/old", "/etc/systemd/system/floor-pool.service.d/x.conf"),
    )
    assert [(found.path, found.what) for found in difference.files(wanted, seen)] == [
        ("/etc/floor/b", "differs"),
        ("/etc/floor/c", "is root:root 0600, should be root:root 0644"),
        ("/etc/floor/d", "missing"),
        ("/etc/floor/old", "is no longer wanted"),
        ("/etc/systemd/system/floor-pool.service.d/x.conf", "is a drop-in that floor did not write"),
    ]


@pytest.mark.parametrize(
    ("path", "unit"),
    [
        ("/etc/systemd/system/floor-copy-flagship.service", "floor-copy-flagship.service"),
        ("/etc/systemd/system/floor-copy-flagship.service.d/x.conf", "floor-copy-flagship.service"),
        ("/etc/floor/engines/flagship.json", "floor-copy-flagship.service"),
        ("/etc/systemd/system/floor-pool.service", None),
        ("/etc/floor/pool.json", None),
        (OF_ALL, None),
    ],
)
def test_which_files_wait_for_a_copys_turn(path: str, unit: str | None) -> None:
    assert difference.belongs_to(path) == unit


def test_the_interpreter_of_a_script_is_not_an_argument() -> None:
    """What /proc showed of real vLLM 0.32, whose `vllm` is a Python script."""
    running = UnitSeen(**{**vars(RUNNING), "argv": ("/opt/vllm/bin/python3", *LAUNCH.argv)})
    assert difference.relaunch(UNIT, running, BOX) is None
    other = UnitSeen(**{**vars(running), "argv": ("/opt/vllm/bin/python3", "-I", *LAUNCH.argv, "--x")})
    assert difference.relaunch(UNIT, other, BOX) == "it runs with other arguments: arguments change: no longer --x"


def test_a_title_says_nothing_of_arguments() -> None:
    titled = UnitSeen(**{**vars(RUNNING), "argv": ("VLLM::APIServer",)})
    assert difference.relaunch(UNIT, titled, BOX) is None


@pytest.mark.parametrize(("started", "same"), [(20.0, True), (5.0, False), (None, False)])
def test_a_process_that_lost_its_environment_is_judged_by_its_age(started: float | None, same: bool) -> None:
    written = FileSeen("", 0o644, "root:root", 10.0)
    box = Seen("spark-a", files={f"/etc/systemd/system/{UNIT.name}": written})
    seen = UnitSeen(UNIT.name, "active", argv=("VLLM::APIServer",), main_started=started)
    assert (difference.relaunch(UNIT, seen, box) is None) is same
