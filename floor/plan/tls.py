"""The certificate of the proxies: what is wrong with it before anything changes, and when nginx must read it again."""

from __future__ import annotations

from floor.plan.aim import Aim
from floor.plan.seen import Seen, UnitSeen


def problems(aim: Aim) -> list[str]:
    """Given the aim, return a line for each proxy box whose certificate cannot serve."""
    found = []
    for seen in aim.proxies:
        there = seen.tls
        if aim.config.proxy.tls is None or there is None:
            continue
        if there["problem"]:
            found.append(f"{seen.box}: {there['problem']}; put both files of proxy.tls on every proxy box")
        elif there["left"] is not None and there["left"] <= 0:
            found.append(f"{seen.box}: {aim.config.proxy.tls.certificate} has ended; renew it there first")
    return found


def renewed(proxy: UnitSeen, seen: Seen) -> str:
    """Why nginx must read the certificate again, empty where it need not: it is younger than nginx's workers."""
    changed, read_at = (seen.tls or {}).get("changed"), proxy.youngest_child
    if changed is not None and read_at is not None and changed > read_at:
        return "the certificate or its key changed after they were read"
    return ""
