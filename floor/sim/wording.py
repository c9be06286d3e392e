"""The text of an answer: the same words for the same request and seed, one word a token."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from math import ceil

# fmt: off
VOCABULARY = [
    "the", "box", "holds", "a", "copy", "of", "every", "layer", "and", "reads", "its", "weights", "once", "per",
    "token", "so", "many", "short", "requests", "share", "one", "pass", "while", "long", "prompts", "wait", "their",
    "turn", "until", "cache", "blocks", "free", "up", "again", "then", "answers", "arrive", "word", "by", "at",
    "some", "steady", "pace", "which", "falls", "when", "more", "agents", "ask", "than", "this", "machine", "was",
    "built", "for", "yet", "nobody", "is", "cut",
]
# fmt: on


def count_tokens(text: str | bytes) -> int:
    """Tokens of a text, about four bytes each, at least one."""
    size = len(text.encode()) if isinstance(text, str) else len(text)
    return max(1, ceil(size / 4))


def words(key: str, count: int) -> list[str]:
    """`count` tokens decided by `key` alone; all but the first begin with a space."""
    stream = _indexes(key)
    return [("" if at == 0 else " ") + VOCABULARY[next(stream) % len(VOCABULARY)] for at in range(count)]


def natural_length(key: str, shortest: int, longest: int) -> int:
    """How long the answer to `key` would get if nothing cut it, in tokens, both bounds included."""
    digest = sha256(f"length {key}".encode()).digest()
    return shortest + int.from_bytes(digest[:4], "big") % (longest - shortest + 1)


def _indexes(key: str) -> Iterator[int]:
    block = 0
    while True:
        yield from sha256(f"{block} {key}".encode()).digest()
        block += 1


def split_tokens(text: str) -> list[str]:
    """A given text as tokens of about four characters, so that a tool call streams at a token's pace."""
    return [text[at : at + 4] for at in range(0, len(text), 4)]
