"""Whether an engine could be started: its program and weights tried as its user, and a fresh process of its build."""

from __future__ import annotations

from typing import Any

from floor.agent.call import Call
from floor.box import command
from floor.box import trial as box


def check(call: Call) -> dict[str, Any]:
    """{user, program|null, source} → {problems: [what was found; what to do]}. Reads only.

    `program` and `source` are absolute paths; a program that systemd looks up in PATH is not looked for here. Weights
    that a download left readable for their owner alone are found now, and not by an engine that dies after the old
    copy was stopped.
    """
    user, source = call.params.text("user"), call.params.text("source")
    program = call.params.maybe_text("program")
    as_user = ["runuser", "-u", user, "--"]
    if not call.run(["id", "-u", user]).ok:
        return {"problems": [f"there is no user {user}; `floor setup` makes the user floor, others are yours to make"]}
    problems = []
    if program and not call.run([*as_user, "test", "-x", program]).ok:
        problems.append(f"user {user} cannot run {program}; is it there, and may that user reach it?")
    unread = call.run([*as_user, "find", "-L", source, "!", "-readable", "-print", "-quit"])
    if unread.out.strip() or not unread.ok:
        place = unread.out.strip() or source
        problems.append(f"user {user} cannot read {place}; try: chmod -R a+rX {source}")
    return {"problems": problems}


def trial(call: Call) -> dict[str, Any]:
    """{argv, env, user, container|null, memory, seconds} → {code, out, err, skipped, late}: see floor.box.trial.

    A fresh process of an engine's build that reads its arguments and looks for its device; what serves goes on.
    """
    params = call.params
    seconds = params.whole("seconds", 1)
    return box.run(
        params.words("argv"),
        {str(name): str(value) for name, value in params.mapping("env").items()},
        user=params.text("user"),
        container=params.maybe_text("container"),
        most=params.whole("memory", 1),
        seconds=seconds,
        root=call.root,
        run=lambda argv: command.run(argv, timeout=seconds + 20),
    )
