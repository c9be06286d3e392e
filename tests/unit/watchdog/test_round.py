"""Rounds of the watchdog on a box that is a folder: what it looks at, does, says, keeps and tells."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from floor.box import alarms, away, direct, events, holds, paths
from floor.box.command import Result
from floor.box.operation import Operation
from floor.box.status_ask import MuteError
from floor.errors import FloorError
from floor.healthcheck.load import Load
from floor.notify.decide import Message
from floor.notify.settings import Notify
from floor.watchdog import __main__ as command
from floor.watchdog import peers
from floor.watchdog.ask import Answers
from floor.watchdog.decide import Action
from floor.watchdog.look import World
from floor.watchdog.round import Round
from floor.watchdog.settings import Settings
from tests.unit.watchdog.words import COPY, UNIT, verdict

SHOWN = """Id={name}
LoadState=loaded
ActiveState={active}
SubState=running
UnitFileState=enabled
Result={result}
InvocationID={run}
NRestarts={restarts}
StateChangeTimestampMonotonic=1000000
ControlGroup=/system.slice/{name}
Conflicts={conflicts}
"""
LOST = {"member": False, "drains": [], "reason": "refused", "evidence": "connection refused"}
TELL = Notify(command=("/usr/bin/tell",), every=3600.0, most=5, before=("http://192.0.2.11:8099/status",))


@dataclass
class Machine:
    """A box below `root`: what systemd, the journal and the engine say, and what was done and sent."""

    root: Path
    active: str = "active"
    result: str = "success"
    run: int = 1
    restarts: int = 0
    conflicts: str = "shutdown.target"
    others: str = ""
    engine: str = "ok"
    log: list[str] = field(default_factory=list)
    at: float = 1000.0
    acts: list[str] = field(default_factory=list)
    sent: list[Message] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    fails: str = ""
    asked: int = 0
    foreign: list[dict[str, Any]] = field(default_factory=list)
    sought: int = 0
    earlier: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    kernel: str = ""
    beside: list[dict[str, Any]] = field(default_factory=list)
    elsewhere: Collection[tuple[str, int]] = ()

    def show(self, argv: Sequence[str], _timeout: float) -> str:
        assert argv[-3:] == [UNIT, "*.service", "*.target"]
        own = SHOWN.format(
            name=UNIT,
            active=self.active,
            result=self.result,
            run=f"run-{self.run}",
            restarts=self.restarts,
            conflicts=self.conflicts,
        )
        return own + "\n" + self.others

    def program(self, argv: Sequence[str], **_kept: Any) -> Result:
        if argv[0] == "nft":
            return Result(0, self.kernel, "")
        return Result(0, "\n".join(self.log) if argv[0] == "journalctl" else "", "")

    def ask(self, copies: Sequence[Any], key_file: Path, root: Path) -> Answers:
        self.asked += len(copies)
        return {copy.unit: (verdict(self.engine, self.at), Load(running=0, waiting=0, steps=5)) for copy in copies}

    def seek(self, names: Sequence[str], *_given: Any) -> dict[str, Any]:
        self.sought += 1
        return {"units": self.foreign, "cron": []}

    def near(self, ports: Collection[int], others: Collection[tuple[str, int]]) -> list[dict[str, Any]]:
        assert ports <= {COPY.port}
        self.elsewhere = others
        return self.beside

    def act(self, action: Action, *_given: Any) -> str:
        if self.fails:
            raise FloorError(self.fails)
        self.acts.append(str(action))
        return ""

    def round(self, *, dry_run: bool = False, notify: Notify = TELL, every: float = 30.0, seek: bool = False) -> str:
        """One round later, return action and reason."""
        self.at += every
        settings = Settings(30.0, 3, paths.ENGINE_KEY, (COPY,), notify)
        world = World(
            self.root, lambda: self.at, self.program, self.show, self.ask, self.seek, lambda _port: (), self.near
        )
        one = Round(settings, world, self.said.append, lambda: self.at, self.act, self._send, self._peers)
        decision = one.run(dry_run=dry_run, seek=seek)[COPY.backend]
        return f"{decision.action}: {decision.reason}"

    def _peers(self, urls: Sequence[str], _root: Path) -> list[Mapping[str, Any]]:
        return [self.earlier[url] for url in urls if url in self.earlier]

    def _send(self, _notify: Notify, _box: str, message: Message, _root: Path) -> None:
        self.sent.append(message)

    def events(self) -> list[str]:
        return [event["text"] for event in events.read(50, self.root)]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    mode = tmp_path / "etc/floor/mode"
    mode.parent.mkdir(parents=True)
    mode.write_text("replicas\n")
    return Machine(tmp_path)


def test_a_copy_that_is_well_is_no_event(machine: Machine) -> None:
    assert [machine.round() for _ in range(3)] == ["none: ok"] * 3
    assert (machine.events(), machine.sent, machine.said, machine.acts) == ([], [], [], [])


def test_what_hangs_is_watched_restarted_said_and_kept(machine: Machine) -> None:
    machine.round()
    machine.engine = "timed_out"
    found = [machine.round() for _ in range(11)]
    assert found == ["none: watched"] * 10 + ["restart: stands still"]
    assert machine.acts == ["restart"]
    assert machine.events() == [
        "flagship@spark-a: watched: stands still for 0 s of 300 s, 1 looks: found timed_out",
        "flagship@spark-a: restart: stands still: stands still for 300 s of 300 s, 11 looks: found timed_out",
    ]
    assert machine.said == machine.events()


def test_what_answers_when_it_is_asked_once_more_is_left_alone(machine: Machine) -> None:
    machine.engine = "timed_out"
    for _ in range(10):
        machine.round()
    before = machine.ask

    def recovers(copies: Sequence[Any], key_file: Path, root: Path) -> Answers:
        machine.engine = "timed_out" if machine.asked < 11 else "ok"
        return before(copies, key_file, root)

    machine.ask = recovers  # type: ignore[method-assign]
    assert machine.round() == "none: recovered"
    assert machine.acts == []


def test_a_dry_run_does_keeps_and_tells_nothing(machine: Machine) -> None:
    machine.active, machine.result = "failed", "start-limit-hit"
    assert machine.round(dry_run=True) == "start: failed"
    assert machine.round(dry_run=True) == "start: failed"
    assert (machine.acts, machine.events(), machine.sent) == ([], [], [])
    assert not (machine.root / "run/floor/watchdog/state.json").exists()


def test_the_ration_outlives_each_process_of_it(machine: Machine) -> None:
    machine.active, machine.result = "failed", "start-limit-hit"
    found = [machine.round() for _ in range(14)]
    assert [one for one in found if one.startswith("start")] == ["start: failed"] * 3
    assert found[-1] == "none: ration used up"


def test_another_boot_begins_anew(machine: Machine) -> None:
    machine.active, machine.result = "failed", "start-limit-hit"
    machine.round()
    place = machine.root / "run/floor/watchdog/state.json"
    place.write_text(json.dumps(json.loads(place.read_text()) | {"boot": "another"}))
    assert machine.round() == "start: failed"


def test_a_state_that_is_broken_counts_as_none(machine: Machine) -> None:
    machine.round()
    (machine.root / "run/floor/watchdog/state.json").write_text("{")
    assert machine.round() == "none: ok"


def test_in_another_mode_nothing_is_touched_nor_asked(machine: Machine) -> None:
    (machine.root / "etc/floor/mode").write_text("split\n")
    machine.active, machine.result = "failed", "start-limit-hit"
    assert machine.round() == "none: not wanted"
    machine.active, machine.engine = "active", "refused"
    assert machine.round() == "none: not wanted"
    assert machine.asked == 0


def test_an_operation_at_work_is_not_disturbed_and_one_that_was_left_is_named(machine: Machine) -> None:
    by = {"user": "ann", "host": "laptop", "pid": 7, "started": 1.0}
    operation = Operation(machine.root)
    operation.take({"epoch": 3, "verb": "restart", "by": by})
    machine.active = "inactive"
    assert machine.round() == "none: stands down"
    operation.release(3, "interrupted")
    assert machine.round() == "start: left down"
    assert "since `restart` of ann@laptop (process 7, epoch 3)" in machine.events()[-1]


def test_a_start_that_would_stop_a_serving_unit_is_declined(machine: Machine) -> None:
    other = {"result": "success", "run": "r", "restarts": 0, "conflicts": ""}
    machine.others = SHOWN.format(name="vllm-replica.service", active="active", **other)
    machine.others += "\n" + SHOWN.format(name="shutdown.target", active="inactive", **other)
    machine.active, machine.result, machine.conflicts = "failed", "exit-code", "shutdown.target vllm-replica.service"
    assert machine.round() == "none: declined"
    assert "its start would stop vllm-replica.service (active)" in machine.events()[-1]
    assert machine.sent[0].text.startswith("flagship@spark-a: declined: its start would stop vllm-replica.service")


def test_what_the_guard_keeps_down_stays_down_and_is_told_once(machine: Machine) -> None:
    holds.put(holds.Hold(UNIT, "2.1 GiB were left", "abc", 1.0, lasting=True), machine.root)
    machine.active, machine.result = "failed", "signal"
    assert [machine.round() for _ in range(3)] == ["none: held"] * 3
    assert [message.key for message in machine.sent] == [f"hold {UNIT}"]


def test_holds_that_cannot_be_read_keep_nothing_down(machine: Machine) -> None:
    (machine.root / "var/lib/floor").mkdir(parents=True)
    (machine.root / "var/lib/floor/holds.json").write_text("{")
    machine.active, machine.result = "failed", "signal"
    assert machine.round() == "start: failed"


def test_a_reason_that_no_start_mends_is_read_in_the_log(machine: Machine) -> None:
    machine.active, machine.restarts, machine.result = "activating", 2, "exit-code"
    machine.log = ["loading", "RuntimeError: CUDA error: GPU is lost", "bye"]
    assert machine.round() == "stop: no start mends it"
    assert "the card is lost, after 2 restarts by systemd: RuntimeError" in machine.events()[-1]


def test_what_keeps_it_from_acting_is_said(machine: Machine) -> None:
    machine.active, machine.result, machine.fails = "failed", "exit-code", "systemctl start: no such thing"
    assert machine.round() == "none: could not act"
    assert machine.events() == ["flagship@spark-a: could not act: start: systemctl start: no such thing"]


def test_a_message_that_cannot_be_sent_is_an_event(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_given: Any) -> None:
        raise FloorError("the web hook answered 500")

    monkeypatch.setattr(machine, "_send", refuse)
    machine.engine = "auth_required"
    machine.round()
    assert "nobody could be told: the web hook answered 500: flagship@spark-a: auth required" in machine.events()[-1]


def test_a_message_that_was_not_sent_is_tried_again_after_a_while(machine: Machine) -> None:
    sends, refused = machine._send, [0]

    def refuse(*given: Any) -> None:
        refused[0] += 1
        if refused[0] < 3:
            raise FloorError("the web hook answered 500")
        sends(*given)

    machine._send = refuse  # type: ignore[method-assign]
    machine.engine = "auth_required"
    for _ in range(10):
        machine.round()
    assert (refused[0], machine.sent) == (1, [])
    for _ in range(11):
        machine.round()
    assert (refused[0], [message.state for message in machine.sent]) == (3, ["new"])
    assert len([text for text in machine.events() if text.startswith("nobody could be told")]) == 2


def test_a_round_tells_no_longer_than_it_has_time_for(machine: Machine) -> None:
    sends = machine._send

    def slow(*given: Any) -> None:
        machine.at += 9.0
        sends(*given)

    machine._send = slow  # type: ignore[method-assign]
    backends = {f"m{number}@spark-a": LOST for number in range(4)}
    place = machine.root / "run/floor/pool/state.json"
    place.parent.mkdir(parents=True)
    pools = {name.partition("@")[0]: {"members": [], "backends": {name: one}} for name, one in backends.items()}
    place.write_text(json.dumps({"pools": pools}))
    machine.round()
    assert len(machine.sent) == 3
    machine.round()
    assert [message.key for message in machine.sent] == [f"nobody m{number}" for number in range(4)]


def test_one_that_is_ended_while_it_tells_has_kept_what_it_did(machine: Machine) -> None:
    class EndedError(Exception): ...

    def hangs(*_given: Any) -> None:
        raise EndedError

    machine._send = hangs  # type: ignore[method-assign]
    holds.put(holds.Hold("other.service", "2.1 GiB were left", "abc", 1.0), machine.root)
    machine.active, machine.result = "failed", "start-limit-hit"
    for _ in range(20):
        with pytest.raises(EndedError):
            machine.round()
    assert machine.acts == ["start"] * 3


def test_a_part_that_answers_nobody_has_no_port_that_others_could_mean(machine: Machine) -> None:
    asked: list[Sequence[int]] = []
    machine.seek = lambda _units, ports, *_: asked.append(ports) or {"units": [], "cron": []}  # type: ignore[func-returns-value, method-assign]
    part = replace(COPY, unit=UNIT, url="", port=0)
    settings = Settings(30.0, 3, paths.ENGINE_KEY, (part,), Notify())
    world = World(
        machine.root,
        lambda: 1.0,
        machine.program,
        machine.show,
        machine.ask,
        machine.seek,
        lambda _port: (),
        machine.near,
    )
    Round(settings, world, machine.said.append, lambda: 1.0, machine.act).run(dry_run=False)
    assert asked == [[]]


def test_nobody_to_tell_is_fine(machine: Machine) -> None:
    machine.engine = "auth_required"
    assert machine.round(notify=Notify()) == "none: auth required"
    assert machine.sent == []


def test_the_pool_of_a_proxy_box_is_told_of(machine: Machine) -> None:
    place = machine.root / "run/floor/pool/state.json"
    place.parent.mkdir(parents=True)
    place.write_text(json.dumps({"pools": {"flagship": {"members": [], "backends": {COPY.backend: LOST}}}}))
    machine.round()
    assert [message.text for message in machine.sent] == ["flagship: nobody serves it"]


def test_what_an_earlier_proxy_box_sees_as_well_is_left_to_that(machine: Machine) -> None:
    place = machine.root / "run/floor/pool/state.json"
    place.parent.mkdir(parents=True)
    place.write_text(json.dumps({"pools": {"flagship": {"members": [], "backends": {COPY.backend: LOST}}}}))
    status = {"stopping": False, "pool": {"age": 1.0, "backends": {COPY.backend: {"member": False}}}}
    machine.earlier = {"http://192.0.2.11:8099/status": status}
    machine.round()
    assert machine.sent == []
    machine.earlier = {}
    machine.round()
    assert [message.text for message in machine.sent] == ["flagship: nobody serves it"]


def test_other_boxes_are_asked_with_the_status_key_or_the_one_that_follows(tmp_path: Path) -> None:
    asked = []
    keys = ("present-status-key-of-a", "next-status-key-of-all")

    def get(url: str, key: str | None) -> bytes:
        asked.append((url, key))
        if url == "down" or key == keys[0]:
            raise MuteError(url)
        return b"[]" if url == "odd" else b'{"pool": null}'

    secrets = paths.under(tmp_path, paths.STATUS_KEY).parent
    secrets.mkdir(parents=True)
    assert peers.statuses(["up"], tmp_path, get) == []
    (secrets / "status.key").write_text(f"{keys[0]}\n")
    (secrets / "status.next").write_text(f"{keys[1]}\n")
    assert peers.statuses(["down", "odd", "up"], tmp_path, get) == [{"pool": None}]
    assert asked == [(url, key) for url in ("down", "odd", "up") for key in keys]


def test_what_a_switch_keeps_away_is_told_when_the_switch_was_left(machine: Machine) -> None:
    place = machine.root / "run/floor/pool/state.json"
    place.parent.mkdir(parents=True)
    place.write_text(json.dumps({"pools": {"flagship": {"members": [], "backends": {COPY.backend: LOST}}}}))
    operation = Operation(machine.root)
    operation.take({"epoch": 3, "verb": "switch", "by": {"user": "ann", "host": "laptop", "pid": 7, "started": 1.0}})
    away.announce({"flagship": away.Away(3, 2000.0, "split")}, machine.root)
    machine.round()
    assert machine.sent == []
    operation.release(3, "interrupted")
    machine.round()
    assert [message.key for message in machine.sent] == ["nobody flagship"]


def test_a_foreign_watchdog_that_came_later_is_found_said_and_told_once(machine: Machine) -> None:
    machine.round()
    hit = {
        "word": "floor-copy-flagship",
        "where": "/opt/heal.sh:3",
        "line": "systemctl restart floor-copy-flagship",
        "acts": True,
    }
    machine.foreign = [{"name": "heal.timer", "conflicts": [], "mentions": [hit]}]
    for _ in range(25):
        machine.round()
    assert machine.sought == 2
    text = f"heal.timer (somebody else's) may start or stop engines: /opt/heal.sh:3 says `{hit['line']}`"
    assert machine.events() == [text]
    assert [message.text for message in machine.sent] == [text]


def test_a_round_that_a_person_asks_for_looks_for_foreign_units_at_once(machine: Machine) -> None:
    machine.round()
    machine.round(seek=True)
    machine.round()
    assert machine.sought == 2


def test_settings_that_are_wrong_end_the_command(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--once", "--root", str(machine.root)]) == 1
    assert "watchdog.json: cannot be read" in capsys.readouterr().err


def test_a_dry_run_by_hand(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    document = {
        "interval": 30,
        "restarts": 3,
        "key_file": "/etc/floor/secrets/engine.key",
        "copies": [{**vars(replace(COPY)), "modes": ["replicas"]}],
        "notify": [],
    }
    (machine.root / "etc/floor/watchdog.json").write_text(json.dumps(document))
    machine.active, machine.result = "failed", "start-limit-hit"
    monkeypatch.setattr(
        command,
        "World",
        lambda root, clock: World(
            root, clock, machine.program, machine.show, machine.ask, machine.seek, lambda _port: ()
        ),
    )
    assert command.main(["--once", "--dry-run", "--root", str(machine.root)]) == 3
    assert capsys.readouterr().out.startswith("flagship@spark-a: start: failed: floor-copy-flagship.service is failed")


def test_a_program_that_asks_another_boxs_engine_is_told_alike(machine: Machine) -> None:
    """The batch job that was given one box's address, on a box whose proxy may go there."""
    pool = [
        {"name": name, "address": address, "port": 8000, "unit": UNIT}
        for name, address in ((COPY.backend, "192.0.2.11"), ("flagship@spark-b", "192.0.2.12"))
    ]
    place = paths.under(machine.root, paths.POOL_SETTINGS)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(json.dumps({"pools": [{"backends": pool}]}))
    machine.beside = [{"address": "this box: batch.service -> 192.0.2.12:8000", "connections": 4}]
    machine.round()
    assert machine.elsewhere == {("192.0.2.12", 8000)}
    assert machine.events() == ["this box: batch.service -> 192.0.2.12:8000 asked an engine past the proxy"]
    assert machine.sent[0].text.startswith(
        "this box: batch.service -> 192.0.2.12:8000 asks an engine past the proxy (4 "
    )


PAST = """{"nftables": [{"set": {"family": "inet", "table": "floor", "name": "direct4", "elem": [
 {"elem": {"val": "192.0.2.77", "counter": {"packets": %d, "bytes": 1}}}]}}]}"""


def test_who_goes_past_the_proxy_is_an_event_once_and_a_person_is_told(machine: Machine) -> None:
    machine.round()
    assert direct.last(machine.root) == []
    machine.kernel = PAST % 3
    machine.round()
    assert direct.last(machine.root) == [{"address": "192.0.2.77", "connections": 3}]
    machine.kernel = PAST % 9
    machine.round()
    assert machine.events() == ["192.0.2.77 asked an engine of this box past the proxy"]
    told = "192.0.2.77 asks an engine of this box past the proxy (3 connections so far); see `floor clients`, and give "
    assert [one.text for one in machine.sent] == [f"{told}that client the proxy's address"]


def test_a_program_on_the_box_itself_is_told_alike(machine: Machine) -> None:
    machine.beside = [{"address": "this box: batch.service", "connections": 4}]
    machine.round()
    assert direct.last(machine.root) == machine.beside
    assert machine.events() == ["this box: batch.service asked an engine of this box past the proxy"]
    assert alarms.read(machine.root, machine.at + 1) == [
        "batch.service here asks an engine of this box past the proxy; see `floor clients`"
    ]
    machine.beside = []
    machine.round()
    assert direct.last(machine.root) == []


def test_a_dry_run_asks_the_kernel_nothing_and_writes_nothing(machine: Machine) -> None:
    machine.kernel = PAST % 3
    machine.round(dry_run=True)
    assert direct.last(machine.root) == []
    assert not paths.under(machine.root, paths.DIRECT).exists()
