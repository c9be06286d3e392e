"""Sends a message: to a command's stdin, or as JSON to a web hook. Bounded, and never a reason to stop anything."""

from __future__ import annotations

import json
from pathlib import Path

from floor.box import paths
from floor.box.command import run
from floor.errors import FloorError

from .decide import Message
from .settings import Notify

TIMEOUT = 10.0  # seconds


def document(box: str, message: Message) -> str:
    """Given this box's name and a message, return what is sent: {text, box, key, state}. Slack and Mattermost show
    `text`, others take what they know."""
    mark = {"new": "", "again": "still: ", "over": "over: "}[message.state]
    return json.dumps(
        {"text": f"floor on {box}: {mark}{message.text}", "box": box, "key": message.key, "state": message.state}
    )


def send(notify: Notify, box: str, message: Message, root: Path = paths.ROOT) -> None:
    """Given whom to tell, this box's name and a message, send it. Raise FloorError saying why nobody was told."""
    text = document(box, message)
    if notify.command:
        result = run(notify.command, timeout=TIMEOUT, text=text + "\n")
        if not result.ok:
            raise FloorError(f"notify.command {notify.command[0]}: {result.said[:200] or f'exit status {result.code}'}")
    if url := _url(notify, root):
        _post(url, text)


def _url(notify: Notify, root: Path) -> str:
    if notify.webhook_file is None:
        return notify.webhook
    place = paths.under(root, notify.webhook_file)
    try:
        return place.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise FloorError(f"{place}: the web hook's address cannot be read ({error})") from error


def _post(url: str, text: str) -> None:
    """The address may hold a secret: no error repeats it."""
    import httpx

    try:
        answer = httpx.post(url, content=text, headers={"content-type": "application/json"}, timeout=TIMEOUT)
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        raise FloorError(f"the web hook did not answer ({type(error).__name__})") from None
    if answer.status_code >= 300:
        raise FloorError(f"the web hook answered {answer.status_code}")
