"""Proxies of others in front of engines: lines of their configurations that lead to one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from floor.box import paths
from floor.box.foreign import hidden

PLACES = (
    "etc/nginx/nginx.conf",
    "etc/nginx/conf.d/*",
    "etc/nginx/sites-enabled/*",
    "etc/haproxy/haproxy.cfg",
    "etc/caddy/Caddyfile",
    "etc/apache2/sites-enabled/*",
)
MOST = 8  # lines that are told


def look(ports: Sequence[int], root: Path = paths.ROOT) -> list[dict[str, str]]:
    """Given the ports of engines, return {where, line} for each line that leads to one of them."""
    found: list[dict[str, str]] = []
    leads = re.compile(rf"^[^#]*:({'|'.join(map(str, ports)) or 'none'})(?!\d)")
    for path in (path for pattern in PLACES for path in sorted(root.glob(pattern)) if path.is_file()):
        try:
            lines = path.read_text(errors="replace").splitlines()
        except OSError:
            continue
        where = f"/{path.relative_to(root)}"
        found += [
            {"where": f"{where}:{number}", "line": hidden.shown(line)[:200]}
            for number, line in enumerate(lines, start=1)
            if leads.search(line)
        ]
    return found[:MOST]
