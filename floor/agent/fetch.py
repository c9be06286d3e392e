"""`python -I -m floor.agent.fetch TASK`: one task of a fetch, or a tool test, in a unit of its own, until it is done.

Its job says `kind`: `weights` (a folder, from a hub or another box), `check` (every
file of a folder read again), `image` (an image that another box has packed),
`pull` (an image, from its registry), `pack` (an image, for other boxes), `serve` (a folder, to other boxes)
or `tooltest` (an engine of this box; see floor.agent.tested).
"""

from __future__ import annotations

import os
import sys
import syslog
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from floor.box import events, fetching, images, manifest, paths, task, weights
from floor.box.download import DamagedError, Patience, hashed
from floor.box.hub import DeniedError, UnreachableError
from floor.box.manifest import Entry, Origin
from floor.box.report import Report
from floor.errors import EndpointError, FloorError

OVER = threading.Event()  # set by a test that runs tasks in threads; a process is simply ended
KINDS: tuple[tuple[type[FloorError], str], ...] = (
    (UnreachableError, "unreachable"),
    (DeniedError, "denied"),
    (DamagedError, "damaged"),
    (EndpointError, "endpoint"),
    (FloorError, "failed"),
)


def main(argv: list[str]) -> int:
    """Given the words after the program, do the task; 0 when it is done. What came of it lies in its state."""
    root = Path(argv[2]) if argv[1:2] == ["--root"] else paths.ROOT
    name = argv[-1]
    os.umask(0o022)
    held = task.hold(name, root)
    if held is None:
        return 1
    try:
        return work(name, root)
    finally:
        os.close(held)


def work(name: str, root: Path) -> int:
    """Do a task whose lock is held; 0 when it is done."""
    job = task.job(name, root)
    if job is None:
        return 1
    with Report(task.place(name, "state.json", root), str(job.get("what", ""))) as report:
        try:
            secret = task.receive(name, root) if job.get("secret") else None
            told = WORK[job["kind"]](job, secret, report, root)
        except FloorError as error:
            word = next(word for kind, word in KINDS if isinstance(error, kind))
            return _over(report, job, root, "failed", error=word, message=str(error))
        except OSError as error:  # a disk that is full, read-only or broken
            message = f"{error.filename or job.get('folder')}: {error.strerror or error}"
            return _over(report, job, root, "failed", error="failed", message=message)
        except Exception as error:  # whatever it was: words for the caller, the place for the journal
            syslog.openlog("floor-fetch", syslog.LOG_PID, syslog.LOG_DAEMON)
            for line in traceback.format_exc().splitlines():
                syslog.syslog(syslog.LOG_ERR, line)
            message = f"{type(error).__name__}: {error} (a fault of floor; where: journalctl -t floor-fetch)"
            return _over(report, job, root, "failed", error="failed", message=message)
        return _over(report, job, root, "done", **told)


def _over(report: Report, job: Mapping[str, Any], root: Path, state: str, **told: Any) -> int:
    report.end(state, **told)
    text = f"fetched {job.get('what')}" if state == "done" else f"{job.get('what')}: {told.get('message')}"
    if job["kind"] not in QUIET:
        events.append("floor-fetch", text, told, at=time.time(), root=root)
    return 0 if state == "done" else 1


def _weights(job: Mapping[str, Any], secret: str | None, report: Report, root: Path) -> dict[str, Any]:
    import httpx

    fetching.demand(job["folder"])
    files = manifest.entries(job["files"])
    source = fetching.read_source(job, secret)
    proxies = source.kind == "hub"  # another box is never behind one
    limits = httpx.Limits(max_connections=2 * fetching.AT_ONCE)
    with httpx.Client(trust_env=proxies, follow_redirects=True, limits=limits) as client:
        made = fetching.fetch(
            client,
            paths.under(root, job["folder"]),
            files,
            source,
            report,
            patience=Patience(**job.get("patience", {})),
        )
    return {"digest": made.digest, "size": made.size}


def _check(job: Mapping[str, Any], _secret: str | None, report: Report, root: Path) -> dict[str, Any]:
    return {"damaged": fetching.check(paths.under(root, job["folder"]), report)}


def _image(job: Mapping[str, Any], secret: str | None, report: Report, root: Path) -> dict[str, Any]:
    """{image, reference} beside those of `weights`, whose folder is where it lies until docker has it."""
    there = images.inspect(job["reference"])
    if there is None or there["id"] != job["image"]:
        _weights(job, secret, report, root)
        images.unpack(paths.under(root, job["folder"]), job["reference"], job["image"], report.say)
    return {"id": job["image"]}


def _pull(job: Mapping[str, Any], _secret: str | None, report: Report, _root: Path) -> dict[str, Any]:
    images.pull(job["reference"], report.say)
    return {"id": (images.inspect(job["reference"]) or {}).get("id")}


def _pack(job: Mapping[str, Any], _secret: str | None, report: Report, root: Path) -> dict[str, Any]:
    """Pack an image as a folder with a manifest, as if it had been fetched: other boxes get it from there."""
    folder = images.spool(job["image"], root)
    known = manifest.read(folder)
    if known is None or manifest.changed(folder, known):
        place = images.pack(job["reference"], folder, report.say)
        report.say("hashing it")
        report.total = place.stat().st_size
        entry = Entry(images.PACKED, report.total)
        entry = replace(entry, sha256=hashed(place, entry, report.add).sha256)
        known = weights.finish(folder, Origin(job["reference"], job["image"]), [entry])
    return {"folder": str(paths.FETCH_SPOOL / folder.name), "size": known.size, "digest": known.digest}


def _serve(job: Mapping[str, Any], secret: str | None, report: Report, root: Path) -> dict[str, Any]:
    from floor.agent.fetch_serve import serve

    folder = paths.under(root, job["folder"])
    known = manifest.read(folder)
    if known is None or not secret:
        raise FloorError(f"{job['folder']}: has no manifest, so nothing of it is given to other boxes")
    served = serve(folder, [entry.path for entry in known.files], job["addresses"], secret, report, OVER)
    return {"served": served}


def _tooltest(job: Mapping[str, Any], secret: str | None, report: Report, root: Path) -> dict[str, Any]:
    from floor.agent.tested import work

    return work(job, secret, report, root)


WORK: dict[str, Callable[[Mapping[str, Any], str | None, Report, Path], dict[str, Any]]] = {
    "weights": _weights,
    "check": _check,
    "image": _image,
    "pull": _pull,
    "pack": _pack,
    "serve": _serve,
    "tooltest": _tooltest,
}
QUIET = ("serve", "tooltest")  # what tells nothing, or tells it itself

if __name__ == "__main__":
    sys.exit(main(sys.argv))
