"""The operation that was begun last and has not ended well: what it was, what finishes it, and what to go back to."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import Any

from floor.plan.seen import OperationSeen, Seen

ABORT = "deploy --abort"  # the verb of an operation that goes back
SWITCH, SWITCH_BACK = "switch", "switch --abort"
SWAP, SWAP_BACK = "swap", "swap --abort"
_BACK = {SWITCH: SWITCH_BACK, SWAP: SWAP_BACK}


def unfinished(seen: Mapping[str, Seen]) -> OperationSeen | None:
    """Given what was seen of the boxes, return the last operation, unless it is done; one at work is unfinished too.

    Done on one box is done: the others could not be told. Only one that went back is not, while a box that has missed
    it keeps what was left there. One that is passing leaves nothing: it changes no box, and begins only where nothing
    is unfinished.
    """
    records = [one.operation for one in seen.values() if one.operation]
    last = [record for record in records if record.epoch == max(each.epoch for each in records)]
    if any(record.passing for record in last):
        return None
    if not any(record.state == "done" for record in last):
        return last[0] if last else None
    missed = any(record.state != "done" for record in records if record.epoch < last[0].epoch)
    return last[0] if last[0].verb in (ABORT, *_BACK.values()) and missed else None


def kept(seen: Mapping[str, Seen], left: OperationSeen) -> str | None:
    """Given the boxes and their unfinished operation, return the floor.yaml of the last finished deployment.

    None where nothing was deployed before it. A file is kept when all else is done: where the unfinished operation has
    come as far as that on some of the boxes, the others have the one before.
    """
    before = left.target.get("before", "") if isinstance(left.target, dict) else ""
    if before is None:  # the first deployment: the file that some may keep already is its own
        return None
    texts = {digest(one.config): one.config for one in seen.values() if one.config is not None}
    return texts.get(str(before)) or newest(seen)


def newest(seen: Mapping[str, Seen]) -> str | None:
    """The floor.yaml that was deployed last, of those that the boxes keep: some may have missed a deployment."""
    texts = {digest(one.config): one.config for one in seen.values() if one.config is not None}
    histories = [one.configs for one in seen.values()]
    for found, text in texts.items():
        if not any(_later(history, found, texts) for history in histories):
            return text
    return next(iter(texts.values()), None)


def _later(history: tuple[str, ...], found: str, others: Collection[str]) -> bool:
    """Whether one of the others came after `found` on a box."""
    return found in history and any(other in history[history.index(found) + 1 :] for other in others)


def digest(text: str) -> str:
    """The digest under which a floor.yaml is known to records and histories."""
    return hashlib.sha256(text.encode()).hexdigest()


def finishing(verb: str, target: Any) -> str:
    """Given the verb and target of an operation, return the command that goes on with it."""
    if verb in ("restart", "reboot") and isinstance(target, dict):
        return " ".join([f"floor {verb}", *sorted(target)])
    if verb == "remove" and isinstance(target, str):
        return f"floor remove {target}"
    if verb == SWITCH and isinstance(target, dict):
        return f"floor {verb} {target.get('mode')}"
    if verb == SWAP and isinstance(target, dict):
        return f"floor {verb} {target.get('model')}"
    return f"floor {verb}"


def switched(left: OperationSeen | None) -> str:
    """Given the operation that was left, return how a switch is ended, in words; empty where it was none."""
    return ways(left) if left is not None and left.verb in (SWITCH, SWITCH_BACK) else ""


def ways(left: OperationSeen | None) -> str:
    """Given the operation that was left, return how a switch or a swap is ended, in words; empty where it was none."""
    if left is None or not isinstance(left.target, dict):
        return ""
    if left.verb in _BACK.values():
        return f"`floor {left.verb}` goes on with it"
    back = _BACK.get(left.verb)
    return f"`{finishing(left.verb, left.target)}` goes on with it, `floor {back}` goes back" if back else ""


def began(by: Mapping[str, Any]) -> str:
    """When the process of an operation was started, by its own machine's clock; empty where it did not tell."""
    started = by.get("started")
    if not isinstance(started, int | float):
        return ""
    return f"{datetime.fromtimestamp(started, UTC):%Y-%m-%d %H:%M:%S} UTC"
