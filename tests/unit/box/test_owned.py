"""floor writes only where it owns everything, and follows nobody's link on the way."""

from __future__ import annotations

from pathlib import Path

import pytest

from floor.box import files, owned
from floor.errors import FloorError, RefusedError

GOOD = [
    "/etc/floor/mode",
    "/etc/floor/nginx/http/upstreams.conf",
    "/etc/systemd/system/floor.target",
    "/etc/systemd/system/floor-copy-flagship.service",
    "/etc/systemd/system/floor-copy-flagship.service.d/10-local.conf",
    "/etc/needrestart/conf.d/floor.conf",
    "/var/lib/floor/floor.yaml",
    "/run/floor/nginx/members.conf",
]
FOREIGN = [
    "/etc/passwd",
    "/etc/floor",
    "/etc/floorplan",
    "/etc/floorboards/x",
    "/etc/systemd/system/nginx.service",
    "/etc/systemd/system/multi-user.target.wants/floor.target",
    "/etc/needrestart/conf.d/other.conf",
    "/var/lib/floor",
    "/opt/floor/current",
    "/etc/sudoers.d/zz-floor-ops",
    "/root/.ssh/authorized_keys",
    "//etc/floor/mode",
]
ODD = [
    "/etc/floor/../passwd",
    "/etc/floor/./mode",
    "/etc/floor//mode",
    "/etc/floor/mode/",
    "etc/floor/mode",
    "",
    "/etc/floor/a\0b",
]
KEPT = ["/etc/floor/secrets/engine.key", "/var/lib/floor/operation.json", "/var/lib/floor/lock", "/var/lib/floor/work"]


@pytest.mark.parametrize("path", GOOD)
def test_what_is_floors_may_be_written(path: str) -> None:
    assert owned.check(path) == Path(path)


@pytest.mark.parametrize("path", FOREIGN)
def test_what_is_not_floors_is_refused_with_what_is(path: str) -> None:
    with pytest.raises(RefusedError, match=r"not floor's; floor writes only below /etc/floor, /var/lib/floor"):
        owned.check(path)


@pytest.mark.parametrize("path", ODD)
def test_a_path_that_is_not_plain_is_refused(path: str) -> None:
    with pytest.raises(RefusedError, match="not a plain absolute path"):
        owned.check(path)


@pytest.mark.parametrize("path", KEPT)
def test_keys_and_the_operation_record_are_not_written_as_files(path: str) -> None:
    with pytest.raises(RefusedError, match="is written by its own call only"):
        owned.check(path)


def test_a_link_in_place_of_a_folder_is_refused_and_its_target_stays_as_it_was(root: Path, me: str) -> None:
    target = root / "elsewhere"
    target.mkdir()
    (root / "etc").mkdir()
    (root / "etc/floor").symlink_to(target)
    with pytest.raises(RefusedError, match=r"/etc/floor: is a link or a file where a folder must be"):
        files.write(Path("/etc/floor/mode"), "replicas\n", owner=me, root=root)
    assert list(target.iterdir()) == []


def test_a_link_deeper_down_is_refused_when_removing(root: Path) -> None:
    target = root / "elsewhere"
    target.mkdir()
    (target / "x.json").write_text("{}")
    (root / "etc/floor").mkdir(parents=True)
    (root / "etc/floor/engines").symlink_to(target)
    with pytest.raises(RefusedError, match=r"/etc/floor/engines: is a link"):
        files.remove(["/etc/floor/engines/x.json"], lambda: 0.0, root)
    assert (target / "x.json").exists()


def test_a_file_in_place_of_a_folder_is_refused(root: Path, me: str) -> None:
    (root / "etc").mkdir()
    (root / "etc/floor").write_text("")
    with pytest.raises(RefusedError, match="a link or a file where a folder must be"):
        files.write(Path("/etc/floor/mode"), "x", owner=me, root=root)


def test_a_link_at_the_very_place_is_replaced_not_followed(root: Path, me: str) -> None:
    """A masked unit is such a link: writing the unit must not write into /dev/null."""
    folder = root / "etc/systemd/system"
    folder.mkdir(parents=True)
    other = root / "precious"
    other.write_text("keep")
    (folder / "floor-pool.service").symlink_to(other)
    files.write(Path("/etc/systemd/system/floor-pool.service"), "[Unit]\n", owner=me, root=root)
    assert other.read_text() == "keep"
    assert (folder / "floor-pool.service").read_text() == "[Unit]\n"
    assert not (folder / "floor-pool.service").is_symlink()


def test_a_folder_that_may_not_be_opened_is_named(monkeypatch: pytest.MonkeyPatch, root: Path, me: str) -> None:
    real = owned.os.open

    def refuse(path: object, *words: object, **more: object) -> int:
        if path == "etc":
            raise PermissionError(13, "Permission denied")
        return real(path, *words, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(owned.os, "open", refuse)
    with pytest.raises(FloorError, match=r"/etc: cannot be opened by user \d+; the agent runs as root"):
        files.write(Path("/etc/floor/mode"), "x", owner=me, root=root)
