"""What this engine was asked, so that a test can prove what reached it, and how often."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from typing import Any


@dataclass
class Entry:
    """One POST, which came `at` (unix seconds).

    `outcome`: open, answered, left (the client went, or a stop closed its connection), cut (by a fault).
    """

    number: int
    path: str
    at: float
    sha256: str = ""
    size: int = 0
    host: str | None = None
    framing: str | None = None
    status: int | None = None
    outcome: str = "open"
    tokens: int = 0

    def took(self, body: bytes) -> None:
        self.sha256 = sha256(body).hexdigest()
        self.size = len(body)


@dataclass
class Journal:
    """Counts of every request, and the latest POSTs. `keep` bounds what is remembered of them."""

    keep: int = 20_000
    paths: Counter[str] = field(default_factory=Counter)
    posts: deque[Entry] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self.posts = deque(maxlen=self.keep)

    def open(self, method: str, path: str, at: float) -> Entry:
        """Note a request that has arrived; only POSTs are remembered one by one."""
        self.paths[f"{method} {path}"] += 1
        entry = Entry(self.paths.total(), path, at)
        if method == "POST":
            self.posts.append(entry)
        return entry

    def show(self) -> dict[str, Any]:
        return {"paths": dict(self.paths), "posts": [asdict(entry) for entry in self.posts]}
