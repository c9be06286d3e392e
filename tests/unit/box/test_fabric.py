"""What a box tells of its fabric and of what it would start: files as the kernel and people have them."""

from __future__ import annotations

import json
from pathlib import Path

from floor.box import build, fabric


def write(root: Path, path: str, text: str) -> None:
    place = root / path.lstrip("/")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)


def test_both_twins_of_a_port_are_told_with_their_interfaces(tmp_path: Path) -> None:
    """GB10: one port of the card shows as two devices, each with an interface of its own."""
    for device, interface, state in (
        ("rocep1s0f1", "enp1s0f1np1", "4: ACTIVE\n"),
        ("roceP2p1s0f1", "enP2p1s0f1np1", "4: ACTIVE\n"),
        ("rocep1s0f0", "enp1s0f0np0", "1: DOWN\n"),
    ):
        write(tmp_path, f"/sys/class/infiniband/{device}/ports/1/state", state)
        write(tmp_path, f"/sys/class/infiniband/{device}/device/net/{interface}/mtu", "9000\n")
    assert fabric.devices(tmp_path) == {
        "roceP2p1s0f1": {"state": "ACTIVE", "interfaces": ["enP2p1s0f1np1"]},
        "rocep1s0f0": {"state": "DOWN", "interfaces": ["enp1s0f0np0"]},
        "rocep1s0f1": {"state": "ACTIVE", "interfaces": ["enp1s0f1np1"]},
    }
    assert fabric.devices(tmp_path / "nothing") == {}


def test_a_link_is_told_as_the_kernel_has_it(tmp_path: Path) -> None:
    write(tmp_path, "/sys/class/net/fab0/operstate", "lowerlayerdown\n")
    write(tmp_path, "/sys/class/net/fab0/mtu", "9000\n")
    told = fabric.link("fab0", tmp_path)
    assert (told["there"], told["up"], told["mtu"], told["addresses"]) == (True, False, 9000, [])
    assert "lo" not in told["others"]


def test_weights_are_told_without_being_read_and_what_lies_beside_them_is_hashed(tmp_path: Path) -> None:
    config = {"text_config": {"num_hidden_layers": 64, "num_attention_heads": 40}, "num_hidden_layers": 2}
    write(tmp_path, "/models/m/config.json", json.dumps(config))
    write(tmp_path, "/models/m/model-1.safetensors", "12345")
    write(tmp_path, "/models/m/.cache/lock", "")
    told = build.weights("/models/m", tmp_path)
    assert told["digest"] is None
    assert told["files"] == {"config.json": len(json.dumps(config)), "model-1.safetensors": 5}
    assert list(told["small"]) == ["config.json"]
    assert told["config"] == {"layers": 64, "heads": 40}
    assert build.weights("/models/none", tmp_path) == {"digest": None, "files": {}, "small": {}, "config": {}}


def test_a_config_that_is_none_says_nothing(tmp_path: Path) -> None:
    for text in ("[]", "{", '{"text_config": 3}', '{"num_hidden_layers": "many"}'):
        write(tmp_path, "/m/config.json", text)
        assert build.weights("/m", tmp_path)["config"] == {}
