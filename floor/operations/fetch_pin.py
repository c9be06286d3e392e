"""Revisions that are no commits: what they mean now, asked from here, or from a box where here is no internet."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from floor.apply.transport import Transport
from floor.box import hub as hub_api
from floor.config import edit, source
from floor.config.check.fetch import COMMIT
from floor.config.load import examine, text_of
from floor.config.problem import KeyPath, show
from floor.errors import BoxError, ConfigError, FloorError
from floor.operations import own_file
from floor.operations.fetch import Hub

NOBODY = "0" * 40  # a commit in a text that is only loaded to find the boxes
Connect = Callable[[Any], Mapping[str, Transport]]


def unpinned(text: str, name: str) -> list[tuple[KeyPath, str, str]]:
    """Given the text of a floor.yaml, return (path, repository, revision) of each revision that is no commit.

    Raises ConfigError for a text that is no floor.yaml for another reason.
    """
    found = list(_revisions(source.read(text, name)[0].data, ()))
    if found:
        examine(_with(text, {path: NOBODY for path, _, _ in found}, name), name)
    return found


def _revisions(data: Any, path: KeyPath) -> Any:
    """Every fetch in plain values, at whatever depth a copy or a model holds it."""
    if isinstance(data, list):
        for index, value in enumerate(data):
            yield from _revisions(value, (*path, index))
    elif isinstance(data, dict):
        for key, value in data.items():
            if key != "fetch" or not isinstance(value, dict) or path[:1] != ("models",):
                yield from _revisions(value, (*path, key))
                continue
            repo, revision = value.get("repo"), value.get("revision")
            if isinstance(repo, str) and isinstance(revision, str) and not COMMIT.fullmatch(revision):
                yield (*path, key, "revision"), repo, revision


def _with(text: str, values: Mapping[KeyPath, str], name: str) -> str:
    for path, value in values.items():
        text = edit.set_value(text, path, value, name)
    return text


def commits(
    text: str, name: str, hub: Hub, connect: Connect, models: Any = ()
) -> tuple[list[tuple[KeyPath, str, str]], str]:
    """Given a floor.yaml's text, return what each revision that is no commit means now, and the text with the commits.

    Raises FloorError where the hub cannot be asked, or does not know one.
    """
    found = [one for one in unpinned(text, name) if not models or one[0][1] in models]
    if not found:
        return [], text
    config, _ = examine(_with(text, {path: NOBODY for path, _, _ in unpinned(text, name)}, name), name)
    means = {path: _ask(repo, revision, hub, lambda: connect(config)) for path, repo, revision in found}
    told = [(path, revision, means[path]) for path, _, revision in found]
    return told, _with(text, means, name)


def _ask(repo: str, revision: str, hub: Hub, boxes: Callable[[], Mapping[str, Transport]]) -> str:
    """The commit of a revision: the hub is asked from here, and by the boxes where here is no way to it."""
    import httpx

    try:
        with httpx.Client(follow_redirects=True) as client:
            return _commit(hub_api.listing(client, hub.endpoint, repo, revision, hub.token).commit, repo, revision)
    except hub_api.UnreachableError as error:
        why = [f"  here: {error}"]
    params = {"endpoint": hub.endpoint, "repo": repo, "revision": revision, "token": hub.token}
    for box, transport in boxes().items():
        try:
            answer = transport.call("fetch.list", params, timeout=60)
        except BoxError as error:
            why.append(f"  {error}")
            continue
        if "denied" in answer:
            raise FloorError(answer["denied"])
        if "commit" in answer:
            return _commit(answer["commit"], repo, revision)
        why.append(f"  {box}: {answer['unreachable']}")
    raise FloorError(f"{repo}: nobody reaches the hub to ask what {revision} is:\n" + "\n".join(why))


def _commit(found: str, repo: str, revision: str) -> str:
    if not re.fullmatch(COMMIT, found):
        raise FloorError(f"{repo}: the hub says that {revision} is {found[:60]!r}, which is no commit")
    return found


def refuse(text: str, name: str, hub: Hub, connect: Connect) -> None:
    """Raise ConfigError with the commit to write, where a revision is none."""
    told, _ = commits(text, name, hub, connect)
    read, _ = source.read(text, name)
    if told:
        raise ConfigError(
            [
                f"{show(path)} ({name}:{read.line_of(path)}): found {revision}, which may be other weights tomorrow; "
                f'write "{commit}", which it is now, or let `floor fetch --pin` write it'
                for path, revision, commit in told
            ]
        )


def pin(path: Path, hub: Hub, connect: Connect, models: Any, *, dry_run: bool) -> tuple[str, bool]:
    """Write the commits into the file and return the difference, and whether there is one.

    Raises ConfigError and FloorError for a file that cannot be read or written, and as `commits` does.
    """
    text = text_of(path)
    told, new = commits(text, str(path), hub, connect, models)
    if told and not dry_run:
        own_file.write(path, new)
    return edit.diff(text, new, str(path)), bool(told)
