"""Guard and watchdog: what they are told, and what a copy's unit asks them before a start."""

from __future__ import annotations

from pathlib import Path

from floor.box import paths
from floor.box.document import Document
from floor.desired.state import BoxState, Kind
from floor.guard import settings as guard
from floor.watchdog import settings as watchdog
from tests.unit.desired import unitfile
from tests.unit.desired.example import make

NOTIFY = ("health: {", "notify: {command: [/usr/bin/tell, me], webhook: /etc/hook, every: 5m}\nhealth: {")
ADMIT = "+/opt/floor/current/bin/python -I -m floor.guard.admit"


def _document(state: BoxState, path: Path) -> Document:
    file = state.file(str(path))
    assert file is not None
    return Document.parse(file.text, path.name)


def test_the_guard_reads_what_it_is_told(states: dict[str, BoxState]) -> None:
    found = guard.read(_document(states["spark-b"], paths.GUARD_SETTINGS))
    assert (found.mode, found.floor, found.keep_free) == ("protect", None, 8 << 30)
    assert found.copies == (
        guard.Copy("flagship@spark-b", "floor-copy-flagship.service", True, True, 0.74, None),
        guard.Copy("small.embed@spark-b", "floor-copy-small.embed.service", False, True, 0.1, None),
    )


def test_a_container_without_a_card_takes_no_share() -> None:
    states = make(('image: "registry.example/vllm:1"', 'image: "registry.example/vllm:1", gpus: none'))
    assert not guard.read(_document(states["spark-a"], paths.GUARD_SETTINGS)).copies[0].card


def test_the_watchdog_reads_what_it_is_told(states: dict[str, BoxState]) -> None:
    found = watchdog.read(_document(states["spark-b"], paths.WATCHDOG_SETTINGS))
    assert (found.interval, found.restarts, found.notify.wanted) == (30.0, 3, False)
    assert found.copies[1] == watchdog.Copy(
        backend="small.embed@spark-b",
        unit="floor-copy-small.embed.service",
        url="http://192.0.2.12:8001",
        model="small.embed",
        dialect="vllm",
        port=8001,
        key=True,
        docker=False,
        modes=("replicas", "split"),
        stall=120.0,
        start_time=90.0,
        request_time=60.0,
    )


def test_an_address_that_others_could_write_to_is_read_by_root_alone() -> None:
    def mode(webhook: str) -> int:
        file = make(("health: {", f"notify: {{webhook: {webhook}}}\nhealth: {{"))["spark-a"].file(
            str(paths.WATCHDOG_SETTINGS)
        )
        assert file is not None
        return file.mode

    assert (mode("https://chat.example/hook/secret"), mode("/etc/hook")) == (0o600, 0o644)


def test_who_is_told() -> None:
    notify = watchdog.read(_document(make(NOTIFY)["spark-a"], paths.WATCHDOG_SETTINGS)).notify
    assert (notify.command, notify.webhook, notify.webhook_file) == (("/usr/bin/tell", "me"), "", Path("/etc/hook"))
    assert (notify.every, notify.most) == (300.0, 12)


def test_of_several_proxy_boxes_the_later_ones_know_whom_they_leave_it_to() -> None:
    states = make(NOTIFY, ("proxy: {boxes: [spark-a]", "proxy: {boxes: [spark-a, spark-b]"))
    before = {
        name: watchdog.read(_document(states[name], paths.WATCHDOG_SETTINGS)).notify.before
        for name in ("spark-a", "spark-b")
    }
    assert before == {"spark-a": (), "spark-b": ("http://192.0.2.11:8099/status",)}


def test_a_watchdog_that_may_not_act() -> None:
    states = make(("health: {", "watchdog: {restarts: 0}\nhealth: {"))
    assert watchdog.read(_document(states["spark-a"], paths.WATCHDOG_SETTINGS)).restarts == 0


def test_a_proxy_without_copies_watches_only_where_somebody_is_told() -> None:
    edge = [("  mac:", "  edge: {host: 192.0.2.30}\n  mac:"), ("boxes: [spark-a],", "boxes: [edge],")]
    kinds = {unit.kind for unit in make(*edge)["edge"].units}
    assert kinds.isdisjoint({Kind.GUARD, Kind.TIMER, Kind.ROUND})
    told = {unit.kind for unit in make(*edge, NOTIFY)["edge"].units}
    assert {Kind.TIMER, Kind.ROUND} <= told
    assert Kind.GUARD not in told


def test_a_start_asks_the_guard(states: dict[str, BoxState]) -> None:
    name = "floor-copy-flagship.service"
    unit = unitfile.read(states["spark-a"], name)
    assert unit["Service", "ExecCondition"][1] == f"{ADMIT} {name} --held"
    # After what tidies up: a container that was left behind would hold the memory that is asked for.
    assert unit["Service", "ExecStartPre"][-1] == f"{ADMIT} {name}"


def test_without_a_guard_nothing_is_asked_and_no_engine_is_restarted_for_it(states: dict[str, BoxState]) -> None:
    off = make(("health: {", "guard: {mode: none}\nhealth: {"))["spark-a"]
    assert not [line for line in unitfile.read(off, "floor-copy-flagship.service") if "admit" in str(line)]
    assert Kind.GUARD not in {unit.kind for unit in off.units}
    copies = [unit for unit in off.units if unit.kind is Kind.COPY]
    assert copies == [unit for unit in states["spark-a"].units if unit.kind is Kind.COPY]


def test_the_guard_is_the_last_to_go(states: dict[str, BoxState]) -> None:
    unit = unitfile.read(states["spark-a"], "floor-guard.service")
    assert unit.one("Service", "OOMScoreAdjust") == "-1000"
    assert unit.one("Service", "LimitMEMLOCK") == "infinity"


def test_a_round_never_overlaps_the_next(states: dict[str, BoxState]) -> None:
    timer = unitfile.read(states["spark-a"], "floor-watchdog.timer")
    assert timer.one("Timer", "OnUnitInactiveSec") == "30"
    assert unitfile.read(states["spark-a"], "floor-watchdog.service").one("Service", "Type") == "oneshot"
