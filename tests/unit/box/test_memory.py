"""Which number is memory: MemAvailable, never more than the control group allows, and unknown stays unknown."""

from __future__ import annotations

from pathlib import Path

import pytest

from floor.box import memory
from floor.box.memory import Memory

GIB = 1024**3
# A GB10 box: 128 GB that CPU and GPU share.
GB10 = """MemTotal:       125513244 kB
MemFree:         3120480 kB
MemAvailable:   61204412 kB
Buffers:          212340 kB
HugePages_Total:       0
"""


def test_meminfo_counts_kib() -> None:
    assert memory.parse(GB10) == Memory(125513244 * 1024, 61204412 * 1024)


@pytest.mark.parametrize("text", ["", "garbage", "MemTotal: many kB\n", "MemTotal 12 kB\nMemAvailable:\n"])
def test_what_is_not_told_is_unknown_never_zero(text: str) -> None:
    assert memory.parse(text) == Memory(None, None)


@pytest.mark.parametrize(
    ("limit", "used", "expected"),
    [
        (None, None, Memory(64 * GIB, 30 * GIB)),
        (16 * GIB, 4 * GIB, Memory(16 * GIB, 12 * GIB)),
        (16 * GIB, 20 * GIB, Memory(16 * GIB, 0)),
        (128 * GIB, 4 * GIB, Memory(64 * GIB, 30 * GIB)),
        (16 * GIB, None, Memory(16 * GIB, 16 * GIB)),
    ],
)
def test_the_smaller_of_machine_and_group_counts(limit: int | None, used: int | None, expected: Memory) -> None:
    assert memory.within(Memory(64 * GIB, 30 * GIB), limit, used) == expected


def test_a_group_bounds_an_unknown_machine() -> None:
    assert memory.within(Memory(None, None), 16 * GIB, 4 * GIB) == Memory(16 * GIB, 12 * GIB)


def box(root: Path, files: dict[str, str]) -> Path:
    for path, text in {"proc/meminfo": GB10, **files}.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return root


def test_a_plain_box_is_what_meminfo_says(root: Path) -> None:
    assert memory.read(box(root, {})) == memory.parse(GB10)


def test_a_box_without_meminfo_is_unknown(root: Path) -> None:
    assert memory.read(root) == Memory(None, None)


def test_a_container_is_bounded_by_its_group_and_idle_page_cache_is_free(root: Path) -> None:
    files = {
        "sys/fs/cgroup/memory.max": f"{16 * GIB}\n",
        "sys/fs/cgroup/memory.current": f"{10 * GIB}\n",
        "sys/fs/cgroup/memory.stat": f"anon 1\ninactive_file {3 * GIB}\nactive_file 5\n",
    }
    assert memory.read(box(root, files)) == Memory(16 * GIB, 9 * GIB)


@pytest.mark.parametrize(
    "files",
    [
        {"sys/fs/cgroup/memory.max": "max\n", "sys/fs/cgroup/memory.current": "5\n"},
        {
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
            "sys/fs/cgroup/memory/memory.usage_in_bytes": "5\n",
        },
    ],
)
def test_no_limit_is_no_limit_in_both_versions(root: Path, files: dict[str, str]) -> None:
    assert memory.read(box(root, files)) == memory.parse(GB10)


def test_a_limit_of_version_1_counts(root: Path) -> None:
    files = {
        "sys/fs/cgroup/memory/memory.limit_in_bytes": f"{8 * GIB}\n",
        "sys/fs/cgroup/memory/memory.usage_in_bytes": f"{GIB}\n",
    }
    assert memory.read(box(root, files)) == Memory(8 * GIB, 7 * GIB)


def test_a_group_that_does_not_tell_its_use_leaves_the_machines_figure(root: Path) -> None:
    seen = memory.read(box(root, {"sys/fs/cgroup/memory.max": f"{8 * GIB}\n"}))
    assert seen == Memory(8 * GIB, 8 * GIB)
