"""floor's own wheel: whatever is running, as one file that pip takes, the same bytes every time."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

from floor.apply import own_wheel
from floor.errors import FloorError


@pytest.fixture(scope="module")
def archive() -> zipfile.ZipFile:
    name, data = own_wheel.build(own_wheel.contents(own_wheel.package()))
    assert name == f"factory_floor-{metadata.version('factory-floor')}-py3-none-any.whl"
    return zipfile.ZipFile(io.BytesIO(data))


@pytest.mark.parametrize(
    "path",
    [
        "floor/__init__.py",
        "floor/py.typed",
        "floor/healthcheck/__init__.py",
        "floor/healthcheck/dialects/vllm.py",
        "floor/tooltest/__init__.py",
        "floor/watchdog/__init__.py",
        "floor/templates/nginx/members.conf.j2",
        "floor/agent/calls/observe.py",
    ],
)
def test_links_are_followed_and_data_is_there(archive: zipfile.ZipFile, path: str) -> None:
    assert path in archive.namelist()


def test_everything_lies_below_floor_and_nothing_at_top_level(archive: zipfile.ZipFile) -> None:
    """At top level `watchdog` and `healthcheck` would overwrite well-known packages of those names."""
    assert {name.split("/")[0] for name in archive.namelist()} == {"floor", "factory_floor-0.1.0.dist-info"}


def test_nothing_that_was_compiled_or_left_by_an_editor_is_in_it(tmp_path: Path) -> None:
    for name in ("a.py", "a.pyc", "b.py~", ".hidden", "__pycache__/a.cpython-311.pyc", "sub/.git/x", "sub/ok.j2"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    assert own_wheel.contents(tmp_path) == {"floor/a.py": b"a.py", "floor/sub/ok.j2": b"sub/ok.j2"}


def test_the_record_holds_every_file_with_its_digest(archive: zipfile.ZipFile) -> None:
    (name,) = (path for path in archive.namelist() if path.endswith("/RECORD"))
    rows = {row[0]: row[1:] for row in csv.reader(io.StringIO(archive.read(name).decode()))}
    assert set(rows) == set(archive.namelist())
    assert rows.pop(name) == ["", ""]
    for path, (digest, size) in rows.items():
        data = archive.read(path)
        encoded = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        assert (digest, size) == (f"sha256={encoded}", str(len(data)))


def test_the_metadata_is_the_installed_ones_and_the_command_is_there(archive: zipfile.ZipFile) -> None:
    about = archive.read("factory_floor-0.1.0.dist-info/METADATA").decode()
    assert about.startswith("Metadata-Version:")
    assert "Requires-Dist: httpx" in about
    assert "floor = floor.__main__:main" in archive.read("factory_floor-0.1.0.dist-info/entry_points.txt").decode()


def test_the_same_files_give_the_same_bytes() -> None:
    files = {"floor/b.py": b"b", "floor/a.py": b"a"}
    assert own_wheel.build(files) == own_wheel.build(dict(files))


def test_files_that_nobody_installed_have_no_metadata_and_it_is_said_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(own_wheel, "DISTRIBUTION", "no-such-distribution")
    with pytest.raises(
        FloorError, match=r"is not installed here, its files are only on the path; run `pip install -e .`"
    ):
        own_wheel.build({})
