"""`floor init --adopt` writes a file of what runs on machines that `floor check` accepts, or says what is left."""

from __future__ import annotations

from pathlib import Path

import pytest

from floor.config.adopt.write import Look
from floor.config.load import load
from floor.errors import BoxError, FloorError, RefusedError
from floor.operations.adopt import adopt
from tests.unit.config.test_adopt import OFFICIAL, box, container


def see(destination: str) -> Look:
    address = f"192.0.2.{11 + (destination[-1] == 'b')}"
    look = box(
        destination.rpartition("@")[2], address=address, containers=[container(OFFICIAL, 2, hidden=["--api-key"])]
    )
    return Look(destination, look.told)


def test_it_writes_what_runs_on_every_machine_given(tmp_path: Path) -> None:
    path = tmp_path / "floor.yaml"
    written = adopt(path, ["ops@spark-a", "ops@spark-b", "ops@spark-a"], force=False, see=see)
    assert [copy.backend for copy in load(path).config.copies("flagship")] == ["flagship@spark-a", "flagship@spark-b"]
    assert written.next.startswith(f"wrote {path} from 2 running engines; look it over, then: floor check")
    assert written.lost[0].startswith("spark-a, container vllm-main: --api-key is a secret and was left out")


def test_this_machine_is_looked_at_by_default(tmp_path: Path) -> None:
    asked: list[str] = []

    def look(destination: str) -> Look:
        asked.append(destination)
        return see(destination)

    adopt(tmp_path / "floor.yaml", [], force=False, see=look)
    assert asked == ["local"]


def test_what_floor_check_would_say_is_said_at_once(tmp_path: Path) -> None:
    def look(destination: str) -> Look:
        return box("a", containers=[container(["vllm", "serve", "org/name"], 2)])

    written = adopt(tmp_path / "floor.yaml", [], force=False, see=look)
    assert "models.name.source" in written.lost[-1]


def test_a_file_that_is_there_stays(tmp_path: Path) -> None:
    (tmp_path / "floor.yaml").write_text("mine")
    with pytest.raises(RefusedError, match=r"is there already; write another one \(--config OTHER\.yaml\), or add"):
        adopt(tmp_path / "floor.yaml", [], force=False, see=see)
    assert (tmp_path / "floor.yaml").read_text() == "mine"


def test_nothing_is_written_where_no_engine_runs(tmp_path: Path) -> None:
    with pytest.raises(
        FloorError, match=r"no vLLM, llama\.cpp or Ollama runs on local; start from `floor init` instead"
    ):
        adopt(tmp_path / "floor.yaml", [], force=False, see=lambda one: box(one))
    assert not (tmp_path / "floor.yaml").exists()


def test_a_machine_that_cannot_be_looked_at_is_told(tmp_path: Path) -> None:
    def look(destination: str) -> Look:
        raise BoxError(f"{destination}: has no python3")

    with pytest.raises(BoxError, match="ops@x: has no python3"):
        adopt(tmp_path / "floor.yaml", ["ops@x"], force=False, see=look)
