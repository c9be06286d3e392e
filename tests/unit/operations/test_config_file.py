"""floor.yaml around a swap: written whole, kept beside itself, put back."""

from __future__ import annotations

from pathlib import Path

import pytest

from floor.operations import config_file


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "floor.yaml"
    path.write_text("old # mine\n")
    path.chmod(0o640)
    return path


def test_edited_and_kept(file: Path) -> None:
    config_file.replace(file, "old # mine\n", "new\n")
    assert (file.read_text(), config_file.before(file)) == ("new\n", "old # mine\n")
    assert file.stat().st_mode & 0o777 == 0o640
    config_file.keep(file)
    assert (file.read_text(), config_file.before(file)) == ("new\n", None)
    assert [path.name for path in file.parent.iterdir()] == ["floor.yaml"]


def test_edited_and_put_back(file: Path) -> None:
    config_file.replace(file, "old # mine\n", "new\n")
    assert config_file.restore(file, "new\n") == f"{file} is as it was before the swap"
    assert (file.read_text(), config_file.before(file)) == ("old # mine\n", None)


def test_what_somebody_edited_since_is_left_alone(file: Path) -> None:
    config_file.replace(file, "old # mine\n", "new\n")
    file.write_text("newer\n")
    told = f"{file} was edited since and is left as it is; what it was before the swap is in {file}.before-swap"
    assert config_file.restore(file, "new\n") == told
    assert file.read_text() == "newer\n"


def test_what_an_older_swap_left_does_not_come_back_over_what_a_person_wrote(file: Path) -> None:
    """It was killed, and the change taken out by hand; weeks later another build is written in, and blocked."""
    config_file.replace(file, "old # mine\n", "new\n")
    file.write_text("by hand\n")
    config_file.replace(file, "by hand\n", "by hand\n")
    assert config_file.restore(file, "by hand\n") == ""
    assert file.read_text() == "by hand\n"


def test_a_swap_that_edits_nothing_keeps_nothing(file: Path) -> None:
    config_file.replace(file, "same\n", "same\n")
    assert config_file.before(file) is None
    assert config_file.restore(file, "same\n") == ""
