"""What `floor init` finds on a machine: its answers are read as they are, and what is silent is left out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from floor.box.command import Result
from floor.config.init import Gpu
from floor.operations import init_probe

DIGEST = f"sha256:{'b' * 64}"
DOCKER = f"""\
registry.example/vllm v0.11.0 {DIGEST}
vllm-gb10 latest <none>
vllm-build <none> <none>
<none> <none> {DIGEST}
postgres 16 {DIGEST}
a line of another kind altogether
"""


class Asked:
    """Answers of programs by the first word of their argv; whatever else is asked for is not installed."""

    def __init__(self, **answers: str) -> None:
        self.answers = answers

    def __call__(self, argv: Sequence[str]) -> Result:
        answer = self.answers.get(argv[0].replace("-", "_"))
        return Result(None, "", "not installed") if answer is None else Result(0, answer, "")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "proc" / "net").mkdir(parents=True)
    (tmp_path / "proc" / "meminfo").write_text("MemTotal: 127611904 kB\nMemFree: 5 kB\nMemAvailable: 104544256 kB\n")
    (tmp_path / "proc" / "net" / "route").write_text(
        "Iface\tDestination\tGateway\neth1\t0000FEA9\t00000000\neth0\t00000000\t010200C0\n"
    )
    for folder in ("models/flagship", "models/other", "srv/models/org/deep", "models/empty"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "config.json").write_text("{}")
    for weights in ("models/flagship/a.safetensors", "srv/models/org/deep/b.safetensors"):
        (tmp_path / weights).write_text("")
    (tmp_path / "opt" / "vllm" / "bin").mkdir(parents=True)
    (tmp_path / "opt" / "vllm" / "bin" / "vllm").write_text("")
    return tmp_path


def test_a_gb10_as_it_answers(root: Path) -> None:
    ask = Asked(nvidia_smi="NVIDIA GB10, [N/A], [N/A], 580.95\n", docker=DOCKER)
    facts = init_probe.probe(ask, root)
    assert facts.gpus == (Gpu("NVIDIA GB10", None),)
    assert facts.unified
    assert (facts.memory_total, facts.memory_available) == (127611904 * 1024, 104544256 * 1024)
    assert facts.images == (f"registry.example/vllm@{DIGEST}", "vllm-gb10:latest")
    assert facts.programs == ("/opt/vllm/bin/vllm",)
    assert facts.models == ("/models/flagship", "/srv/models/org/deep")


def test_a_machine_without_gpu_and_docker(root: Path) -> None:
    facts = init_probe.probe(Asked(), root)
    assert (facts.gpus, facts.images, facts.unified) == ((), (), False)


def test_a_card_with_memory_of_its_own(root: Path) -> None:
    facts = init_probe.probe(Asked(nvidia_smi="NVIDIA L40S, 46068, 0, 580.95\n"), root)
    assert facts.gpus == (Gpu("NVIDIA L40S", 46068 * 1024 * 1024),)
    assert not facts.unified


def test_an_empty_machine(tmp_path: Path) -> None:
    facts = init_probe.probe(Asked(), tmp_path)
    assert (facts.memory_total, facts.memory_available, facts.programs, facts.models) == (None, None, (), ())
    assert init_probe.gateway(tmp_path) is None


def test_a_program_that_hangs_counts_as_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(init_probe, "_PATIENCE", 0.05)
    answer = init_probe.patiently(["sleep", "5"])
    assert not answer.ok
    assert "gave no answer" in answer.err


def test_the_address_that_others_use_comes_first(root: Path) -> None:
    found = {
        "lo": ["127.0.0.1", "::1"],
        "docker0": ["172.17.0.1"],
        "br-1a2b": ["172.18.0.1"],
        "eth1": ["198.51.100.1", "fe80::1"],
        "eth0": ["fd00::11", "192.0.2.11"],
        "tun0": ["169.254.1.1"],
    }
    assert init_probe.addresses(found, init_probe.gateway(root)) == ["192.0.2.11", "fd00::11", "198.51.100.1"]
    assert init_probe.addresses(found, None)[0] == "192.0.2.11"


def test_this_machine_has_interfaces() -> None:
    assert "127.0.0.1" in init_probe.interfaces()["lo"]


def test_docker_that_fails_shows_no_images() -> None:
    assert list(init_probe.images(lambda _: Result(1, "registry.example/vllm v1 <none>", "no daemon"))) == []
