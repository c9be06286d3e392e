"""What systemd says of units: one `systemctl show` call, parsed to facts. Nothing here starts or stops anything."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from floor.errors import FloorError

PROPERTIES = (
    "Id",
    "LoadState",
    "ActiveState",
    "SubState",
    "UnitFileState",
    "Result",
    "MainPID",
    "InvocationID",
    "FragmentPath",
    "DropInPaths",
    "NeedDaemonReload",
    "NRestarts",
    "StateChangeTimestampMonotonic",
    "ActiveEnterTimestampMonotonic",
    "ExecMainStartTimestampMonotonic",
    "ExecMainCode",
    "ExecMainStatus",
    "ControlGroup",
    "Conflicts",
    "ConflictedBy",
)

SHOW_TIMEOUT = 10.0  # seconds; the call takes about 10 ms, a systemd that needs longer cannot be asked

RAN_NEVER = 0  # ExecMainCode of a main process that has not ended (CLD_EXITED is 1, CLD_KILLED 2, CLD_DUMPED 3)


@dataclass(frozen=True)
class UnitFacts:
    """One unit at one moment. Times are seconds of the box's monotonic clock, None where it never happened.

    `ended` is the exit status of the last main process that ended, or the signal's number where `killed`.
    `since` is when the present state began, `active_since` when the unit last became active.
    """

    name: str
    load: str
    active: str
    sub: str
    enabled: str
    result: str
    main_pid: int
    invocation: str
    fragment: str
    dropins: tuple[str, ...]
    needs_reload: bool
    restarts: int
    since: float | None
    active_since: float | None
    started: float | None
    ended: int | None
    killed: bool
    cgroup: str
    conflicts: tuple[str, ...]

    @property
    def exists(self) -> bool:
        """True if systemd has loaded a unit file of this name."""
        return self.load == "loaded"

    def as_json(self) -> dict[str, Any]:
        """Return the facts as what `json.dumps` takes, without the name, which is the key they stand under."""
        facts = asdict(self) | {"dropins": list(self.dropins), "conflicts": list(self.conflicts)}
        del facts["name"]
        return facts


Run = Callable[[Sequence[str], float], str]


def show_argv(names: Sequence[str]) -> list[str]:
    """Given unit names, return the one command that asks for all their facts."""
    return ["systemctl", "show", "--no-pager", f"--property={','.join(PROPERTIES)}", "--", *names]


def parse(names: Sequence[str], text: str) -> dict[str, UnitFacts]:
    """Given unit names without repeats and what `systemctl show` printed for them, return their facts by name.

    Blocks come in the order asked for, a blank line between them; an alias shows another Id than the one asked.
    Raise FloorError if there are more or fewer blocks than names.
    """
    blocks = [block for block in text.strip().split("\n\n") if block.strip()]
    if len(blocks) != len(names):
        command = " ".join(show_argv(names))
        raise FloorError(f"systemctl show: asked for {len(names)} units, found {len(blocks)} answers; run `{command}`")
    return {name: _facts(name, block) for name, block in zip(names, blocks, strict=True)}


def show(names: Sequence[str], run: Run | None = None) -> dict[str, UnitFacts]:
    """Given unit names, return their facts by name; a unit that does not exist has load `not-found`.

    Raise FloorError if systemd cannot be asked.
    """
    wanted = list(dict.fromkeys(names))
    if not wanted:
        return {}
    return parse(wanted, (run or run_show)(show_argv(wanted), SHOW_TIMEOUT))


def show_loaded(names: Sequence[str], run: Run | None = None) -> dict[str, UnitFacts]:
    """Given unit names, return in one call the facts of these and of every service and target that systemd has loaded.

    What is not loaded does not run, so this tells of every unit that a start could stop. Raise FloorError as `show`.
    """
    text = (run or run_show)(show_argv([*dict.fromkeys(names), "*.service", "*.target"]), SHOW_TIMEOUT)
    found: dict[str, UnitFacts] = {}
    for block in text.strip().split("\n\n"):
        name = next((line[3:] for line in block.splitlines() if line.startswith("Id=")), "")
        if name:
            found[name] = _facts(name, block)
    return found


def run_show(argv: Sequence[str], timeout: float) -> str:
    """Given a command and seconds, return what it printed. Raise FloorError with its own words if it failed."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=timeout, check=False)
    except FileNotFoundError as error:
        raise FloorError(f"{argv[0]}: not found on this box; floor needs systemd there") from error
    except subprocess.TimeoutExpired as error:
        raise FloorError(
            f"{argv[0]} {argv[1]}: no answer in {timeout:g} s; look at `systemctl is-system-running` on this box"
        ) from error
    except OSError as error:
        raise FloorError(f"{argv[0]}: cannot be run: {error.strerror or error}") from error
    if done.returncode:
        words = done.stderr.strip() or f"exit status {done.returncode}"
        raise FloorError(f"{argv[0]} {argv[1]}: {words}; run `{' '.join(argv)}` on this box")
    return done.stdout


def _facts(name: str, block: str) -> UnitFacts:
    found = dict(line.split("=", 1) for line in block.splitlines() if "=" in line)
    ended = _number(found.get("ExecMainCode")) != RAN_NEVER
    return UnitFacts(
        name=name,
        load=found.get("LoadState", ""),
        active=found.get("ActiveState", ""),
        sub=found.get("SubState", ""),
        enabled=found.get("UnitFileState", ""),
        result=found.get("Result", ""),
        main_pid=_number(found.get("MainPID")),
        invocation=found.get("InvocationID", ""),
        fragment=found.get("FragmentPath", ""),
        dropins=_words(found.get("DropInPaths")),
        needs_reload=found.get("NeedDaemonReload") == "yes",
        restarts=_number(found.get("NRestarts")),
        since=_seconds(found.get("StateChangeTimestampMonotonic")),
        active_since=_seconds(found.get("ActiveEnterTimestampMonotonic")),
        started=_seconds(found.get("ExecMainStartTimestampMonotonic")),
        ended=_number(found.get("ExecMainStatus")) if ended else None,
        killed=_number(found.get("ExecMainCode")) > 1,
        cgroup=found.get("ControlGroup", ""),
        conflicts=_words(found.get("Conflicts")) + _words(found.get("ConflictedBy")),
    )


def _number(value: str | None) -> int:
    return int(value) if value and value.isdigit() else 0


def _seconds(value: str | None) -> float | None:
    microseconds = _number(value)
    return microseconds / 1e6 if microseconds else None


def _words(value: str | None) -> tuple[str, ...]:
    return tuple((value or "").split())
