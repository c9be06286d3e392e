"""Text that says nothing, in any length, for a needle to lie in."""

from __future__ import annotations

import random
from hashlib import sha256

WORDS_PER_TOKEN = 0.75

_WHO = ("The night crew", "A visitor", "The foreman", "Somebody from the yard", "The clerk", "An apprentice")
_DID = ("counted", "moved", "painted", "measured", "swept around", "looked over", "forgot about", "wrote down")
_WHAT = (
    "the empty crates",
    "two ladders",
    "the old signal lamps",
    "a stack of planks",
    "the spare ropes",
    "the blue drums",
)
_WHEN = ("before the rain came", "while the tea was hot", "on a slow afternoon", "after the bell", "as every week")


def text(tokens: int, needle: str, depth: float, key: str) -> str:
    """About `tokens` tokens of English sentences decided by `key`, with `needle` after the share `depth` of them."""
    of = random.Random(sha256(key.encode()).digest())  # noqa: S311 - not a secret
    sentences: list[str] = []
    words = 0
    while words < tokens * WORDS_PER_TOKEN:
        sentence = " ".join(of.choice(part) for part in (_WHO, _DID, _WHAT, _WHEN)) + "."
        sentences.append(sentence)
        words += sentence.count(" ") + 1
    sentences.insert(int(len(sentences) * depth), needle)
    return " ".join(sentences)
