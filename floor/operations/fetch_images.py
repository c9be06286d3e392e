"""Images of docker: pulled on one box, packed there, and loaded on the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from floor.box import paths
from floor.errors import BoxError
from floor.operations.fetch_tasks import Over, Tasks, Work
from floor.operations.site import Site
from floor.plan import fetch as plan
from floor.plan.fetch import HUB, Image, Transfer, Tried
from floor.sizes import told_size

Say = Callable[[str], None]
IDS = "sha256:"  # an image that is named by its id is in no registry


@dataclass
class Images:
    """One run for all images. `failed` and `absent` collect what could not be done and who did not answer."""

    site: Site
    tasks: Tasks
    say: Say
    failed: list[str] = field(default_factory=list)
    absent: dict[str, str] = field(default_factory=dict)

    def look(self, goals: Sequence[Image]) -> dict[str, dict[str, Any]]:
        """Return what docker says on each box that answers; one without docker is named in `failed`."""
        wanted: dict[str, list[str]] = {}
        for goal in goals:
            for box in goal.boxes:
                wanted.setdefault(box, []).append(goal.reference)
        answers = self.site.each(
            wanted,
            lambda box, transport: transport.call(
                "fetch.look", {"folders": [str(paths.FETCH_SPOOL)], "images": wanted[box], "tasks": []}, timeout=60
            ),
        )
        found = {}
        for box, answer in answers.items():
            if isinstance(answer, BoxError):
                self.absent[box] = str(answer)
            elif answer["docker"]["docker"] is None:
                why = answer["docker"].get("error") or "docker is not installed"
                self.fail(f"{box}: no image can be brought there: {why}")
            else:
                found[box] = {**answer["docker"], "spool": plan.folder_seen(*answer["folders"].values())}
        return found

    def fail(self, line: str) -> None:
        """Keep a line about something that could not be done, once."""
        if line not in self.failed:
            self.failed.append(line)

    def bring(self, goal: Image) -> None:
        """Transfer until every box that can be served has the image. What fails is kept in `failed`."""
        tried, before, packed, brought = Tried(), len(self.failed), set[tuple[str, str]](), set[str]()
        if goal.reference.startswith(IDS):
            for box in goal.boxes:
                tried.add(Transfer(box, HUB))
        while len(self.failed) == before:
            seen = self.look([goal])
            turn = self._turn(goal, seen, tried, brought)
            works = [work for transfer in turn.transfers if (work := self._work(goal, transfer, seen, packed))]
            if not works or len(works) < len(turn.transfers):
                break
            for transfer, over in zip(turn.transfers, self.tasks.run(works), strict=True):
                self._judge(goal, transfer, over, tried)
                brought |= set() if over.error else {transfer.box}
        for box, image in packed:
            self.site.each([box], lambda _box, transport, image=image: transport.call("fetch.drop", {"image": image}))  # type: ignore[misc]

    def _turn(self, goal: Image, seen: Mapping[str, Any], tried: Tried, brought: set[str]) -> plan.Round:
        """What to transfer next; nothing where all is there, or where a box cannot have it (then in `failed`)."""
        ids = {box: (found["images"][goal.reference] or {}).get("id") for box, found in seen.items()}
        able = Image(goal.reference, goal.models, tuple(box for box in goal.boxes if box in seen))
        turn = plan.next_image(able, ids, {box: found["digests"] for box, found in seen.items()}, tried)
        again = {transfer.box for transfer in turn.transfers} & brought
        for box in sorted(again):
            self.fail(f"{box}: {goal.reference} was brought there and is gone again; who removes it?")
        for box in () if turn.transfers else turn.stuck:
            self.fail(_stuck(box, goal, ids))
        return plan.Round() if again else turn

    def _work(
        self, goal: Image, transfer: Transfer, seen: Mapping[str, Any], packed: set[tuple[str, str]]
    ) -> Work | None:
        """The task of a transfer; None where it cannot even begin, which is then in `failed`."""
        box, giver = transfer.box, transfer.source
        if work := self.tasks.running(box, goal.task, {"what": goal.reference}):
            return work
        if giver == HUB:
            self.say(f"{box}: pulls {goal.reference}")
            return Work(box, goal.task, {"kind": "pull", "what": goal.reference, "reference": goal.reference})
        image = seen[giver]["images"][goal.reference]
        short = _room(giver, image["size"], seen[giver], packs=True) or _room(box, image["size"], seen[box])
        if short:
            self.fail(f"{short} ({goal.reference})")
            return None
        told = self._packed(goal, giver, image["id"])
        if told is None:
            return None
        packed.add((giver, image["id"]))
        files = self.site.boxes[giver].call("fetch.read", {"folder": told["folder"]})["manifest"]
        port, secret = self.tasks.serve(giver, told["folder"])
        urls = self.tasks.urls(giver, box, port)
        self.say(f"{box}: gets {goal.reference} from {giver} ({urls[0]}), {told_size(told['size'])}")
        job = {
            "kind": "image",
            "what": goal.reference,
            "reference": goal.reference,
            "image": image["id"],
            "folder": told["folder"],
            **{key: files[key] for key in ("repo", "revision", "include", "files")},
            "from": {"kind": "box", "urls": urls},
            "secret": True,
        }
        return Work(box, goal.task, job, secret)

    def _packed(self, goal: Image, box: str, image: str) -> dict[str, Any] | None:
        """Have a box pack its image; one that lies there packed is used as it is."""
        job = {"kind": "pack", "what": f"packs {goal.reference}", "reference": goal.reference, "image": image}
        self.say(f"{box}: packs {goal.reference}")
        over = self.tasks.run([Work(box, plan.task_name(f"pack {goal.reference}"), job)])[0]
        if over.error:
            self.fail(over.why)
            return None
        return dict(over.told)

    def _judge(self, goal: Image, transfer: Transfer, over: Over, tried: Tried) -> None:
        if not over.error:
            self.say(f"{transfer.box}: has {goal.reference} after {over.seconds:.0f} s")
            return
        if over.work.joined and over.error == "unreachable":  # what that one had been told may be old
            return
        tried.add(transfer)
        if over.state == "failed" and (over.error == "unreachable" or transfer.source == HUB):
            self.say(f"{over.why}; another way is tried")
            return
        self.fail(over.why)

    def compare(self, goal: Image) -> tuple[dict[str, str | None], bool]:
        """Return the image's id on each box, and whether it is there and the same on all."""
        seen = self.look([goal])
        ids = {box: (found["images"][goal.reference] or {}).get("id") for box, found in seen.items()}
        values = set(ids.values())
        if len(values - {None}) > 1:
            told = ", ".join(f"{box}: {image}" for box, image in ids.items())
            self.fail(
                f"{goal.reference} is not the same image everywhere ({told}); take the wrong one away with "
                "`docker rmi`, and fetch again"
            )
        return ids, len(values) == 1 and None not in values and set(ids) == set(goal.boxes)


def _room(box: str, size: int, seen: Mapping[str, Any], *, packs: bool = False) -> str:
    """What is wrong with a box's room for an image of `size` bytes, packed and, where it is loaded, unpacked too."""
    spool = seen["spool"]
    shared = seen["device"] == spool.device
    needs = {"its packed form": size + (0 if packs or not shared else size)}
    if not packs and not shared and seen["free"] < size + plan.SPARE:
        return f"{box}: docker's disk has {told_size(seen['free'])} free, {told_size(size)} are needed"
    if spool.free < needs["its packed form"] + plan.SPARE:
        wanted = told_size(needs["its packed form"] + plan.SPARE)
        return f"{box}: the disk of {paths.FETCH_SPOOL} has {told_size(spool.free)} free, {wanted} are needed"
    return ""


def _stuck(box: str, goal: Image, ids: Mapping[str, str | None]) -> str:
    """Why a box cannot have an image, and what to write instead where another box has it."""
    have = next((image for image in ids.values() if image), None)
    if have and "@" in goal.reference:
        return (
            f"{box}: {goal.reference} cannot be pulled there, and docker forgets the digest of an image that it loads; "
            f"write `image: {have}` (its id, the same on every box) or a tag, and fetch again"
        )
    if goal.reference.startswith(IDS):
        return f"{box}: {goal.reference} is an image's id: no registry gives it, and no box has it; load it on one box"
    return f"{box}: {goal.reference} can be had from nowhere; is the registry reachable, and root's docker logged in?"
