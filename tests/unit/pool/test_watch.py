"""One backend's loop and one box's: what they keep, when they tell, and when they do not believe themselves."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator

import httpx
import pytest

from floor.errors import FloorError
from floor.healthcheck.client import make_client
from floor.healthcheck.target import Target
from floor.healthcheck.verdict import Level, Reason
from floor.pool import boxes
from floor.pool.memory import UnitSeen
from floor.pool.watch import HURRIED, HURRY, LATE, PROBE_TIMEOUT, STATUS_FRESH, BackendWatch, BoxWatch
from floor.pool.watches import Watches
from tests.unit.pool.documents import backend, settings

UNIT = "floor-copy-flagship.service"


class Clock:
    """A clock that goes on by `step` at each look at it, so that no test waits."""

    def __init__(self) -> None:
        self.now, self.step = 100.0, 0.0

    def __call__(self) -> float:
        self.now += self.step
        return self.now


class Engine:
    """Answers as an idle vLLM, or does not."""

    def __init__(self) -> None:
        self.refuses = False
        self.swallows = 0
        self.tokens = 0
        self.asked: list[str] = []

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request.url.path)
        if self.refuses:
            raise httpx.ConnectError("refused", request=request) from ConnectionRefusedError()
        if request.url.path == "/v1/models":
            return httpx.Response(200, json={"data": [{"id": "flagship"}]})
        if request.url.path == "/metrics":
            lines = {"num_requests_running": 0, "num_requests_waiting": 0, "generation_tokens_total": self.tokens}
            return httpx.Response(200, text="".join(f"vllm:{name} {value}\n" for name, value in lines.items()))
        if request.method == "POST":
            if self.swallows > 0:
                self.swallows -= 1
                await asyncio.sleep(60)
            self.tokens += 1
            return httpx.Response(200, json={"usage": {"completion_tokens": 1}})
        return httpx.Response(200)


def watch(
    engine: Engine, clock: Clock, script: Callable[[BackendWatch], Iterable[float]]
) -> tuple[BackendWatch, list[int]]:
    """Run a watch for as many loops as `script` has steps; each is how far the clock goes on before the next look.

    Return it, and how many looks had been made at each piece of news.
    """
    changes: list[int] = []

    async def run() -> BackendWatch:
        target = Target("flagship@a", "http://192.0.2.11:8000", "flagship", probe_timeout=PROBE_TIMEOUT)
        async with make_client(httpx.MockTransport(engine)) as client:
            made = BackendWatch(client, target, 0.001, clock, lambda: changes.append(engine.asked.count("/health")))
            task = asyncio.create_task(made.run())
            for seconds in script(made):
                for _ in range(400):
                    await asyncio.sleep(0)
                clock.now += seconds
                await asyncio.sleep(0.002)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            return made

    return asyncio.run(run()), changes


def test_an_idle_backend_is_asked_for_a_token_and_is_proven() -> None:
    engine = Engine()
    made, changes = watch(engine, Clock(), lambda _: [0.5] * 6)
    assert made.verdict is not None
    assert (made.verdict.level, made.verdict.reason) == (Level.GENERATES, Reason.OK)
    assert engine.asked.count("/v1/chat/completions") == 1, "one proof is enough for a while"
    assert len(changes) == 2, "unproven, then ok: the looks after that bring no news"


def test_a_new_start_has_to_prove_itself_again() -> None:
    engine = Engine()

    def script(made: BackendWatch) -> Iterator[float]:
        yield from [0.5] * 6
        made.renew()
        yield from [0.5] * 6

    watch(engine, Clock(), script)
    assert engine.asked.count("/v1/chat/completions") == 2


@pytest.mark.parametrize("end", ["a new start", "gone for a moment"])
def test_a_generation_that_is_lost_is_not_waited_for(end: str) -> None:
    engine = Engine()
    engine.swallows = 1

    def script(made: BackendWatch) -> Iterator[float]:
        yield from [0.5] * 4
        assert engine.asked.count("/v1/chat/completions") == 1
        if end == "a new start":
            made.renew()
        else:
            engine.refuses = True
            yield from [0.5] * 2
            engine.refuses = False
        yield from [0.5] * 6

    made, _ = watch(engine, Clock(), script)
    assert made.verdict is not None
    assert (made.verdict.level, made.verdict.reason) == (Level.GENERATES, Reason.OK)


def test_looks_that_took_longer_than_they_may_are_this_process_own_fault_unless_it_is_always_late() -> None:
    engine, clock = Engine(), Clock()
    engine.refuses = True
    clock.step = (PROBE_TIMEOUT + LATE) / 4  # the clock is read more than four times in a look
    made, changes = watch(engine, clock, lambda _: [0.0])
    assert made.verdict is not None
    assert made.verdict.reason is Reason.REFUSED
    assert changes == [4], "three looks in a row were not believed"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"dialect": "tgi"}, "unknown dialect 'tgi'; known: "),
        ({"url": "ftp://x"}, "'ftp://x': not an engine's address"),
    ],
    ids=["dialect", "url"],
)
def test_a_backend_that_cannot_be_asked_is_out_and_says_why(change: dict[str, str], why: str) -> None:
    given = settings(backend("flagship@a", "192.0.2.11"), backend("flagship@mac", "192.0.2.20", unit=None) | change)
    watches = Watches(given, ("key",), ("key",), lambda: 7.0, lambda: None, lambda _: None)
    fine, odd = (watches.seen(one, ()).verdict for one in given.backends)
    assert fine is None, "not looked at yet"
    assert odd is not None
    assert (odd.level, odd.reason, odd.at) == (Level.DOWN, Reason.NOT_AN_ENGINE, 7.0)
    assert odd.evidence.startswith(f"cannot be asked: {why}")


class Port:
    """A status port that answers, or says why not."""

    def __init__(self, *answers: str | UnitSeen) -> None:
        self.answers = list(answers)
        self.log: list[str] = []
        self.changes = 0

    async def ask(self, url: str, key: str, *, asked: float, within: float) -> boxes.Status:
        if not self.answers:
            await asyncio.sleep(60)
        answer = self.answers.pop(0)
        if isinstance(answer, str):
            raise FloorError(answer)
        return boxes.Status(asked, {UNIT: answer})

    def changed(self) -> None:
        self.changes += 1

    def watch(self, clock: Clock) -> BoxWatch:
        async def run() -> BoxWatch:
            made = BoxWatch("http://a/status", "key", 0.0, clock, self.changed, self.log.append, self.ask)
            task = asyncio.create_task(made.run())
            for _ in range(50):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            return made

        return asyncio.run(run())


def unit(active: str, invocation: str = "1") -> UnitSeen:
    return UnitSeen(UNIT, active, "running", "success", invocation)


def test_a_units_state_is_known_and_its_changes_are_told() -> None:
    port, clock = Port(unit("activating"), unit("activating"), unit("active")), Clock()
    made = port.watch(clock)
    assert made.unit(UNIT) == unit("active")
    assert made.unit("another.service") is None
    assert port.changes == 2


@pytest.mark.parametrize(
    ("since", "soon", "pause"),
    [(0.0, True, HURRY), (HURRIED - 0.1, True, HURRY), (HURRIED, True, 0.5), (0.0, False, 0.5)],
)
def test_a_box_whose_engine_answers_before_its_unit_is_up_is_asked_more_often(
    monkeypatch: pytest.MonkeyPatch, since: float, soon: bool, pause: float
) -> None:
    port, clock = Port(unit("activating")), Clock()
    made = BoxWatch("http://a/status", "key", 0.5, clock, port.changed, port.log.append, port.ask)
    made.hurry(UNIT, soon=True)
    clock.now += since
    made.hurry(UNIT, soon=soon)
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        raise asyncio.CancelledError

    monkeypatch.setattr(asyncio, "sleep", sleep)
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(made.run())
    assert pauses == [pause]


def test_an_answer_is_believed_for_a_while() -> None:
    port, clock = Port(unit("active")), Clock()
    made = port.watch(clock)
    clock.now += STATUS_FRESH
    assert made.unit(UNIT) == unit("active")
    clock.now += 0.1
    assert made.unit(UNIT) is None
    assert made.answered == 100.0


def test_silence_is_said_once_and_its_end_too() -> None:
    port = Port("http://a/status: no answer", "http://a/status: no answer", unit("active"), unit("active"))
    made = port.watch(Clock())
    assert made.unit(UNIT) == unit("active")
    assert port.log == [
        "http://a/status: no answer Until then its copies are judged by what they answer themselves.",
        "http://a/status: answers again",
    ]


def test_a_box_that_never_answered_is_not_known() -> None:
    made = Port("http://a/status: no answer").watch(Clock())
    assert made.answered is None
    assert made.unit(UNIT) is None
