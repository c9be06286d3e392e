"""Published speeds of published models: what the speed model is fitted on, and what it is held against.

`fit` marks those that it is fitted on. Of the source with most models, which are five on one card, the first, third and
fifth in its order are fitted with all of their rows, the second and fourth are held out with all of theirs. The other
kinds of memory have so few rows that some of each are marked by hand.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

from floor.layout.architecture import shape
from floor.layout.shape import Shape

_OSS: dict[str, Any] = {
    "model_type": "gpt_oss", "hidden_size": 2880, "intermediate_size": 2880, "num_attention_heads": 64,
    "num_key_value_heads": 8, "head_dim": 64, "sliding_window": 128, "num_experts_per_tok": 4, "vocab_size": 201088,
}  # fmt: skip
_LLAMA: dict[str, Any] = {"model_type": "llama", "num_key_value_heads": 8, "vocab_size": 128256}
CONFIGS: dict[str, dict[str, Any]] = {
    "gpt-oss-120b": {**_OSS, "num_hidden_layers": 36, "num_local_experts": 128},
    "gpt-oss-20b": {**_OSS, "num_hidden_layers": 24, "num_local_experts": 32},
    "Qwen3-Coder-30B": {
        "model_type": "qwen3_moe", "hidden_size": 2048, "moe_intermediate_size": 768, "num_hidden_layers": 48,
        "num_attention_heads": 32, "num_key_value_heads": 4, "head_dim": 128, "num_experts": 128,
        "num_experts_per_tok": 8, "vocab_size": 151936,
    },
    "Llama 70B": {
        **_LLAMA, "hidden_size": 8192, "intermediate_size": 28672, "num_hidden_layers": 80, "num_attention_heads": 64,
    },
    "Llama-3-8B": {
        **_LLAMA, "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32,
    },
    "Qwen2.5-7B": {
        "model_type": "qwen2", "hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28,
        "num_attention_heads": 28, "num_key_value_heads": 4, "vocab_size": 152064,
    },
    "gemma-3-4b": {
        "model_type": "gemma3_text", "hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 34,
        "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256, "sliding_window": 1024,
        "vocab_size": 262208,
    },
}  # fmt: skip
LLAMACPP = "ggml-org/llama.cpp, benches/dgx-spark.md"
FACTS = "published benchmark"


@dataclass(frozen=True)
class Row:
    """One published figure. `bits` of the experts (or of everything), of what every token reads, of table and head;
    `depth` tokens before it, `batch` requests at once, `tp` cards, `speed` tokens a second of all of them together.
    With `prompt` the speed is that of reading one.
    """

    model: str
    build: str
    card: str
    engine: str
    speed: float
    bits: tuple[float, float, float]
    depth: int = 0
    batch: int = 1
    tp: int = 1
    prompt: int = 0
    fit: bool = False
    source: str = FACTS


@functools.cache
def model(name: str) -> Shape:
    """Given a row's model, return its shape."""
    return shape(CONFIGS[name], name)


_MXFP4, _Q8, _Q4K, _F16, _QAT = (
    (4.25, 8.5, 8.5),
    (8.5, 8.5, 8.5),
    (4.85, 4.85, 6.56),
    (16.0, 16.0, 16.0),
    (4.5, 4.5, 8.5),
)
_NVFP4 = (4.5, 4.5, 16.0)


_FITTED = ("gpt-oss-20b", "Qwen3-Coder-30B", "gemma-3-4b")  # first, third, fifth of the source


def _spark(name: str, build: str, bits: tuple[float, float, float], figures: dict[int, float]) -> list[Row]:
    """Rows of llama-bench on GB10: {depth: tokens a second}."""
    return [
        Row(name, build, "gb10", "llama.cpp", speed, bits, depth=depth, fit=name in _FITTED, source=LLAMACPP)
        for depth, speed in figures.items()
    ]


def _many(name: str, build: str, bits: tuple[float, float, float], figures: dict[int, tuple[float, ...]]) -> list[Row]:
    """Rows of llama-batched-bench on GB10: {tokens of each prompt: tokens a second of 2, 4, 8, 16, 32 requests}. Each
    is answered with 32 tokens."""
    return [
        Row(
            name, build, "gb10", "llama.cpp", speed, bits, depth=prompt + 16, batch=batch, fit=name in _FITTED,
            source=LLAMACPP,
        )
        for prompt, speeds in figures.items()
        for batch, speed in zip((2, 4, 8, 16, 32), speeds, strict=True)
    ]  # fmt: skip


def _prompt(name: str, build: str, bits: tuple[float, float, float], figures: dict[int, float]) -> list[Row]:
    """Rows of llama-bench on GB10: {depth: tokens a second of a prompt of 2048}."""
    return [
        Row(
            name, build, "gb10", "llama.cpp", speed, bits, depth=depth, prompt=2048, fit=name in _FITTED,
            source=LLAMACPP,
        )
        for depth, speed in figures.items()
    ]  # fmt: skip


ONE_STREAM: tuple[Row, ...] = (
    *_spark("gpt-oss-120b", "MXFP4", _MXFP4, {0: 59.02, 4096: 53.95, 8192: 51.85, 16384: 48.03, 32768: 41.35}),
    *_spark("gpt-oss-20b", "MXFP4", _MXFP4, {0: 84.10, 4096: 77.36, 8192: 74.00, 16384: 68.85, 32768: 59.85}),
    *_spark("Qwen3-Coder-30B", "Q8_0", _Q8, {0: 60.92, 4096: 53.52, 8192: 48.58, 16384: 40.81, 32768: 30.80}),
    *_spark("Qwen2.5-7B", "Q8_0", _Q8, {0: 29.30, 4096: 28.27, 8192: 27.42, 16384: 25.93, 32768: 22.70}),
    *_spark("gemma-3-4b", "Q4_0", _QAT, {0: 78.97, 4096: 68.94, 8192: 67.81, 16384: 64.35, 32768: 58.38}),
    Row("Llama 70B", "NVFP4", "gb10", "vLLM", 4.1, _NVFP4, source="NVIDIA/dgx-spark-playbooks#79"),
    Row("Llama 70B", "q4, taken as q4_K_M", "gb10", "llama.cpp", 4.71, _Q4K),
    Row("gpt-oss-120b", "MXFP4, bytes taken as in GGUF", "gb10", "vLLM", 58.8, _MXFP4),
    Row("gpt-oss-120b", "MXFP4, bytes taken as in GGUF", "gb10", "vLLM", 76.0, _MXFP4, tp=2, fit=True),
    Row("gpt-oss-20b", "MXFP4", "rtx-4090", "llama.cpp", 279.7, _MXFP4, fit=True),
    Row("Llama-3-8B", "F16", "rtx-4090", "llama.cpp", 54.3, _F16, fit=True),
    Row("Llama-3-8B", "F16", "rtx-3090", "llama.cpp", 46.5, _F16),
    Row("gpt-oss-20b", "MXFP4", "m3-ultra-512", "llama.cpp", 115.3, _MXFP4, fit=True),
    Row("Llama 70B", "q4, taken as q4_K_M", "m3-ultra-512", "llama.cpp", 14.08, _Q4K),
    Row("Llama-3-8B", "F16", "h100-pcie", "llama.cpp", 67.8, _F16, fit=True),
)
BATCHES: tuple[Row, ...] = (
    *_many("gpt-oss-120b", "MXFP4", _MXFP4, {
        512: (60.35, 95.08, 146.65, 220.02, 312.56),
        4096: (57.02, 86.83, 128.22, 176.49, 230.99),
        8192: (54.13, 79.74, 114.91, 149.74, 196.60),
    }),
    *_many("gpt-oss-20b", "MXFP4", _MXFP4, {
        512: (95.00, 151.90, 254.09, 400.94, 614.82),
        4096: (87.18, 139.90, 216.70, 310.48, 422.45),
        8192: (82.98, 127.28, 191.33, 262.36, 341.16),
    }),
    *_many("Qwen3-Coder-30B", "Q8_0", _Q8, {
        512: (64.11, 102.01, 154.91, 232.98, 345.01),
        4096: (56.48, 85.69, 119.87, 162.55, 207.80),
        8192: (50.51, 72.59, 96.39, 121.64, 143.06),
    }),
    *_many("Qwen2.5-7B", "Q8_0", _Q8, {
        512: (54.46, 104.33, 195.67, 335.01, 593.27),
        4096: (51.35, 93.86, 163.10, 252.80, 377.05),
        8192: (48.39, 84.71, 138.88, 196.21, 268.20),
    }),
    *_many("gemma-3-4b", "Q4_0", _QAT, {
        512: (126.21, 231.11, 369.93, 550.47, 801.81),
        4096: (112.12, 191.68, 287.46, 389.48, 498.18),
        8192: (101.53, 161.74, 220.10, 275.70, 325.48),
    }),
)  # fmt: skip
PROMPTS: tuple[Row, ...] = (
    *_prompt("gpt-oss-120b", "MXFP4", _MXFP4, {
        0: 1937.54, 4096: 1653.89, 8192: 1580.60, 16384: 1411.42, 32768: 1155.40,
    }),
    *_prompt("gpt-oss-20b", "MXFP4", _MXFP4, {
        0: 3782.76, 4096: 3030.29, 8192: 2852.09, 16384: 2470.31, 32768: 1899.37,
    }),
    *_prompt("Qwen3-Coder-30B", "Q8_0", _Q8, {
        0: 3175.62, 4096: 2704.06, 8192: 2381.88, 16384: 1900.91, 32768: 1292.19,
    }),
    *_prompt("Qwen2.5-7B", "Q8_0", _Q8, {
        0: 2276.28, 4096: 2090.96, 8192: 1913.47, 16384: 1643.88, 32768: 1283.36,
    }),
    *_prompt("gemma-3-4b", "Q4_0", _QAT, {
        0: 5713.05, 4096: 5165.17, 8192: 4885.85, 16384: 4417.88, 32768: 3667.74,
    }),
)  # fmt: skip
