"""Asks a box's own nginx whether it would take a configuration, before anything there is changed."""

from __future__ import annotations

from floor.box import paths
from floor.box.document import Document
from floor.desired.state import BoxState
from floor.operations.site import Site
from floor.pool import members, settings


def nginx_refusals(site: Site, wanted: BoxState) -> list[str]:
    """Given what a proxy box must hold, return what its nginx has against it, empty for nothing.

    The files are laid into a folder of their own there, with an empty pool.
    """
    file = wanted.file(str(paths.POOL_SETTINGS))
    if file is None:
        return []
    pools = settings.read(Document.parse(file.text, file.path), file.path).pools
    files = [
        {"path": each.path, "text": each.text, "mode": each.mode, "owner": each.owner}
        for each in wanted.files
        if each.path.startswith(f"{paths.NGINX}/")
    ]
    params = {"files": files, "members": members.text(pools, (), str(paths.EMPTY_SOCKET))}
    answer = site.boxes[wanted.box].call("nginx.test", params)
    return [] if answer["ok"] else [f"{wanted.box}: nginx refuses the new configuration: {answer['output']}"]
