"""What needs no box: `floor render` to a folder, `floor init`, and what a name resolves to."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from floor.errors import FloorError, RefusedError
from floor.operations import init, render, site
from tests.simulated.situation import TWO_BOXES, Situation, configured


def test_every_file_of_every_box(tmp_path: Path) -> None:
    lines = render.write(configured(TWO_BOXES), "replicas", tmp_path, lambda host: host)
    assert [line.partition(":")[0] for line in lines] == [str(tmp_path / "spark-a"), str(tmp_path / "spark-b")]
    unit = tmp_path / "spark-a/etc/systemd/system/floor-copy-flagship.service"
    assert "--served-model-name flagship" in unit.read_text()
    assert unit.stat().st_mode & 0o777 == 0o644
    assert (tmp_path / "spark-b/etc/floor/mode").read_text() == "replicas\n"


def test_a_host_without_an_address_is_named(tmp_path: Path) -> None:
    lines = render.write(configured(TWO_BOXES), "replicas", tmp_path, lambda host: None if "12" in host else host)
    assert lines[-1] == "spark-b: 192.0.2.12 has no address now; it is in no pool here"


def test_a_file_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")
    with pytest.raises(FloorError, match="cannot be written: Not a directory; choose another --out"):
        render.write(configured(TWO_BOXES), "replicas", tmp_path / "out", lambda host: host)


def test_init_writes_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(init, "probe", lambda: None)
    monkeypatch.setattr(init, "propose", lambda _: "boxes: {}  # ä\n")
    path = tmp_path / "floor.yaml"
    assert init.write(path, force=False).startswith(f"wrote {path}; look it over, then: floor check, floor setup BOX")
    assert path.read_bytes() == "boxes: {}  # ä\n".encode()
    with pytest.raises(RefusedError, match=r"floor.yaml is there already; write another one \(floor init OTHER.yaml\)"):
        init.write(path, force=False)
    init.write(path, force=True)
    with pytest.raises(FloorError, match=r"none/floor.yaml: cannot be written: No such file or directory; choose"):
        init.write(tmp_path / "none" / "floor.yaml", force=False)


def test_a_name_means_always_the_same_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """However its addresses are turned: an engine would be restarted for another one."""
    found = ["fd00::2", "192.0.2.30", "192.0.2.12", "fe80::1%eth0"]
    for _ in found:
        found.append(found.pop(0))
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_a, **_k: [(0, 0, 0, "", (address, 0)) for address in found])
        assert site.resolve("spark-b") == "192.0.2.12"
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_a, **_k: [])
    assert site.resolve("spark-b") is None

    def unknown(*_given: object, **_named: object) -> object:
        raise socket.gaierror

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    assert site.resolve("spark-b") is None


def test_several_boxes_are_asked_at_once_and_a_defect_is_heard(situation: Situation) -> None:
    boxes = situation.site()
    assert boxes.each([], lambda box, _: box) == {}
    with pytest.raises(ZeroDivisionError):
        boxes.each(["spark-a"], lambda _box, _transport: 1 // 0)
