"""How many bytes a model's weights take: as they lie on disk, or computed from parameters."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from floor.errors import FloorError
from floor.layout.shape import Shape

# Bits of a weight on disk, its scales included.
BITS: Mapping[str, float] = {
    "f32": 32, "bf16": 16, "f16": 16, "fp8": 8, "int8": 8, "q8_0": 8.5, "q6_k": 6.5625, "q5_k_m": 5.7, "q4_k_m": 4.85,
    "q4_0": 4.5, "nvfp4": 4.5, "mxfp4": 4.25, "awq": 4.25, "gptq": 4.25, "int4": 4.25, "q3_k_m": 3.9, "q2_k": 2.9,
}  # fmt: skip
_LAYER = re.compile(r"(?:^|\.)(?:layers|blk|h|layer|blocks)\.(\d+)\.")
_EXPERTS = re.compile(r"\.experts\.|_exps\.|\.block_sparse_moe\.(input|output)_linear\.")  # the last: Granite's
_TABLE = re.compile(r"(embed_tokens|token_embd|word_embeddings|\bwte)\b|\.embeddings\.weight$")
_HEAD = re.compile(r"(^|\.)(lm_head|output|embed_out)\.(?!norm)")
_DRAFT = re.compile(r"(^|\.)(mtp|nextn)\b|\bnextn\.")
_BESIDE = re.compile(r"(^|\.)(visual|vision_tower|vision_model|vision|audio_tower|multi_modal_projector|mm)\.|^v\.")


@dataclass(frozen=True)
class Weights:
    """Bytes. `dense` and `experts` of each layer; `table` of words; `head` at the output (0 where both are one:
    then the table is read there); `drafts`; `beside`: what sees or hears. `origin`: measured or computed.
    """

    dense: tuple[float, ...]
    experts: tuple[float, ...]
    table: float
    head: float
    drafts: float
    beside: float
    origin: str

    @property
    def total(self) -> float:
        """Bytes of all, drafts included."""
        return sum(self.dense) + sum(self.experts) + self.table + self.head + self.drafts + self.beside

    def stretch(self, start: int, end: int, *, drafts: bool) -> float:
        """Given a stretch of layers, return its bytes: the first has the table of words and what sees, the last the
        head and, with `drafts`, the drafts.
        """
        found = sum(self.dense[start:end]) + sum(self.experts[start:end])
        if start == 0:
            found += self.table + self.beside
        if end == len(self.dense):
            # the last of several cards needs the table once more where it is the head, too
            found += self.head or (self.table if start else 0)
            found += self.drafts if drafts else 0
        return found


def measured(tensors: Mapping[str, int], shape: Shape) -> Weights:
    """Given {tensor: bytes} from headers and the model's shape, return its weights. Raise FloorError for gaps."""
    many = len(shape.layers)
    dense, experts = [0.0] * many, [0.0] * many
    table = head = drafts = beside = 0.0
    for name, size in tensors.items():
        found = _LAYER.search(name)
        if _BESIDE.search(name):
            beside += size
        elif _DRAFT.search(name) or (found and int(found[1]) >= many):
            drafts += size
        elif found:
            (experts if _EXPERTS.search(name) else dense)[int(found[1])] += size
        elif _TABLE.search(name):
            table += size
        elif _HEAD.search(name):
            head += size
        else:
            beside += size
    if missing := [place for place in range(many) if not dense[place] + experts[place]]:
        raise FloorError(f"the weights hold nothing of layer {missing[0]}, of {many}; fetch them again")
    return Weights(tuple(dense), tuple(experts), table, head, drafts, beside, "measured")


def computed(shape: Shape, bits: float, *, dense_bits: float | None = None, ends_bits: float = 16) -> Weights:
    """Given a shape and the bits of a weight, return its weights.

    `dense_bits`: of what every token reads, where it is kept finer than the experts; `ends_bits`: of table and head.
    """
    finer = bits if dense_bits is None else dense_bits
    table = shape.embedding * ends_bits / 8
    return Weights(
        dense=tuple(layer.dense * finer / 8 for layer in shape.layers),
        experts=tuple(layer.expert * layer.experts * bits / 8 for layer in shape.layers),
        table=table,
        head=0 if shape.tied else table,
        drafts=sum(layer.dense * finer + layer.expert * layer.experts * bits for layer in shape.drafts) / 8,
        beside=0,
        origin="computed",
    )


def scaled(weights: Weights, total: float) -> Weights:
    """Given weights and the bytes that they take in all, return them with each part in proportion."""
    factor = total / weights.total
    return replace(
        weights,
        dense=tuple(size * factor for size in weights.dense),
        experts=tuple(size * factor for size in weights.experts),
        table=weights.table * factor,
        head=weights.head * factor,
        drafts=weights.drafts * factor,
        beside=weights.beside * factor,
    )


def read_bytes(weights: Weights, shape: Shape, tokens: float, start: int = 0, end: int | None = None) -> float:
    """Given how many tokens one step makes and a stretch of layers, return the bytes that it reads.

    Of E experts, of which each token uses k, T tokens touch E * (1 - (1 - k/E)^T).
    """
    end = len(shape.layers) if end is None else end
    found = sum(weights.dense[start:end])
    for place in range(start, end):
        layer = shape.layers[place]
        if layer.experts:
            found += weights.experts[place] * (1 - (1 - layer.used / layer.experts) ** tokens)
    return found + ((weights.head or weights.table) if end == len(shape.layers) and shape.causal else 0)
