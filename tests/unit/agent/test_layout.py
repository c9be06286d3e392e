"""What a box tells for a layout: memory, cards, headers of weights; a source that is not there is told as such."""

from __future__ import annotations

from floor.box import starts
from tests.unit.layout import disk
from tests.unit.layout.models import config

from .conftest import Box


def test_headers_are_read_and_what_is_missing_is_told(box: Box) -> None:
    small = {**config("qwen3-embedding-0.6b"), "num_hidden_layers": 1}
    disk.folder(box.root / "models" / "small", small, {"model.layers.0.mlp.up_proj.weight": 40})
    starts.started("flagship@spark-a", launch="d", seconds=400, warm=21, at=1, root=box.root)
    found = box.call("layout.look", sources=["/models/small", "/models/other"])
    assert set(found) == {"memory", "gpus", "sources", "starts", "others", "logged", "calibrated"}
    assert set(found["memory"]) == {"total", "available"}
    assert found["gpus"] == []
    assert (found["others"], found["logged"]) == (None, {})
    assert found["starts"] == {"flagship@spark-a": 421.0}
    there = found["sources"]["/models/small"]
    assert (there["config"], there["tensors"]) == (small, {"model.layers.0.mlp.up_proj.weight": 40})
    assert "found no such folder or file" in found["sources"]["/models/other"]["error"]
