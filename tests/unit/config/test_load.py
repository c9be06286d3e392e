"""A file of floor.yaml: read, or refused in one clear line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from floor.config import Loaded, load, parse
from floor.config.load import LARGEST, decode, examine
from floor.errors import ConfigError

GOOD = """\
boxes: {box: {host: 192.0.2.11}}
models:
  flagship:
    source: /models/flagship
    utilization: 0.8
    runtime: {kind: native, command: /opt/vllm/bin/vllm}
    replicas: [box]
proxy: {boxes: [box]}
"""


def _problems(path: Path) -> tuple[str, ...]:
    with pytest.raises(ConfigError) as refusal:
        load(path)
    return refusal.value.problems


def test_a_good_file_is_loaded_with_its_text(tmp_path: Path) -> None:
    path = tmp_path / "floor.yaml"
    path.write_text(GOOD)
    loaded = load(path)
    assert loaded == Loaded(parse(GOOD), GOOD, path, ())
    assert list(loaded.config.boxes) == ["box"]


def test_warnings_do_not_refuse(tmp_path: Path) -> None:
    path = tmp_path / "floor.yaml"
    path.write_text(GOOD.replace("0.8", "0.95"))
    loaded = load(path)
    assert loaded.config.models["flagship"].utilization == 0.95
    [warning] = loaded.warnings
    assert warning.startswith(f"models.flagship.utilization ({path}:5): found 0.95; better write at most 0.9")


def test_problems_name_the_file_as_the_user_did(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("fleet.yaml").write_text(GOOD.replace("0.8", "80"))
    [problem] = _problems(Path("fleet.yaml"))
    assert problem.startswith("models.flagship.utilization (fleet.yaml:5): found 80; write a share")


def test_no_such_file(tmp_path: Path) -> None:
    path = tmp_path / "floor.yaml"
    assert _problems(path) == (f"{path}: found no such file; write one, or let `floor init` do it",)


def test_a_folder(tmp_path: Path) -> None:
    assert _problems(tmp_path) == (f"{tmp_path}: found no plain file; write the name of a floor.yaml",)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    assert _problems(path) == (f"{path}: found no plain file; write the name of a floor.yaml",)


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "floor.yaml"
    path.write_text(GOOD)

    def refuse(*_args: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "open", refuse)
    write = "write its permissions so that you may"
    assert _problems(path) == (f"{path}: found it unreadable (Permission denied); {write}",)


def test_a_file_below_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    [problem] = _problems(tmp_path / "file" / "floor.yaml")
    assert problem.startswith(f"{tmp_path}/file/floor.yaml: found ")


def test_a_huge_file(tmp_path: Path) -> None:
    path = tmp_path / "floor.yaml"
    path.write_text(GOOD + "# " + "x" * LARGEST)
    assert _problems(path) == (f"{path}: found more than 256 KiB; write what floor needs to know",)


def test_an_endless_file_is_not_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "floor.yaml"
    with path.open("wb") as file:
        file.truncate(1 << 40)  # sparse: a terabyte of NUL
    assert _problems(path) == (f"{path}: found more than 256 KiB; write what floor needs to know",)


def test_invalid_utf8_is_told_with_its_line() -> None:
    with pytest.raises(ConfigError, match=r"^f:2: found the byte 0xff; write the file as UTF-8$"):
        decode(b"boxes:\n\xff", "f")


def test_windows_line_ends_are_read() -> None:
    assert parse(GOOD.replace("\n", "\r\n")) == parse(GOOD)


def test_values_come_before_what_lies_between_them() -> None:
    text = GOOD.replace("[box]", "[bax]").replace("0.8", "80")
    with pytest.raises(ConfigError) as refusal:
        examine(text, "f")
    assert len(refusal.value.problems) == 1
    with pytest.raises(ConfigError) as refusal:
        examine(text.replace("80", "0.8"), "f")
    assert [problem.split(" ")[0] for problem in refusal.value.problems] == [
        "models.flagship.replicas[0].box",
        "proxy.boxes[0]",
    ]


def test_a_secret_is_not_repeated() -> None:
    text = GOOD.replace(
        "    utilization", "    env: {HF_TOKEN: 12345, OTHER: 6.5}\n    api_key: hunter2\n    utilization"
    )
    with pytest.raises(ConfigError) as refusal:
        parse(text)
    assert "12345" not in str(refusal.value)
    assert "hunter2" not in str(refusal.value)
    assert len(refusal.value.problems) == 3
