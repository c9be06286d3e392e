"""A folder tells when a file was renamed into it, and one that cannot be watched says nothing."""

from __future__ import annotations

import select
from pathlib import Path

from floor.box import files
from floor.box.changes import Changes
from floor.box.locked import mine


def ready(changes: Changes, seconds: float) -> bool:
    return bool(select.select([changes.descriptor], [], [], seconds)[0])


def test_what_is_written_as_floor_writes_is_told_once(tmp_path: Path) -> None:
    changes = Changes(tmp_path)
    assert not ready(changes, 0)
    files.write(Path("/drains.json"), "{}", owner=mine(), root=tmp_path)
    assert ready(changes, 5)
    changes.take()
    assert not ready(changes, 0)
    files.write(Path("/drains.json"), "{ }", owner=mine(), root=tmp_path)
    assert ready(changes, 5)
    changes.close()
    assert changes.descriptor is None


def test_a_folder_that_is_not_there_is_not_watched(tmp_path: Path) -> None:
    changes = Changes(tmp_path / "nowhere")
    assert changes.descriptor is None
    changes.take()
    changes.close()
