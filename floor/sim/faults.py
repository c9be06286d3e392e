"""What can be made to go wrong, by name, and which of it is in force now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from floor.errors import UsageError
from floor.sim.spoil import WHAT

Value = float | int | str | bool

# Each fault's own settings with their defaults. Every fault also takes `for` (seconds until it clears by itself)
# and `times` (requests it strikes before it clears by itself); 0 means until it is cleared.
KINDS: dict[str, dict[str, Value]] = {
    "refuse": {"cut": False},  # closes the listening socket; cut: streams under way end too
    "hang": {},  # accepts, reads, never answers anything
    "drop": {},  # closes the connection without a word
    "dead": {},  # 200 on /health, /v1/models and /metrics; generations are taken in and never yield
    "die": {"how": "kill", "code": 1, "after": 0.0, "on": "now"},  # how: kill, exit; on: now, request (a generation)
    "prefill": {"seconds": 20.0, "block": True},  # a generation is silent that long; block: everything else too
    "unauthorized": {},  # 401 to every key
    "wrong-model": {"name": "another-model"},  # serves another name
    "error": {"status": 500, "routes": "generation"},  # routes: generation, all
    "slow": {"rate": 0.5},  # tok/s of each request: the CPU fell in for the GPU
    "slow-headers": {"seconds": 1.0},  # every answer's first byte comes that much later
    "truncate": {"events": 3},  # a stream is cut after so many events, without an end
    "stream-error": {"events": 3},  # a stream ends in an error event: what vLLM sends when its engine core died
    "loading": {"models": False},  # 503 as llama.cpp while it loads; models: /v1/models answers, as older builds do
    "orphan": {"lifetime": 600.0, "lock": "", "port": 0},  # a child that outlives this process, holding a lock or port
    "memory": {"mib": 256},  # allocates and keeps that much
    # Answers by the book are spoilt (floor/sim/spoil.py says how); running: generations under way from which `load` is.
    "tools": {"what": "silent", "mode": "both", "share": 1.0, "running": 12},
}
WORDS = {
    "how": ("kill", "exit"),
    "on": ("now", "request"),
    "routes": ("generation", "all"),
    "mode": ("both", "streamed", "whole"),
    "what": WHAT,
}
MEMORY_CAP_MIB = 4096  # a hog must not take the machine that simulates


@dataclass(frozen=True)
class Fault:
    kind: str
    options: Mapping[str, Value]

    def number(self, name: str) -> float:
        return float(self.options[name])

    def word(self, name: str) -> str:
        return str(self.options[name])

    @property
    def lasts(self) -> float:
        return self.number("for")


def known(kind: str) -> str:
    """`kind` itself. Raises UsageError when there is no such fault."""
    if kind not in KINDS:
        raise UsageError(f"fault {kind!r}: no such fault; write one of {', '.join(sorted(KINDS))}")
    return kind


def make(kind: str, given: Mapping[str, object] | None = None) -> Fault:
    """A fault with every setting filled in. Raises UsageError for an unknown kind, setting or value."""
    defaults: dict[str, Value] = {**KINDS[known(kind)], "for": 0.0, "times": 0}
    options = dict(defaults)
    for name, value in (given or {}).items():
        if name not in defaults:
            raise UsageError(f"fault {kind}: no setting {name!r}; it has {', '.join(sorted(defaults))}")
        options[name] = _value(f"fault {kind}: {name}", value, defaults[name])
        if name in WORDS and options[name] not in WORDS[name]:
            raise UsageError(f"fault {kind}: {name} is {value!r}; write one of {', '.join(WORDS[name])}")
    if kind == "slow" and not options["rate"]:
        raise UsageError("fault slow: rate is 0; write a rate above 0, or use the fault dead")
    if kind == "memory" and int(options["mib"]) > MEMORY_CAP_MIB:
        raise UsageError(f"fault memory: mib is {options['mib']}; at most {MEMORY_CAP_MIB} is taken from this machine")
    return Fault(kind, options)


def parse(text: str) -> Fault:
    """Read `KIND` or `KIND:name=value,name=value`, as on the command line. Raises UsageError."""
    kind, _, rest = text.partition(":")
    given = {}
    for part in filter(None, rest.split(",")):
        name, equals, value = part.partition("=")
        if not equals:
            raise UsageError(f"fault {text!r}: {part!r} is not NAME=VALUE")
        given[name.strip()] = value.strip()
    return make(kind.strip(), given)


def _value(where: str, value: object, default: Value) -> Value:
    """`value` as the type of `default`; text is read as on a command line. Numbers are 0 or more."""
    if isinstance(default, str):
        return str(value)
    if isinstance(default, bool):
        words = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
        if str(value).lower() not in words:
            raise UsageError(f"{where} is {value!r}; write true or false")
        return words[str(value).lower()]
    try:
        number = type(default)(str(value))
    except ValueError:
        kind = "a whole number" if isinstance(default, int) else "a number"
        raise UsageError(f"{where} is {value!r}; write {kind}") from None
    if not 0 <= number < float("inf"):
        raise UsageError(f"{where} is {value!r}; write a number from 0 up")
    return number


@dataclass
class Active:
    """The faults in force. `now` is any clock's seconds, the same clock throughout."""

    _set: dict[str, tuple[Fault, float]] = field(default_factory=dict)
    _struck: dict[str, int] = field(default_factory=dict)

    def add(self, fault: Fault, now: float) -> None:
        """Put it in force, in place of one of the same kind."""
        self._set[fault.kind] = fault, now
        self._struck[fault.kind] = 0

    def clear(self, kind: str | None = None) -> list[str]:
        """Take one kind, or all of them, out of force. Returns the kinds that were."""
        gone = [k for k in self._set if kind in (None, k)]
        for name in gone:
            del self._set[name]
        return gone

    def expire(self, now: float) -> list[str]:
        """Clear what has lasted its time. Returns those kinds."""
        over = [kind for kind, (fault, since) in self._set.items() if fault.lasts and now >= since + fault.lasts]
        for kind in over:
            self.clear(kind)
        return over

    def get(self, kind: str, now: float) -> Fault | None:
        """The fault of that kind if it is in force at `now`."""
        self.expire(now)
        return self._set[kind][0] if kind in self._set else None

    def strike(self, kind: str, now: float) -> Fault | None:
        """Like `get`, for one request: counts against the fault's `times`."""
        fault = self.get(kind, now)
        if fault is not None and fault.options["times"]:
            self._struck[kind] += 1
            if self._struck[kind] >= fault.number("times"):
                self.clear(kind)
        return fault

    def names(self, now: float) -> list[str]:
        self.expire(now)
        return sorted(self._set)
