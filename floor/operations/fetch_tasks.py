"""Tasks of a fetch on the boxes: begun, followed until they are over, and the servers that boxes get files from."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from floor.apply.transport import UnreachableError
from floor.config.hosts import netloc
from floor.errors import BoxError, FloorError
from floor.operations import caller
from floor.operations.site import Site
from floor.plan.fetch import task_name
from floor.sizes import told_size

POLL = 1.0  # seconds between two looks at tasks
LOST = 60.0  # seconds that a box may not answer while it works
LISTEN = 15.0  # seconds for a server to come up

Say = Callable[[str], None]


@dataclass(frozen=True)
class Work:
    """A task on a box: its name, what it does, and the secret that it needs. One that is `joined` runs already."""

    box: str
    task: str
    job: Mapping[str, Any]
    secret: str | None = None
    joined: bool = False


@dataclass(frozen=True)
class Over:
    """What came of a task: `state` is `done`, `failed` or `died`, `told` what it wrote, `seconds` how long it took."""

    work: Work
    state: str
    told: Mapping[str, Any]
    seconds: float

    @property
    def error(self) -> str:
        """`unreachable`, `denied`, `damaged`, `failed`, or empty where all went well."""
        return "" if self.state == "done" else str(self.told.get("error") or "failed")

    @property
    def why(self) -> str:
        """What it failed for, in words."""
        if self.state == "died":
            return f"{self.work.box}: was ended before it was done; run the same command again, it goes on from there"
        return f"{self.work.box}: {self.told.get('message')}"


@dataclass
class Tasks:
    """Begins and follows tasks. Servers that were begun are ended by `close`; without it, when nobody asks any more."""

    site: Site
    say: Say
    progress: Say
    served: dict[tuple[str, str], tuple[int, str]] = field(default_factory=dict)

    def run(self, works: Sequence[Work]) -> list[Over]:
        """Begin tasks side by side, or join those that run already, and return what came of each.

        Raises FloorError where the task that runs on a box is another one.
        """
        for work in works:
            if not work.joined:
                self.begin(work)
        began = self.site.clock()
        over: dict[str, Over] = {}
        lost: dict[str, float] = {}
        while len(over) < len(works):
            states = self.states([work for work in works if work.box not in over])
            for work in works:
                state = states.get(work.box)
                if work.box in over:
                    continue
                if isinstance(state, BoxError):
                    self._lost(work, state, lost)
                    continue
                lost.pop(work.box, None)
                if state is None or state["state"] != "working":
                    told = state or {"state": "died"}
                    over[work.box] = Over(work, told["state"], told, self.site.clock() - began)
                    self._notes(over[work.box])
            self.progress(progress_line(states, self.site.clock() - began))
            if len(over) < len(works):
                self.site.sleep(POLL)
        return [over[work.box] for work in works]

    def begin(self, work: Work) -> None:
        """Begin a task. One that runs already is joined where it does the same."""
        params = {"task": work.task, "job": dict(work.job), "secret": work.secret, "who": caller.name()}
        answer = self.site.boxes[work.box].call("fetch.start", params, timeout=60)
        if not answer["started"]:
            self._demand_same(work.box, answer.get("job") or {}, work.job)

    def running(self, box: str, task: str, job: Mapping[str, Any]) -> Work | None:
        """Return a box's task as one to join where it works already, on what `job` says of it.

        What it works with (where it gets files from, the token for that) is its own, and is left alone. Raises
        FloorError where it works on something else.
        """
        state = self.states([Work(box, task, {})])[box]
        if isinstance(state, BoxError) or not state or state["state"] != "working":
            return None
        self._demand_same(box, state.get("job") or {}, job)
        self.say(f"{box}: goes on with {job.get('what')}, which it fetches already")
        return Work(box, task, job, joined=True)

    def _demand_same(self, box: str, running: Mapping[str, Any], job: Mapping[str, Any]) -> None:
        keys = ("kind", "repo", "revision", "include", "folder")
        if any(key in job and running.get(key) != job[key] for key in keys):
            raise FloorError(
                f"{box}: is busy with another fetch ({running.get('what')}); wait for it, or end it with "
                "`floor fetch --stop`"
            )

    def states(self, works: Sequence[Work]) -> dict[str, Any]:
        """Return the state of each box's task, or why the box cannot be asked."""
        tasks = {work.box: work.task for work in works}
        answers = self.site.each(
            tasks,
            lambda box, transport: transport.call("fetch.look", {"folders": [], "images": [], "tasks": [tasks[box]]}),
        )
        return {
            box: answer if isinstance(answer, BoxError) else answer["tasks"][tasks[box]]
            for box, answer in answers.items()
        }

    def _lost(self, work: Work, error: BoxError, lost: dict[str, float]) -> None:
        """A box may be away for a moment while its task goes on by itself."""
        since = lost.setdefault(work.box, self.site.clock())
        if not isinstance(error, UnreachableError) or self.site.clock() - since > LOST:
            raise BoxError(f"{error}\nrun the same command again, it goes on from what has come")

    def _notes(self, over: Over) -> None:
        for note in over.told.get("notes") or ():
            self.say(f"{over.work.box}: {note}")

    def serve(self, box: str, folder: str) -> tuple[int, str]:
        """Have a box give a folder to others. Return its port and the token that is asked for."""
        if (box, folder) in self.served:
            return self.served[box, folder]
        task, token = f"serve-{task_name(folder)}", secrets.token_urlsafe(32)
        job = {"kind": "serve", "what": f"gives {folder}", "folder": folder, "addresses": self._addresses(box)}
        work = Work(box, task, {**job, "secret": True}, token)
        self.site.boxes[box].call("fetch.stop", {"task": task}, timeout=60)  # one of a caller that is gone
        self.begin(work)
        ends = self.site.clock() + LISTEN
        while self.site.clock() < ends:
            state = self.states([work])[box]
            if isinstance(state, BoxError):
                raise state
            if state and state.get("listening"):
                self.served[box, folder] = (int(state["listening"][0][1]), token)
                return self.served[box, folder]
            if state is None or state["state"] != "working":
                raise FloorError(f"{box}: cannot give {folder} to other boxes: {(state or {}).get('message')}")
            self.site.sleep(POLL / 4)
        raise FloorError(f"{box}: does not begin to give {folder} to other boxes")

    def _addresses(self, box: str) -> list[str]:
        """Where a box can be reached by the others: on the fabric, where it has one, and as it always can."""
        one = self.site.loaded.config.boxes[box]
        host = self.site.resolve(one.host)
        return list(dict.fromkeys([*([one.fabric.address] if one.fabric else []), *([host] if host else [])]))

    def urls(self, giver: str, taker: str, port: int) -> list[str]:
        """Where `taker` finds what `giver` gives: over the fabric first, where both have it."""
        boxes = self.site.loaded.config.boxes
        addresses = self._addresses(giver)
        if boxes[giver].fabric and not boxes[taker].fabric:
            addresses = addresses[1:] or addresses
        return [f"http://{netloc(address, port)}" for address in addresses]

    def close(self) -> None:
        """End the servers that were begun here; one on a box that does not answer ends by itself."""
        for box, folder in self.served:
            params = {"task": f"serve-{task_name(folder)}"}
            self.site.each([box], lambda _box, transport, params=params: transport.call("fetch.stop", params))  # type: ignore[misc]
        self.served.clear()


def progress_line(states: Mapping[str, Any], seconds: float) -> str:
    """Given the states of tasks and how long they have been followed, return the line that shows them."""
    told = []
    for box, state in states.items():
        if isinstance(state, BoxError) or not state:
            told.append(f"{box}: does not answer")
        elif state.get("total"):
            done, total = state["done"], state["total"]
            told.append(f"{box}: {100 * done // total} % of {told_size(total)}")
        else:
            told.append(f"{box}: {state.get('what') or 'begins'}")
    return f"  {', '.join(told)} ({seconds:.0f} s)"
