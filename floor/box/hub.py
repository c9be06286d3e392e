"""A Hugging Face hub over its documented HTTP API: what a repository holds at a commit, and where each file is.

https://huggingface.co/docs/hub/api: GET /api/models/REPO/revision/REVISION?blobs=true lists the files, each with its
size and either the sha256 of its content (LFS) or git's id of the blob; GET /REPO/resolve/REVISION/PATH is the file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from floor.box import manifest
from floor.box.manifest import Entry, Origin
from floor.errors import FloorError

if TYPE_CHECKING:
    import httpx

DEFAULT = "https://huggingface.co"
TIMEOUT = 20.0  # seconds for a listing
CONNECT = 6.0  # seconds after which a box counts as one without internet
LARGEST = 64 * 1024 * 1024  # bytes of a listing; a repository of a thousand files has some 300 kB


class UnreachableError(FloorError):
    """The hub cannot be reached from here: another machine may reach it."""


class DeniedError(FloorError):
    """The hub does not give that to whoever asks: no other machine will get it either without another token."""


@dataclass(frozen=True)
class Listing:
    """What a repository holds at `commit`, which is what the revision that was asked for means now."""

    commit: str
    files: tuple[Entry, ...]


def headers(token: str | None) -> dict[str, str]:
    """Given a token or None, return the headers of a request. httpx drops them where another host is redirected to."""
    return {"User-Agent": "floor", **({"Authorization": f"Bearer {token}"} if token else {})}


def file_url(endpoint: str, origin: Origin, path: str) -> str:
    """Given the hub's address, return where a file of a repository is."""
    return f"{endpoint.rstrip('/')}/{origin.repo}/resolve/{quote(origin.revision, safe='')}/{quote(path)}"


def listing(client: httpx.Client, endpoint: str, repo: str, revision: str, token: str | None) -> Listing:
    """Given the hub's address, a repository and a commit, branch or tag, return what is there.

    Raises UnreachableError, DeniedError, FloorError where it answers something that is no listing.
    """
    import httpx

    url = f"{endpoint.rstrip('/')}/api/models/{repo}/revision/{quote(revision, safe='')}"
    try:
        patience = httpx.Timeout(TIMEOUT, connect=CONNECT)
        answer = client.get(url, params={"blobs": "true"}, headers=headers(token), timeout=patience)
    except httpx.HTTPError as error:
        raise UnreachableError(f"{endpoint} cannot be reached ({_why(error)})") from None
    refuse(answer.status_code, answer.headers, repo, revision, token)
    try:
        told = answer.json()
        commit = str(told["sha"])
        files = manifest.entries([_row(one) for one in told["siblings"]])
    except (ValueError, KeyError, TypeError, AttributeError):
        raise FloorError(f"{endpoint} answers no listing of {repo}; is HF_ENDPOINT a Hugging Face hub?") from None
    return Listing(commit, files)


def _row(one: dict[str, Any]) -> dict[str, Any]:
    lfs = one.get("lfs") or {}
    size = lfs.get("size", one.get("size"))
    return {"path": one["rfilename"], "size": size, "sha256": lfs.get("sha256"), "git": one.get("blobId")}


def refuse(status: int, answered: Any, repo: str, revision: str, token: str | None) -> None:
    """Given the status and the headers of an answer, raise what it means; nothing for 200 and 206."""
    if status in (200, 206):
        return
    code = str(answered.get("X-Error-Code") or "")
    how = "the token of HF_TOKEN" if token else "no token: set HF_TOKEN"
    if code == "GatedRepo" or (status == 403 and code != "RepoNotFound"):
        raise DeniedError(f"{repo} is gated: accept its terms on its page, and use a token of that account ({how})")
    if status == 401:
        raise DeniedError(f"{repo} is not there for you: it is private or misspelt, or the token is wrong ({how})")
    if status == 404 and code == "RevisionNotFound":
        raise DeniedError(f"{repo} has no revision {revision}; look at its list of commits")
    if status == 404 and code == "EntryNotFound":
        raise DeniedError(f"{repo} at {revision} has no such file")
    if status == 404:
        raise DeniedError(f"{repo} at {revision} is not there; is it misspelt?")
    if status == 429 or status >= 500:
        raise UnreachableError(f"the hub answers {status}; try again later")
    raise FloorError(f"the hub answers {status} for {repo}")


def _why(error: Exception) -> str:
    return str(error) or type(error).__name__
