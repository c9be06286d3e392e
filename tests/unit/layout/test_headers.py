"""Weights tell their sizes by their headers: safetensors and GGUF; whatever is damaged is named."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest

from floor.box import headers
from floor.errors import FloorError
from floor.layout import gguf, weights
from floor.layout.architecture import shape
from floor.layout.shape import Attention, Delta, Latent
from tests.unit.layout import disk
from tests.unit.layout.models import config, published

SMALL = {**config("qwen3-coder-30b"), "num_hidden_layers": 2}


def _tensors(layers: int, experts: int) -> dict[str, int]:
    sizes = {
        "model.embed_tokens.weight": 1000,
        "lm_head.weight": 900,
        "model.norm.weight": 1,
        "visual.patch.weight": 70,
    }
    for layer in range(layers):
        sizes |= {f"model.layers.{layer}.self_attn.q_proj.weight": 10, f"model.layers.{layer}.mlp.gate.weight": 2}
        sizes |= {f"model.layers.{layer}.mlp.experts.{e}.up_proj.weight": 5 for e in range(experts)}
    return sizes | {"mtp.fc.weight": 33, "mtp.layers.0.mlp.up_proj.weight": 11}


def test_sizes_of_tensors_are_added_up_over_files_and_experts(tmp_path: Path) -> None:
    found = headers.read(disk.folder(tmp_path / "m", SMALL, _tensors(2, 128)))
    assert found["config"] == SMALL
    assert found["tensors"]["model.layers.1.mlp.experts.*.up_proj.weight"] == 5 * 128
    assert sum(found["tensors"].values()) == sum(_tensors(2, 128).values())


def test_weights_that_a_folder_has_twice_count_once(tmp_path: Path) -> None:
    """Repositories of Mistral's have their weights once more in a file of the maker's own form."""
    sizes = _tensors(2, 128)
    whole = disk.folder(tmp_path / "m", SMALL, sizes)
    disk.safetensors(whole / "consolidated.safetensors", {"layers.0.attention.wq.weight": 10, "output.weight": 900})
    assert sum(headers.read(whole)["tensors"].values()) == sum(sizes.values())
    disk.safetensors(whole / "other.safetensors", {"layers.1.attention.wq.weight": 10})
    names = [f"model-0000{number}-of-00002.safetensors" for number in (1, 2)]
    index = whole / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {f"t{number}": name for number, name in enumerate(names)}}))
    assert sum(headers.read(whole)["tensors"].values()) == sum(sizes.values())
    (whole / names[1]).unlink()
    assert _refused(whole) == (
        f"{whole}: found no {names[1]}, which model.safetensors.index.json names; fetch the weights again"
    )
    index.write_text("[]")  # vLLM takes what is there
    assert headers.read(whole)["tensors"]


def test_weights_know_what_each_tensor_is_part_of(tmp_path: Path) -> None:
    found = headers.read(disk.folder(tmp_path / "m", SMALL, _tensors(2, 128)))
    there = weights.measured(found["tensors"], shape(found["config"]))
    assert there.origin == "measured"
    assert there.dense == (12, 12)
    assert there.experts == (640, 640)
    assert (there.table, there.head, there.drafts, there.beside) == (1000, 900, 44, 71)
    assert there.total == sum(_tensors(2, 128).values())


@pytest.mark.parametrize(
    ("name", "expert"),
    [
        ("model.layers.0.mlp.experts.*.up_proj.weight", True),
        ("model.layers.0.mlp.experts.gate_up_proj_blocks", True),
        ("model.layers.0.block_sparse_moe.experts.*.w1.weight", True),
        ("model.layers.0.block_sparse_moe.input_linear.weight", True),
        ("model.layers.0.block_sparse_moe.router.layer.weight", False),
        ("model.layers.0.mlp.shared_experts.up_proj.weight", False),
        ("blk.0.ffn_up_exps.weight", True),
        ("blk.0.ffn_up_shexp.weight", False),
    ],
)
def test_experts_are_told_from_what_every_token_reads(name: str, expert: bool) -> None:
    there = weights.measured({name: 7, "model.layers.1.mlp.weight": 1}, shape(SMALL))
    assert (there.experts[0], there.dense[0]) == ((7, 0) if expert else (0, 7))


def test_stretches_have_the_whole_between_them() -> None:
    there = weights.computed(published("qwen3.5-122b"), 4.5)
    assert there.stretch(0, 20, drafts=True) + there.stretch(20, 48, drafts=True) == pytest.approx(there.total)
    tied = weights.computed(published("gemma-3-4b"), 4.5)
    assert tied.stretch(0, 10, drafts=False) + tied.stretch(10, 34, drafts=False) == tied.total + tied.table


def test_a_layer_without_weights_is_named() -> None:
    with pytest.raises(FloorError, match="the weights hold nothing of layer 1, of 2; fetch them again"):
        weights.measured({"model.layers.0.mlp.weight": 5}, shape(SMALL))


@pytest.mark.parametrize(("tokens", "share"), [(1, 8 / 128), (16, 1 - (120 / 128) ** 16), (100_000, 1.0)])
def test_a_step_reads_the_experts_that_its_tokens_touch(tokens: int, share: float) -> None:
    model = published("qwen3-coder-30b")
    there = weights.computed(model, 8)
    touched = weights.read_bytes(there, model, tokens) - sum(there.dense) - there.head
    assert touched == pytest.approx(sum(there.experts) * share)


def test_weights_that_are_scaled_keep_their_proportions() -> None:
    there = weights.computed(published("qwen3.5-122b"), 4.5)
    less = weights.scaled(there, there.total / 2)
    assert less.total == pytest.approx(there.total / 2)
    assert less.head == pytest.approx(there.head / 2)


def _refused(source: Path) -> str:
    with pytest.raises(FloorError) as caught:
        headers.read(source)
    return str(caught.value)


def test_what_is_not_there_or_damaged_is_named(tmp_path: Path) -> None:
    assert (
        _refused(tmp_path / "no")
        == f"{tmp_path}/no: found no such folder or file; name the folder that holds the weights"
    )
    (tmp_path / "empty").mkdir()
    assert "found no config.json in it" in _refused(tmp_path / "empty")
    (tmp_path / "empty" / "config.json").write_text("{")
    assert "found no JSON" in _refused(tmp_path / "empty")
    (tmp_path / "empty" / "config.json").write_text("[]")
    assert "found no object; fetch the weights again" in _refused(tmp_path / "empty")
    whole = disk.folder(tmp_path / "m", SMALL, _tensors(2, 4))
    (tmp_path / "empty" / "config.json").write_text("[" * 100_000)
    assert "found no JSON" in _refused(tmp_path / "empty")
    for damage in (
        b"",
        b"\xff" * 20,
        struct.pack("<Q", 9) + b'{"a": {}}',
        struct.pack("<Q", 2) + b"[]",
    ):
        (whole / "model-00001-of-00002.safetensors").write_bytes(damage)
        assert _refused(whole).endswith("found no header of safetensors; fetch the weights again")


MOE: dict[str, Any] = {
    "general.architecture": "qwen3moe",
    "qwen3moe.block_count": 2,
    "qwen3moe.embedding_length": 2048,
    "qwen3moe.feed_forward_length": 5472,
    "qwen3moe.expert_feed_forward_length": 768,
    "qwen3moe.context_length": 262144,
    "qwen3moe.attention.head_count": 32,
    "qwen3moe.attention.head_count_kv": [4, 4],
    "qwen3moe.attention.key_length": 128,
    "qwen3moe.attention.value_length": 128,
    "qwen3moe.expert_count": 128,
    "qwen3moe.expert_used_count": 8,
    "tokenizer.ggml.tokens": [f"w{n}" for n in range(3000)],
    "tokenizer.ggml.scores": list(range(3000)),
    "general.quantized": True,
    "qwen3moe.rope.freq_base": 1e7,
}
TENSORS = {
    "token_embd.weight": ([2048, 151936], 8),
    "output.weight": ([2048, 151936], 8),
    **{f"blk.{n}.attn_q.weight": ([2048, 4096], 8) for n in range(2)},
    **{f"blk.{n}.ffn_up_exps.weight": ([2048, 768, 128], 12) for n in range(2)},
}


def test_a_gguf_file_tells_the_same_as_a_config(tmp_path: Path) -> None:
    found = headers.read(disk.gguf(tmp_path / "m.gguf", MOE, TENSORS))
    assert "tokenizer.ggml.tokens" not in found["config"]
    model = shape(gguf.config(found["config"], "m.gguf"))
    assert [layer.mixer for layer in model.layers] == [Attention(4, 128, 128)] * 2
    assert model.layers[0].expert == published("qwen3-coder-30b").layers[0].expert
    assert (model.embedding, model.tied) == (2048 * 151936, False)
    there = weights.measured(found["tensors"], model)
    assert there.head == there.table == 2048 * 151936 // 32 * 34
    assert there.experts[0] == 2048 * 768 * 128 // 256 * 144


def test_parts_of_a_gguf_model_are_read_together(tmp_path: Path) -> None:
    names = sorted(TENSORS)
    for number, some in enumerate((names[:3], names[3:]), 1):
        values = MOE if number == 1 else {"split.no": 1}
        disk.gguf(tmp_path / f"m-{number:05d}-of-00002.gguf", values, {name: TENSORS[name] for name in some})
    disk.gguf(tmp_path / "other-00001-of-00002.gguf", {}, {"x": ([32], 8)})
    found = headers.read(tmp_path / "m-00001-of-00002.gguf")
    assert set(found["tensors"]) == set(TENSORS)
    assert found["config"]["general.architecture"] == "qwen3moe"


def test_the_table_of_the_output_is_found_behind_a_thousand_tensors_and_in_a_later_part(tmp_path: Path) -> None:
    many = {**TENSORS, **{f"blk.{n % 2}.part-{n}.weight": ([32], 8) for n in range(1100)}}
    for number, some in enumerate((["token_embd.weight"], [name for name in many if name != "token_embd.weight"]), 1):
        disk.gguf(tmp_path / f"m-{number:05d}-of-00002.gguf", MOE, {name: many[name] for name in some})
    found = headers.read(tmp_path / "m-00001-of-00002.gguf")
    assert not shape(gguf.config(found["config"], "m")).tied
    tied = headers.read(disk.gguf(tmp_path / "t.gguf", MOE, {k: v for k, v in many.items() if k != "output.weight"}))
    assert shape(gguf.config(tied["config"], "t")).tied


def test_latent_attention_and_delta_nets_are_read_from_gguf() -> None:
    latent = {f"deepseek2.{key}": value for key, value in {
        "block_count": 62, "nextn_predict_layers": 1, "embedding_length": 7168, "feed_forward_length": 18432,
        "attention.head_count": 128, "attention.head_count_kv": 1, "attention.key_length": 576,
        "attention.value_length": 512, "attention.key_length_mla": 192, "attention.value_length_mla": 128,
        "attention.kv_lora_rank": 512, "attention.q_lora_rank": 1536, "rope.dimension_count": 64, "expert_count": 256,
        "expert_used_count": 8, "expert_feed_forward_length": 2048, "expert_shared_count": 1,
        "leading_dense_block_count": 3, "context_length": 163840,
    }.items()}  # fmt: skip
    table = {
        "general.architecture": "deepseek2",
        "floor.vocabulary": 129280,
        "floor.head": True,
        **latent,
    }
    model = shape(gguf.config(table, "m"))
    assert model.parameters == published("deepseek-v3").parameters
    assert {layer.mixer for layer in model.layers} == {Latent(512, 64)}
    delta = {f"qwen35moe.{key}": value for key, value in {
        "block_count": 48, "embedding_length": 3072, "attention.head_count": 32, "attention.head_count_kv": [0, 2] * 24,
        "attention.key_length": 256, "attention.value_length": 256, "expert_count": 256, "expert_used_count": 8,
        "expert_feed_forward_length": 1024, "expert_shared_feed_forward_length": 1024, "ssm.conv_kernel": 4,
        "ssm.state_size": 128, "ssm.group_count": 16, "ssm.time_step_rank": 64, "ssm.inner_size": 8192,
    }.items()}  # fmt: skip
    model = shape(gguf.config({"general.architecture": "qwen35moe", "floor.vocabulary": 248320, **delta}, "m"))
    assert {layer.mixer for layer in model.layers} == {Attention(2, 256, 256), Delta(16, 64, 128, 128, 4)}


@pytest.mark.parametrize("gone", ["ssm.time_step_rank", "ssm.group_count", "ssm.inner_size", "block_count"])
def test_a_table_of_a_gguf_with_a_gap_is_named(gone: str) -> None:
    names = (
        "block_count",
        "ssm.state_size",
        "ssm.time_step_rank",
        "ssm.inner_size",
        "ssm.group_count",
        "ssm.conv_kernel",
    )
    table = {f"qwen35.{name}": 4096 for name in names if name != gone} | {"qwen35.nextn_predict_layers": 1}
    with pytest.raises(FloorError, match=f"m: found none of {gone}"):
        gguf.config({"general.architecture": "qwen35", **table}, "m")


def test_a_gguf_that_is_not_known_or_damaged_is_named(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    whole = disk.gguf(path, MOE, TENSORS).read_bytes()
    for damage, says in (
        (b"GGML" + whole[4:], "found no GGUF file; name the first .gguf file of the model"),
        (whole[:-4], "the file ends within its header; fetch it again"),
        (b"GGUF" + struct.pack("<I", 9) + whole[8:], "found version 9 of GGUF; 2 and 3 are known"),
        (b"GGUF" + struct.pack("<IQ", 3, 1 << 60) + whole[16:], "in its header; fetch it again"),
    ):
        path.write_bytes(damage)
        assert says in _refused(path)
    disk.gguf(path, MOE, {"x": ([32], 99)})
    assert "found tensor x of type 99, which is not known" in _refused(path)
    with pytest.raises(FloorError, match=r"m: found architecture 'sorcery', which is not known"):
        gguf.config({"general.architecture": "sorcery"}, "m")
    with pytest.raises(FloorError, match=r"found attention.head_count_kv that differs between layers"):
        gguf.config({**MOE, "qwen3moe.attention.head_count_kv": [4, 8]}, "m")


def test_what_headers_tell_is_json(tmp_path: Path) -> None:
    found = headers.read(disk.gguf(tmp_path / "m.gguf", MOE, TENSORS))
    assert json.loads(json.dumps(found)) == found
