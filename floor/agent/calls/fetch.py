"""Weights and images of this box: what is there, and tasks that bring more. A deployment need not wait for them."""

from __future__ import annotations

import shutil
from typing import Any

from floor.agent.call import Call
from floor.box import events, images, manifest, paths, task, weights


def look(call: Call) -> dict[str, Any]:
    """{folders, images, tasks} → {folders: {folder: what is known of it}, docker: …, tasks: {id: state|null}}."""
    params = call.params
    return {
        "folders": {folder: weights.look(folder, call.root) for folder in params.texts("folders")},
        "docker": images.look(params.texts("images"), call.run) if params.texts("images") else {"images": {}},
        "tasks": {name: _task(name, call) for name in params.texts("tasks")},
    }


def _task(name: str, call: Call) -> dict[str, Any] | None:
    """How far a task is, with what it was told to do, its files left out."""
    found = task.state(name, call.root)
    job = task.job(name, call.root) or {}
    return {**found, "job": {key: job.get(key) for key in task.TOLD}} if found else None


def read(call: Call) -> dict[str, Any]:
    """{folder} → {manifest: the files of a folder with their hashes, null where there are none}."""
    known = manifest.read(paths.under(call.root, call.params.text("folder")))
    return {"manifest": known.as_json() if known else None}


def list(call: Call) -> dict[str, Any]:  # noqa: A001 -- the name of the call
    """{endpoint, repo, revision, token|null} → {commit, files}, or {unreachable: why}, or {denied: why}."""
    import httpx

    from floor.box import hub

    params = call.params
    asked = params.text("endpoint"), params.text("repo"), params.text("revision"), params.maybe_text("token")
    try:
        with httpx.Client(follow_redirects=True) as client:
            found = hub.listing(client, *asked)
    except hub.UnreachableError as error:
        return {"unreachable": str(error)}
    except hub.DeniedError as error:
        return {"denied": str(error)}
    return {"commit": found.commit, "files": [entry.as_json() for entry in found.files]}


def start(call: Call) -> dict[str, Any]:
    """{task, job, secret|null, who} → {started}: False where it runs already. No operation is needed for it."""
    params = call.params
    name, job = params.text("task"), params.mapping("job")
    began = task.start(name, job, params.maybe_text("secret"), call.root, call.run, call.sleep)
    if began and job.get("kind") != "serve":
        events.append(params.text("who"), f"fetches {job.get('what')}", {"task": name}, at=call.wall(), root=call.root)
    return {"started": began, "job": task.job(name, call.root)}


def stop(call: Call) -> dict[str, Any]:
    """{task} → {stopped}: ends a task; what has come is kept."""
    return {"stopped": task.stop(call.params.text("task"), call.root, call.sleep)}


def drop(call: Call) -> dict[str, Any]:
    """{image} → {}: removes an image that was packed for other boxes."""
    shutil.rmtree(images.spool(call.params.text("image"), call.root), ignore_errors=True)
    return {}
