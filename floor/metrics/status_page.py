"""The status page: a few files as they lie in templates/page, and two documents that they draw."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.resources import files

from .port import Pages
from .watch import Watch

AT = "/floor/"
KINDS = {"html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8"}
FILES = {AT: "index.html", f"{AT}page.css": "page.css", f"{AT}page.js": "page.js", f"{AT}charts.js": "charts.js"}
DOCUMENTS = (f"{AT}now.json", f"{AT}hour.json")
PATHS = (*FILES, *DOCUMENTS)


def pages(watch: Watch) -> Pages:
    """Given what is known of the site, return all that is served."""

    def fixed(name: str) -> tuple[str, Callable[[], bytes]]:
        body = (files("floor") / "templates" / "page" / name).read_bytes()
        return KINDS[name.rpartition(".")[2]], lambda: body

    now, hour = DOCUMENTS
    return {
        **{path: fixed(name) for path, name in FILES.items()},
        now: ("application/json", lambda: json.dumps(watch.document()).encode()),
        hour: ("application/json", lambda: json.dumps(watch.hour()).encode()),
    }
