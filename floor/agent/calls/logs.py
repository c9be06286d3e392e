"""The journal of floor's units, as raw text after the answer line."""

from __future__ import annotations

from floor.agent.call import Call, Stream
from floor.agent.calls.unit import OURS
from floor.errors import UsageError


def logs(call: Call) -> Stream:
    """{units, lines, since, follow} → {} and then the text. A followed journal ends when the caller closes stdin."""
    return Stream(argv(call), follow=call.params.flag("follow"))


def argv(call: Call) -> list[str]:
    """Return the journalctl command that is meant. Raises UsageError for a unit that is not floor's."""
    params = call.params
    names = params.texts("units")
    for name in names:
        if not OURS.fullmatch(name):
            raise UsageError(f"logs: unit {name!r}: must be floor's, as floor-copy-MODEL.service")
    words = ["journalctl", "--no-pager", "--quiet", "--output=short-iso", *(f"--unit={name}" for name in names)]
    if (lines := params.maybe_whole("lines")) is not None:
        words.append(f"--lines={lines}")
    if (since := params.maybe_text("since")) is not None:
        words.append(f"--since={since}")
    return [*words, "--follow"] if params.flag("follow") else words
