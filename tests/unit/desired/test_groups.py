"""What each box of a split model holds: its part, who watches over it, and who may ask it."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

from floor.config import parse
from floor.desired.build import build
from floor.desired.state import MODES, BoxFacts, BoxState, Kind
from floor.errors import ConfigError
from tests.unit.desired import unitfile
from tests.unit.desired.example import ADDRESSES, FABRIC, FILE, make
from tests.unit.render import systemd_reader

UNIT = "floor-group-flagship.service"
TEXT = "    replicas: [spark-a, {box: spark-b, utilization: 0.74, weight: 3}, mac]\n"
DEVICES = ("fab0, address: 198.51.100.1", "fab0, hca: [rocep1s0f1, roceP2p1s0f1], address: 198.51.100.1")
NATIVE = "runtime: {kind: native, command: /opt/vllm/bin/vllm}"


def split(words: str, *more: tuple[str, str]) -> dict[str, BoxState]:
    """The states of both boxes with a split of the first model; every other box is left as it was."""
    words += "" if "utilization" in words else ", utilization: 0.8"
    return make((TEXT, f"{TEXT}    split: {{boxes: [spark-a, spark-b], {words}}}\n"), *FABRIC, *more)


def argv(states: dict[str, BoxState], box: str) -> list[str]:
    return systemd_reader.command_line(unitfile.read(states[box], UNIT).one("Service", "ExecStart"))


def test_the_pool_of_each_mode_knows_who_answers_in_it_and_all_parts() -> None:
    text = FILE.replace(TEXT, f"{TEXT}    split: {{boxes: [spark-b, spark-a], tensor_parallel: 2, utilization: 0.8}}\n")
    for old, new in FABRIC:
        text = text.replace(old, new)
    facts = {name: BoxFacts(address) for name, address in ADDRESSES.items()}
    found = {mode: build(parse(text), mode, facts, "r")["spark-a"].file("/etc/floor/pool.json") for mode in MODES}
    by_mode = {mode: json.loads(file.text)["pools"][0]["backends"] for mode, file in found.items() if file}
    names = {mode: [one["name"] for one in backends] for mode, backends in by_mode.items()}
    assert names["replicas"] == ["flagship@spark-a", "flagship@spark-b", "flagship@mac"]
    assert set(names["split"]) == {"flagship@spark-b+spark-a", "flagship@mac"}
    group = next(one for one in by_mode["split"] if "parts" in one)
    assert (group["url"], group["unit"], group["status_url"]) == (
        "http://192.0.2.12:8000",
        UNIT,
        "http://192.0.2.12:9000/status",
    )
    assert group["parts"] == [
        {"box": "spark-b", "unit": UNIT, "status_url": "http://192.0.2.12:9000/status"},
        {"box": "spark-a", "unit": UNIT, "status_url": "http://192.0.2.11:8099/status"},
    ]
    assert not any("parts" in one for one in by_mode["replicas"])


def flags(words: list[str]) -> dict[str, str]:
    return {word: after for word, after in pairwise(words) if word.startswith("--")}


def env(states: dict[str, BoxState], box: str) -> dict[str, str]:
    """The variables of a part: the unit's own, or those that its container is given."""
    lines = unitfile.read(states[box], UNIT)["Service", "Environment"]
    given = [after for word, after in pairwise(argv(states, box)) if word == "--env"]
    both = [*(systemd_reader.assignment(line) for line in lines), *given]
    return dict(word.split("=", 1) for word in both if "=" in word)


def test_each_box_has_a_part_and_who_watches_over_it() -> None:
    states = split("tensor_parallel: 2")
    for state in states.values():
        unit = next(unit for unit in state.units if unit.kind is Kind.GROUP)
        assert (unit.name, unit.backend, unit.modes) == (UNIT, "flagship@spark-a+spark-b", ("split",))
        assert next(unit for unit in state.units if unit.kind is Kind.GROUPS).name == "floor-group.service"
        mode, held = unitfile.read(state, UNIT)["Service", "ExecCondition"]
        assert mode == "/usr/bin/grep -qx split /etc/floor/mode"
        assert held.endswith(f"floor.guard.admit {UNIT} --held")


def test_the_head_answers_and_the_worker_has_no_port() -> None:
    states = split(f"tensor_parallel: 2, {NATIVE}")
    head, worker = argv(states, "spark-a"), argv(states, "spark-b")
    common = {
        "--nnodes": "2",
        "--master-addr": "198.51.100.1",
        "--master-port": "29501",
        "--tensor-parallel-size": "2",
        "--pipeline-parallel-size": "1",
        "--max-model-len": "262144",
    }
    assert common.items() <= flags(head).items()
    assert common.items() <= flags(worker).items()
    assert (flags(head)["--node-rank"], flags(worker)["--node-rank"]) == ("0", "1")
    assert (flags(head)["--host"], flags(head)["--port"]) == ("192.0.2.11", "8000")
    assert "--headless" not in head
    assert "--headless" in worker
    assert not {"--host", "--port"} & set(worker)


def test_stretches_of_another_length_each() -> None:
    states = split(f"pipeline: [40, 24], {NATIVE}")
    for box in states:
        assert env(states, box)["VLLM_PP_LAYER_PARTITION"] == "40,24"
        assert flags(argv(states, box))["--pipeline-parallel-size"] == "2"
    assert "VLLM_PP_LAYER_PARTITION" not in env(split(f"tensor_parallel: 2, {NATIVE}"), "spark-a")


@pytest.mark.parametrize("runtime", [NATIVE, "tensor_parallel: 2"], ids=["native", "docker"])
def test_ranks_meet_over_the_fabric(runtime: str) -> None:
    words = ", ".join(dict.fromkeys(("tensor_parallel: 2", runtime)))
    states = split(words, DEVICES, ("fab0, address: 198.51.100.2", "enp1, address: 198.51.100.2"))
    names = ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME", "UCX_NET_DEVICES")
    for box, interface, address in (("spark-a", "fab0", "198.51.100.1"), ("spark-b", "enp1", "198.51.100.2")):
        found = env(states, box)
        assert {found[name] for name in names} == {interface}
        assert (found["VLLM_HOST_IP"], found["NCCL_IGNORE_CPU_AFFINITY"]) == (address, "1")
    assert env(states, "spark-a")["NCCL_IB_HCA"] == "rocep1s0f1,roceP2p1s0f1"
    assert "NCCL_IB_HCA" not in env(states, "spark-b")


def test_a_container_sees_the_devices_of_the_fabric_where_there_are_any() -> None:
    states = split("tensor_parallel: 2", DEVICES)
    assert flags(argv(states, "spark-a"))["--device"] == "/dev/infiniband"
    assert flags(argv(states, "spark-a"))["--name"] == "floor-group-flagship"
    assert "--device" not in argv(states, "spark-b")


def test_what_the_split_says_counts_for_its_parts_alone() -> None:
    words = "tensor_parallel: 2, context: 500000, max_requests: 3, kv_cache: bf16, utilization: 0.8, "
    states = split(f"{words} args: {{chat-template: null}}, env: {{NCCL_DEBUG: INFO}}, {NATIVE}")
    found = flags(argv(states, "spark-b"))
    assert (found["--max-model-len"], found["--max-num-seqs"], found["--kv-cache-dtype"]) == ("500000", "3", "bf16")
    assert found["--gpu-memory-utilization"] == "0.8"
    assert "--chat-template" not in found
    assert env(states, "spark-b")["NCCL_DEBUG"] == "INFO"
    copy = unitfile.read(states["spark-b"], "floor-copy-flagship.service").one("Service", "ExecStart")
    assert "--max-model-len 262144" in copy
    assert "--chat-template" in copy


def test_a_start_is_held_after_all_that_it_needs_and_right_before_the_rank() -> None:
    for box, state in split("tensor_parallel: 2").items():
        found = unitfile.read(state, UNIT)
        gate = "+/opt/floor/current/bin/python -I -m floor.agent.gate flagship"
        assert found["Service", "ExecStartPre"][-1] == gate
        assert found["Service", "ExecStartPre"][-2].endswith(f"floor.guard.admit {UNIT}")
        assert found["Service", "ExecStartPre"][-3] == "-/usr/bin/docker rm -f floor-group-flagship"
        assert found.one("Service", "NotifyAccess") == "exec"  # the gate asks for more time
        warm = "+/opt/floor/current/bin/python -I -m floor.agent.warm /etc/floor/groups/flagship.json"
        assert found.get(("Service", "ExecStartPost")) == ([warm] if box == "spark-a" else None)
        assert found["Service", "ExecStop"][0].startswith(
            "-+/opt/floor/current/bin/python -I -m floor.agent.leave floor-group-flagship.service "
            "/etc/floor/groups/flagship.json"
        )
        assert found.one("Service", "Restart") == "always"  # real ranks end with 0 when another one is gone


def test_every_part_is_told_of_the_head() -> None:
    for state in split("tensor_parallel: 2").values():
        file = state.file("/etc/floor/groups/flagship.json")
        assert file is not None
        found = json.loads(file.text)
        assert (found["backend"], found["url"]) == ("flagship@spark-a+spark-b", "http://192.0.2.11:8000")


def test_parts_ask_each_other_over_the_fabric() -> None:
    states = split(f"tensor_parallel: 2, {NATIVE}")
    for box, part, other, port, address in (
        ("spark-a", "head", "spark-b", 9000, "198.51.100.2"),
        ("spark-b", "worker", "spark-a", 8099, "198.51.100.1"),
    ):
        file = states[box].file("/etc/floor/group.json")
        assert file is not None
        (group,) = json.loads(file.text)["groups"]
        assert group == {
            "model": "flagship",
            "part": part,
            "unit": UNIT,
            "container": None,
            "others": [{"box": other, "status_url": f"http://{address}:{port}/status"}],
        }


def test_the_status_port_answers_on_the_fabric_too() -> None:
    states = split("tensor_parallel: 2")
    for box, part, address in (("spark-a", "head", "198.51.100.1"), ("spark-b", "worker", "198.51.100.2")):
        file = states[box].file("/etc/floor/agent.json")
        assert file is not None
        found = json.loads(file.text)
        assert found["fabric"] == address
        assert found["groups"] == [{"model": "flagship", "part": part, "unit": UNIT}]
        assert UNIT in found["units"]


def test_a_fabric_that_is_the_only_network_is_no_second_address() -> None:
    same = ("address: 198.51.100.1", "address: 192.0.2.11")
    file = split("tensor_parallel: 2", same)["spark-a"].file("/etc/floor/agent.json")
    assert file is not None
    assert "fabric" not in json.loads(file.text)


def test_the_firewall_lets_parts_ask_each_other() -> None:
    rules = {
        box: file.text
        for box, state in split("tensor_parallel: 2").items()
        if (file := state.file("/etc/floor/firewall.nft"))
    }

    def admitted(box: str, chain: str) -> str:
        return rules[box].partition(f"chain {chain} {{")[2].partition("}\n    }")[0].partition("\n    }")[0]

    assert "198.51.100.2" in admitted("spark-a", "status")
    assert "198.51.100.1" in admitted("spark-b", "status")
    assert "192.0.2.12" in admitted("spark-a", "engines")  # a worker that leaves asks whether the head is idle
    assert "192.0.2.12" not in admitted("spark-b", "engines")


def test_without_a_split_nothing_is_there_and_nothing_else_is_another() -> None:
    states = make()
    for state in states.values():
        assert not {Kind.GROUP, Kind.GROUPS} & {unit.kind for unit in state.units}
        assert not [file.path for file in state.files if "group" in file.path]
        file = state.file("/etc/floor/agent.json")
        assert file is not None
        assert not {"groups", "fabric"} & set(json.loads(file.text))


def test_a_copy_is_started_as_it_was_without_the_split() -> None:
    name = "floor-copy-flagship.service"
    before, after = make(*FABRIC), split("tensor_parallel: 2")
    for box in before:
        (was,) = (unit for unit in before[box].units if unit.name == name)
        (now,) = (unit for unit in after[box].units if unit.name == name)
        assert was.launch.digest == now.launch.digest


def test_a_group_that_cannot_be_written_down_is_named() -> None:
    with pytest.raises(ConfigError, match=r"flagship@spark-a\+spark-b: a unit file has no place for the end of a line"):
        split(f'tensor_parallel: 2, env: {{ODD: "a\\nb"}}, {NATIVE}')


def test_the_example_is_what_it_is_taken_for() -> None:
    assert TEXT in FILE
