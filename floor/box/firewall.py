"""The kernel's packet filter on this box: floor's own table, who was counted in it, and what others drop. Read only."""

from __future__ import annotations

import hashlib
import json
import socket
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from floor.box import paths
from floor.box.command import Run, run

TABLE = ("inet", "floor")
COUNTED = ("direct4", "direct6")  # sets that the kernel fills; their elements are no part of the rules
_PASSING = ("handle", "packets", "bytes")  # what differs between two loads of one and the same file


def look(root: Path = paths.ROOT, run: Run = run) -> dict[str, Any]:
    """Return {"installed", "loaded", "same", "direct": [{"address", "connections"}]}.

    `same` tells whether the table is what the file says, by loading the file into an empty network of its own: rules
    look otherwise when they are listed than they were written. None where that cannot be told.
    """
    listed = run(["nft", "--json", "list", "table", *TABLE])
    there = listing(listed.out) if listed.ok else []
    file = paths.under(root, paths.FIREWALL)
    same = None
    if there and file.is_file():
        words = f"nft -f {file} && nft --json list table {' '.join(TABLE)}"
        fresh = run(["unshare", "--net", "sh", "-c", words])
        same = rules(listing(fresh.out)) == rules(there) if fresh.ok else None
    return {"installed": listed.code is not None, "loaded": bool(there), "same": same, "direct": direct(there)}


def others(run: Run = run) -> list[dict[str, Any]]:
    """Return what else drops packets that come in: [{"family", "table", "chain", "by", "ports"}].

    Base chains with the policy drop, and firewalld, whose last rule refuses. `ports` are those of TCP that any rule of
    that table names; whether one of them really lets something in is its owner's matter.
    """
    listed = run(["nft", "--json", "--terse", "list", "ruleset"])
    items = listing(listed.out) if listed.ok else []
    found = []
    for item in items:
        chain = item.get("chain", {})
        table = (chain.get("family"), chain.get("table"))
        inward = chain.get("hook") == "input" and table != TABLE
        if inward and (chain.get("policy") == "drop" or chain.get("table") == "firewalld"):
            told = {"family": table[0], "table": table[1], "chain": chain["name"]}
            found.append({**told, "by": _owner(items, table), "ports": _ports(items, table)})
    return found


def sources(toward: Iterable[str]) -> dict[str, str]:
    """Given addresses, return the one that this box sends from to each; those without a way are left out.

    Nothing is sent: a datagram socket asks the kernel for its way when it is connected.
    """
    found = {}
    for target in toward:
        family = socket.AF_INET6 if ":" in target else socket.AF_INET
        try:
            with socket.socket(family, socket.SOCK_DGRAM) as asking:
                asking.connect((target, 9))
                found[target] = str(asking.getsockname()[0]).partition("%")[0]
        except OSError:
            continue
    return found


def rules(items: Iterable[Mapping[str, Any]]) -> str:
    """Given what nft listed, return a digest of the rules in it; counts and the kernel's own numbers aside."""
    kept = [item for item in items if "metainfo" not in item]
    return hashlib.sha256(json.dumps([_plain(item) for item in kept], sort_keys=True).encode()).hexdigest()


def direct(items: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Given what nft listed of floor's table, return who began connections past the proxy, the most first."""
    found = []
    for item in items:
        if item.get("set", {}).get("name") in COUNTED:
            for element in item["set"].get("elem", ()):
                one = element.get("elem", {}) if isinstance(element, dict) else {}
                if "counter" in one:
                    found.append({"address": str(one["val"]), "connections": int(one["counter"]["packets"])})
    return sorted(found, key=lambda one: (-int(one["connections"]), str(one["address"])))


def listing(text: str) -> list[dict[str, Any]]:
    """Given what `nft --json list` printed, return its items; none where it is not that."""
    try:
        return list(json.loads(text)["nftables"])
    except (ValueError, KeyError, TypeError):
        return []


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if not isinstance(value, dict):
        return value
    counted = value.get("name") in COUNTED
    skipped = (*_PASSING, "elem") if counted else _PASSING
    return {key: _plain(one) for key, one in value.items() if key not in skipped}


def _owner(items: Iterable[Mapping[str, Any]], table: tuple[Any, Any]) -> str:
    if table[1] == "firewalld":
        return "firewalld"
    chains = [item["chain"] for item in items if "chain" in item]
    names = {chain["name"] for chain in chains if (chain["family"], chain["table"]) == table}
    return "ufw" if any(name.startswith("ufw") for name in names) else ""


def _ports(items: Iterable[Mapping[str, Any]], table: tuple[Any, Any]) -> list[int]:
    """Every port that a rule of the table compares `tcp dport` with; ranges by their ends alone."""
    found: set[int] = set()
    for item in items:
        rule = item.get("rule", {})
        if (rule.get("family"), rule.get("table")) != table:
            continue
        for part in rule.get("expr", ()):
            match = part.get("match", {}) if isinstance(part, dict) else {}
            payload = match.get("left", {}).get("payload", {}) if isinstance(match.get("left"), dict) else {}
            if payload.get("field") == "dport":
                found |= _numbers(match.get("right"))
    return sorted(found)


def _numbers(value: Any) -> set[int]:
    if isinstance(value, int):
        return {value}
    parts = value.get("set") or value.get("range") or [] if isinstance(value, dict) else []
    return {number for part in parts for number in _numbers(part)}
