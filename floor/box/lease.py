"""Whose turn it is on this box, decided from the record alone: no clock and no file is touched here.

The record: {epoch, verb, target, config, by: {user, host, pid, started}, state, until: {boot, monotonic}, lease}, and
`reboots`, the boot that the holder has ended; `passing` where nothing of it outlives its hold.
`until` is a lease on this box's own boot id and monotonic clock; times are never compared between boxes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from floor.errors import BusyError, RefusedError

LEASE = 90.0  # seconds; each call of the holder renews it
AFTER_BOOT = 180.0  # seconds from a boot that the holder asked for, in which it must reach the box again
LIVE = "live"
ENDS = ("done", "failed", "aborted", "interrupted")

Record = dict[str, Any]


class HeldError(BusyError):
    """The caller does not hold this box, another may. `record` tells who did last, what for and since when."""

    def __init__(self, message: str, record: Mapping[str, Any]) -> None:
        super().__init__(message)
        self.record = dict(record)


@dataclass(frozen=True)
class Now:
    """This box's clock: which boot it is, the seconds that its monotonic clock shows, and for how many it is up."""

    boot: str
    monotonic: float
    up: float = math.inf


def live(record: Mapping[str, Any] | None, now: Now) -> bool:
    """Whether the record is held: not ended, of this boot, and its lease has not run out.

    A boot that the holder itself asked for ends no lease: it has some time to come back, counted from that boot.
    """
    if record is None or record["state"] != LIVE:
        return False
    until = record["until"]
    if until["boot"] != now.boot:
        return bool(record.get("reboots") == until["boot"] and now.up < AFTER_BOOT)
    return bool(now.monotonic < until["monotonic"])


def told(record: Mapping[str, Any], now: Now) -> Record:
    """Given a record, return it as it is told: with "live" and the boot of its lease. One that is `passing` and not
    held any more is done, however it ended: nothing is left of it that somebody would have to finish."""
    held_now = live(record, now)
    over = {"state": "done"} if record.get("passing") and not held_now else {}
    return {**record, **over, "live": held_now, "boot": record["until"]["boot"]}


def rebooting(record: Mapping[str, Any], now: Now) -> Record:
    """Given a held record, return it with the word that its holder reboots this box now."""
    return {**record, "reboots": now.boot}


def take(record: Mapping[str, Any] | None, wanted: Mapping[str, Any], now: Now) -> Record:
    """Given the record and {epoch, verb, target, config, by, takeover, lease, passing}, return the record that must
    replace it.

    A live lease is taken over only when `takeover` names its epoch and user and host are the holder's own: they alone
    can tell that its process is dead. Raises HeldError while another holds it, RefusedError unless the epoch rises.
    """
    epoch = wanted["epoch"]
    if record is not None:
        if live(record, now) and not _may_take_over(record, wanted):
            raise HeldError(f"held by {words(record)}", record)
        if epoch <= record["epoch"]:
            raise RefusedError(f"epoch {epoch} is not above {record['epoch']}, the last one this box has seen")
    fresh = {key: wanted.get(key) for key in ("epoch", "verb", "target", "config", "by")}
    fresh |= {"passing": True} if wanted.get("passing") else {}
    return renewed({**fresh, "state": LIVE, "lease": float(wanted.get("lease") or LEASE)}, now)


def _may_take_over(record: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    holder, taker = record["by"], wanted["by"]
    same = all(holder.get(key) == taker.get(key) for key in ("user", "host"))
    return same and wanted.get("takeover") == record["epoch"]


def renewed(record: Mapping[str, Any], now: Now) -> Record:
    """Given a record, return it with its lease running from now."""
    return {**record, "until": {"boot": now.boot, "monotonic": now.monotonic + record["lease"]}}


def held(record: Mapping[str, Any] | None, epoch: int, now: Now) -> Record:
    """Given the epoch of a caller, return the record that it holds.

    Raises HeldError when a live operation of another epoch holds the box, when nobody does, or only a lease that ran
    out: what was taken out may have returned since, so the caller has to look and plan again.
    """
    if record is not None and live(record, now):
        if record["epoch"] == epoch:
            return dict(record)
        raise HeldError(f"epoch {epoch} does not hold this box: held by {words(record)}", record)
    if record is None:
        nobody = "no operation was ever recorded; take the epoch first"
        raise HeldError(f"epoch {epoch} does not hold this box: {nobody}", {})
    if record["epoch"] == epoch and record["state"] == LIVE:
        raise HeldError(f"epoch {epoch} has lost this box: its lease ran out; run the command again to resume", record)
    what = "was abandoned" if record["state"] == LIVE else f"ended {record['state']}"
    raise HeldError(
        f"epoch {epoch} does not hold this box: the last operation was epoch {record['epoch']} and {what}", record
    )


def ended(record: Mapping[str, Any], state: str) -> Record:
    """Given a held record, return it ended as one of ENDS. Raises RefusedError for another word."""
    if state not in ENDS:
        raise RefusedError(f"state {state!r}: an operation ends as one of {', '.join(ENDS)}")
    return {**record, "state": state}


def words(record: Mapping[str, Any]) -> str:
    """The holder in words: verb, user, host, process, epoch and since when."""
    by = record["by"]
    since = f" since {_when(by['started'])}" if by.get("started") else ""
    return (
        f"`{record['verb']}` of {by.get('user', '?')}@{by.get('host', '?')} "
        f"(process {by.get('pid', '?')}, epoch {record['epoch']}){since}"
    )


def _when(started: Any) -> str:
    """Unix seconds of the holder's own clock, to read; anything else as it came."""
    if not isinstance(started, int | float):
        return str(started)
    return datetime.fromtimestamp(started, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
