"""Whether the user that an engine runs as could start it: its program and its weights, tried as that user."""

from __future__ import annotations

from typing import Any

from floor.agent.call import Call


def check(call: Call) -> dict[str, Any]:
    """{user, program, source} → {problems: [what was found; what to do]}. Reads only.

    `program` and `source` are absolute paths. Weights that a download left readable for their owner alone are found
    here instead of by an engine that dies after the old copy was stopped.
    """
    user, program, source = (call.params.text(name) for name in ("user", "program", "source"))
    as_user = ["runuser", "-u", user, "--"]
    if not call.run(["id", "-u", user]).ok:
        return {"problems": [f"there is no user {user}; `floor setup` makes the user floor, others are yours to make"]}
    problems = []
    if not call.run([*as_user, "test", "-x", program]).ok:
        problems.append(f"user {user} cannot run {program}; is it there, and may that user reach it?")
    unread = call.run([*as_user, "find", "-L", source, "!", "-readable", "-print", "-quit"])
    if unread.out.strip() or not unread.ok:
        place = unread.out.strip() or source
        problems.append(f"user {user} cannot read {place}; try: chmod -R a+rX {source}")
    return {"problems": problems}
