"""`floor fetch`: weights and images to the boxes that hold copies, from the internet once.

It changes no copy and takes no lease: a deployment need not wait for an hour of download. What it brings gets its name
when it is whole, and a deployment says so while it is not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from floor.box import hub as hub_api
from floor.box import manifest
from floor.errors import BoxError, FloorError
from floor.operations import fetch_demand as demand
from floor.operations.fetch_demand import Rows
from floor.operations.fetch_relay import Relay
from floor.operations.fetch_tasks import Over, Tasks, Work
from floor.operations.site import Site
from floor.plan import fetch as plan
from floor.plan.fetch import HUB, FolderSeen, Transfer, Tried, Weights
from floor.sizes import told_size

Say = Callable[[str], None]


@dataclass(frozen=True)
class Hub:
    """Which hub is asked, and the caller's token for it."""

    endpoint: str
    token: str | None = field(default=None, repr=False)


@dataclass
class Fetch:
    """One run of `floor fetch`. `failed` and `absent` collect what could not be done and who did not answer."""

    site: Site
    hub: Hub
    tasks: Tasks
    say: Say
    failed: list[str] = field(default_factory=list)
    absent: dict[str, str] = field(default_factory=dict)
    patience: Mapping[str, Any] = field(default_factory=dict)
    relay: Relay | None = None  # there where no box reaches the hub, and this machine does

    def look(self, goals: Sequence[Weights]) -> dict[tuple[str, str], FolderSeen]:
        """Look at the folders of all goals. A box that does not answer is named in `absent` and left out."""
        folders: dict[str, dict[str, None]] = {}
        for goal in goals:
            for box, folder in goal.places.items():
                folders.setdefault(box, {})[folder] = None
        answers = self.site.each(
            folders,
            lambda box, transport: transport.call(
                "fetch.look", {"folders": list(folders[box]), "images": [], "tasks": []}
            ),
        )
        seen: dict[tuple[str, str], FolderSeen] = {}
        for box, answer in answers.items():
            if isinstance(answer, BoxError):
                self.absent[box] = str(answer)
                continue
            for folder, told in answer["folders"].items():
                seen[box, folder] = plan.folder_seen(told)
        return seen

    def fail(self, line: str) -> None:
        """Keep a line about something that could not be done, once."""
        if line not in self.failed:
            self.failed.append(line)

    def files(self, goal: Weights, seen: Mapping[str, FolderSeen], tried: Tried) -> Rows:
        """Return the files of a goal, each with its hash: from a box that has them all, else from the hub, asked by
        the box that will fetch them. Raises FloorError where no box reaches the hub, or where it refuses."""
        for box in seen:
            if seen[box].whole(goal.origin):
                answer = self.site.boxes[box].call("fetch.read", {"folder": goal.places[box]})
                return list(answer["manifest"]["files"])
        return self._listing(goal, seen, tried)

    def _listing(self, goal: Weights, seen: Mapping[str, FolderSeen], tried: Tried) -> Rows:
        why: list[str] = []
        every: Sequence[manifest.Entry] = ()
        asked = {"endpoint": self.hub.endpoint, "repo": goal.origin.repo, "revision": goal.origin.revision}
        for box in sorted(seen, key=lambda box: -seen[box].partial):
            answer = self.site.boxes[box].call("fetch.list", {**asked, "token": self.hub.token}, timeout=60)
            if "denied" in answer:
                raise FloorError(answer["denied"])
            if "files" in answer:
                every = manifest.entries(answer["files"])
                break
            why.append(f"  {box}: {answer['unreachable']}")
            tried.add(Transfer(box, HUB))
        else:
            every = self._through_here(goal, why)
            tried.pairs.clear()
        return [entry.as_json() for entry in self._chosen(goal, every)]

    def _through_here(self, goal: Weights, why: list[str]) -> Sequence[manifest.Entry]:
        """Ask the hub from this machine, which no box needs for it otherwise. From now on it passes files on."""
        import httpx

        asked = self.hub.endpoint, goal.origin.repo, goal.origin.revision, self.hub.token
        try:
            with httpx.Client(follow_redirects=True) as client:
                found = hub_api.listing(client, *asked)
        except hub_api.UnreachableError as error:
            why.append(f"  this machine: {error}")
        else:
            self.say(f"{goal.origin}: no box reaches the hub; it comes through this machine, which has to stay on:")
            for line in why:
                self.say(line)
            self.relay = self.relay or Relay(self.site, self.hub)
            return found.files
        raise FloorError(
            f"{goal.origin}: neither a box that needs it nor this machine reaches the hub:\n" + "\n".join(why) + "\n"
            "connect one of them for the time of the fetch, set HF_ENDPOINT to a mirror, or put the weights there"
        )

    def _chosen(self, goal: Weights, every: Sequence[manifest.Entry]) -> Sequence[manifest.Entry]:
        found = manifest.chosen(every, goal.origin.include)
        if not found:
            names = ", ".join(entry.path for entry in every[:8])
            raise FloorError(f"{goal.origin}: `include` matches none of its {len(every)} files: {names} …")
        there = {entry.path for entry in found}
        config = self.site.loaded.config
        for copy in (copy for name in goal.models for copy in (*config.copies(name), *config.parts(name))):
            at = copy.source.removeprefix(f"{goal.places.get(copy.box)}/")
            if copy.source.endswith(".gguf") and at != copy.source and at not in there:
                some = ", ".join(sorted(name for name in there if name.endswith(".gguf"))[:8]) or "none"
                raise FloorError(f"{copy.backend}: {goal.origin} has no {at}; it has {some}")
        return found

    def bring(self, goal: Weights, rows: Rows, tried: Tried) -> None:
        """Transfer until every box that can be served has the weights. What fails is kept in `failed`."""
        before, brought = len(self.failed), set[str]()
        while len(self.failed) == before:
            looked = self.look([goal])
            seen = {box: found for (box, _), found in looked.items()}
            turn = plan.next_weights(demand.answering([goal], looked)[0], seen, tried)
            again = [transfer.box for transfer in turn.transfers if transfer.box in brought]
            for box in again:
                why = seen[box].incomplete or ", ".join(seen[box].changed[:3]) or "its manifest is gone"
                self.fail(f"{box}: {goal.places[box]} was fetched and is not whole ({why}); who else writes there?")
            if not turn.transfers:
                for box in turn.stuck:
                    self.fail(f"{box}: {goal.origin} can be had from nowhere")
            if again or not turn.transfers:
                return
            for transfer, over in zip(turn.transfers, self.tasks.run(self._works(goal, rows, turn)), strict=True):
                self._judge(goal, transfer, over, tried)
                brought |= set() if over.error else {transfer.box}

    def _works(self, goal: Weights, rows: Rows, turn: plan.Round) -> list[Work]:
        return [self._work(goal, rows, transfer) for transfer in turn.transfers]

    def _work(self, goal: Weights, rows: Rows, transfer: Transfer) -> Work:
        box, giver = transfer.box, transfer.source
        secret: str | None
        about = {"kind": "weights", "what": str(goal.origin), "folder": goal.places[box], **goal.origin.as_json()}
        if work := self.tasks.running(box, goal.task(box), about):
            return work
        if giver == HUB and self.relay:
            url, secret = self.relay.url(box, goal.origin)
            urls, kind = [url], "box"
            self.say(f"{box}: fetches {goal.origin} through this machine into {goal.places[box]}")
        elif giver == HUB:
            urls, kind, secret = [self.hub.endpoint], "hub", self.hub.token
            self.say(f"{box}: fetches {goal.origin} from {self.hub.endpoint} into {goal.places[box]}")
        else:
            port, secret = self.tasks.serve(giver, goal.places[giver])
            urls, kind = self.tasks.urls(giver, box, port), "box"
            self.say(f"{box}: fetches {goal.origin} from {giver} ({urls[0]}) into {goal.places[box]}")
        job = {
            **about,
            "files": [dict(row) for row in rows],
            "from": {"kind": kind, "urls": urls},
            "secret": secret is not None,
            "patience": dict(self.patience),
        }
        return Work(box, goal.task(box), job, secret)

    def _judge(self, goal: Weights, transfer: Transfer, over: Over, tried: Tried) -> None:
        if not over.error:
            size = int(over.told.get("size") or 0)
            speed = told_size(size / max(over.seconds, 0.001))
            self.say(f"{transfer.box}: has {goal.origin}, {told_size(size)} in {over.seconds:.0f} s ({speed}/s)")
            return
        if over.error == "unreachable":
            self.say(f"{over.why}; another way is tried")
            if not over.work.joined:  # what that one had been told may be old
                tried.add(transfer)
            return
        tried.add(transfer)
        self.fail(over.why)

    def close(self) -> None:
        """End what this machine passes on."""
        if self.relay:
            self.relay.close()

    def compare(self, goal: Weights) -> tuple[dict[str, str | None], bool]:
        """Return the digest of the manifest on each box, and whether all are there and equal."""
        seen = self.look([goal])
        digests = {box: found.digest if found.whole(goal.origin) else None for (box, _), found in seen.items()}
        values = set(digests.values())
        if len(values - {None}) > 1:
            self.fail(
                f"{goal.origin}: the boxes hold different files ("
                + ", ".join(f"{box}: {str(digest)[:12]}" for box, digest in digests.items())
                + "); run `floor fetch --check`"
            )
        return digests, len(values) == 1 and None not in values and len(digests) == len(goal.places)
