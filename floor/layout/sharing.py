"""Which cards can share each layer (tensor parallel), and why others cannot."""

from __future__ import annotations

from collections.abc import Sequence

from floor.layout.cards import Card
from floor.layout.fleet import Place, Want
from floor.layout.shape import Attention, Delta, Mamba

_NEAR = 1.5  # of memory, between the largest and the smallest card that share layers


def obstacle(want: Want, cards: Sequence[tuple[Place, Card]]) -> str:
    """Given a model and cards with their boxes, return why these cards cannot share layers; empty where they can."""
    many = len(cards)
    if many == 1:
        return ""
    if want.engine != "vllm":
        return f"{want.engine} does not share layers between cards"
    rooms = [place.usable(card) for place, card in cards]
    if max(rooms) > _NEAR * min(rooms):
        return f"cards whose memory differs by more than {_NEAR} times cannot share layers"
    if want.shape.heads % many:
        return f"{want.shape.heads} heads of attention cannot be shared by {many} cards"
    for mixer in {layer.mixer for layer in want.shape.layers}:
        heads = mixer.kv_heads if isinstance(mixer, Attention) else many
        if heads % many and many % heads:
            return f"{heads} heads of the cache cannot be shared by {many} cards"
        states = (mixer.k_heads, mixer.v_heads) if isinstance(mixer, Delta) else (many,)
        states = (mixer.heads, mixer.groups) if isinstance(mixer, Mamba) else states
        if any(count % many for count in states):
            return f"{min(states)} heads of a state cannot be shared by {many} cards"
    return ""
