"""The work of a fetch on one box: what is there and right stays, the rest comes from a hub or from another box."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from floor.box import hub, manifest, weights
from floor.box.download import Patience, Remote, download, hashed
from floor.box.hub import UnreachableError
from floor.box.manifest import Entry, Manifest, Origin
from floor.box.report import Report
from floor.errors import FloorError

if TYPE_CHECKING:
    import httpx

AT_ONCE = 4  # files; one connection of a hub seldom fills a link
FORBIDDEN = frozenset(
    ("bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "proc", "root", "run", "sbin", "sys", "usr")
)


class StoppedError(Exception):
    """Another file of the same fetch has failed."""


@dataclass(frozen=True)
class Source:
    """Where files come from: `hub` with its address, or a box with the addresses to try in their order."""

    kind: str
    urls: tuple[str, ...]
    origin: Origin
    token: str | None

    def remote(self, url: str, entry: Entry) -> Remote:
        """Given the address that answers, return where a file is there."""
        if self.kind == "hub":
            where = hub.file_url(url, self.origin, entry.path)
            return Remote(
                where,
                hub.headers(self.token),
                lambda status, told: hub.refuse(status, told, self.origin.repo, self.origin.revision, self.token),
            )
        return Remote(f"{url}/{quote(entry.path)}", hub.headers(self.token), _refuse_box)


def _refuse_box(status: int, _: Any) -> None:
    if status not in (200, 206):
        raise UnreachableError(f"the other box answers {status}")


def read_source(job: Mapping[str, Any], token: str | None) -> Source:
    """Given a job, return where its files come from."""
    told = job["from"]
    return Source(str(told["kind"]), tuple(map(str, told["urls"])), manifest.origin(job), token)


def demand(folder: str) -> None:
    """Raise FloorError for a folder that belongs to the system: root would write into it whatever a hub names."""
    parts = Path(folder).parts
    if len(parts) < 2 or parts[0] != "/" or ".." in parts or parts[1] in FORBIDDEN:
        raise FloorError(f"{folder}: is no folder for weights; write another `source`, such as /models/flagship")


def fetch(
    client: httpx.Client,
    folder: Path,
    files: Sequence[Entry],
    source: Source,
    report: Report,
    *,
    patience: Patience | None = None,
    sleep: Callable[[float], None] | None = None,
) -> Manifest:
    """Bring `files` into `folder` and return its manifest. Hashes of an earlier fetch are believed.

    Raises what `download` and `weights.begin` raise; what has come by then is kept, and gone on from the next time.
    """
    report.total = sum(entry.size for entry in files)
    before = manifest.read(folder)
    believed = _believed(before, folder) if before else {}
    seen = {entry.path: present(folder, entry, believed.get(entry.path), report) for entry in files}
    found = {path: entry for path, entry in seen.items() if entry}
    lacking = [entry for entry in files if entry.path not in found]
    if before and not lacking and _same(before, source.origin, found, folder):
        return before
    part = weights.begin(folder, lacking)
    if lacking:
        url = answering(client, source, lacking[0])
        given = {"patience": patience or Patience(), **({"sleep": sleep} if sleep else {})}
        found |= _all(client, source, url, lacking, part, report, given)
    report.say("bringing it to the disk")
    return weights.finish(folder, source.origin, [found[entry.path] for entry in files])


def check(folder: Path, report: Report) -> list[str]:
    """Read every file of a folder that has a manifest, and return those that are not what it says.

    They are marked as such, so that the folder counts as whole nowhere until they were fetched again. Raises FloorError
    where there is no manifest to compare with.
    """
    known = manifest.read(folder)
    if known is None:
        raise FloorError(f"{folder}: has no manifest to compare with; `floor fetch` makes it")
    report.total = known.size
    damaged = []
    for entry in known.files:
        report.say(f"reading {entry.path}")
        place = folder / entry.path
        if not place.is_file() or not hashed(place, entry, report.add).right:
            damaged.append(entry.path)
            report.note(f"{entry.path}: is damaged")
    weights.record(folder, known, damaged)
    return damaged


def _same(known: Manifest, origin: Origin, found: Mapping[str, Entry], folder: Path) -> bool:
    """Whether the manifest that lies there says it all, and nothing of an interrupted fetch is left."""
    mine = {entry.path: (entry.size, entry.sha256) for entry in found.values()}
    told = {entry.path: (entry.size, entry.sha256) for entry in known.files}
    clean = not manifest.changed(folder, known) and weights.incomplete(folder) is None
    return clean and known.origin == origin and mine == told


def _believed(known: Manifest, folder: Path) -> dict[str, Entry]:
    """The files whose hash is still that of the manifest: size and time are those of when it was made."""
    moved = set(manifest.changed(folder, known))
    return {entry.path: entry for entry in known.files if entry.path not in moved}


def present(folder: Path, entry: Entry, believed: Entry | None, report: Report) -> Entry | None:
    """Return a file with its sha256 where it lies in the folder and is right; what is damaged is named."""
    place = folder / entry.path
    if not place.is_file():
        return None
    if believed and _fits(believed, entry):
        report.add(entry.size)
        return replace(entry, sha256=believed.sha256)
    if place.stat().st_size != entry.size:
        report.note(f"{entry.path}: has {place.stat().st_size} bytes, must have {entry.size}; it is fetched again")
        return None
    report.say(f"reading {entry.path}")
    seen = hashed(place, entry, report.add)
    if seen.right:
        return replace(entry, sha256=seen.sha256)
    report.add(-seen.size)
    report.note(f"{entry.path}: is damaged (sha256 {seen.sha256[:12]}…); it is fetched again")
    return None


def _fits(told: Entry, entry: Entry) -> bool:
    """Whether a file of the manifest is what is wanted now, by whichever hash the two have in common."""
    if told.size != entry.size:
        return False
    if entry.sha256 is not None:
        return told.sha256 == entry.sha256
    return entry.git is not None and told.git == entry.git


def answering(client: httpx.Client, source: Source, entry: Entry) -> str:
    """Return the first of the source's addresses that answers. Raises UnreachableError with each one's reason."""
    import httpx

    if source.kind == "hub":
        return source.urls[0]
    why = []
    for url in source.urls:
        try:
            remote = source.remote(url, entry)
            answer = client.head(remote.url, headers=dict(remote.headers), timeout=httpx.Timeout(5.0))
            remote.refuse(answer.status_code, answer.headers)
        except (httpx.HTTPError, UnreachableError) as error:
            why.append(f"{url}: {str(error) or type(error).__name__}")
            continue
        return url
    raise UnreachableError("the other box cannot be reached: " + "; ".join(why))


def _all(
    client: httpx.Client,
    source: Source,
    url: str,
    lacking: Sequence[Entry],
    part: Path,
    report: Report,
    given: dict[str, Any],
) -> dict[str, Entry]:
    over = threading.Event()

    def tick(size: int) -> None:
        report.add(size)
        if over.is_set():
            raise StoppedError

    def one(entry: Entry) -> Entry:
        if over.is_set():  # each file alone would try as long as the first that failed
            raise StoppedError
        report.say(entry.path)
        try:
            sha256 = download(client, source.remote(url, entry), entry, weights.within(part, entry.path), tick, **given)
        except BaseException:
            over.set()
            raise
        return replace(entry, sha256=sha256)

    found, failed = {}, list[BaseException]()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for work in [pool.submit(one, entry) for entry in sorted(lacking, key=lambda entry: -entry.size)]:
            if error := work.exception():
                failed.append(error)
            else:
                found[work.result().path] = work.result()
    for error in sorted(failed, key=lambda error: isinstance(error, StoppedError)):
        raise error
    return found
