"""What runs: argv byte by byte, chosen variables only, all processes of a group, and start times."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from floor.box import processes

WORDS = ["", "with space", '{"method": "mtp"}', "100%", "$HOME", "%%", "quote'\"", "naïve ☃", "-", "a\nb"]


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    script = "import time; print(flush=True); time.sleep(60)"
    environment = {**os.environ, "FLOOR_LAUNCH": "abc=def", "SECRET": "never"}
    with subprocess.Popen([sys.executable, "-c", script, *WORDS], env=environment, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


def test_argv_is_what_the_process_was_started_with(sleeper: subprocess.Popen[bytes]) -> None:
    assert processes.argv(sleeper.pid)[3:] == WORDS


def test_only_the_variables_asked_for_are_told(sleeper: subprocess.Popen[bytes]) -> None:
    assert processes.environ(sleeper.pid, ["FLOOR_LAUNCH", "ABSENT"]) == {"FLOOR_LAUNCH": "abc=def"}


def test_the_start_time_is_right_to_a_tenth_of_a_second(sleeper: subprocess.Popen[bytes]) -> None:
    import psutil

    started = processes.started(sleeper.pid)
    assert started is not None
    assert abs(started - time.time()) < 5
    assert abs(started - psutil.Process(sleeper.pid).create_time()) < 2  # psutil cuts the boot time to seconds


def test_children_are_found(sleeper: subprocess.Popen[bytes]) -> None:
    assert sleeper.pid in processes.children(os.getpid())
    assert processes.children(sleeper.pid) == []


def test_a_process_that_is_gone_is_empty_not_an_error() -> None:
    with subprocess.Popen(["true"]) as process:
        process.wait()
    gone = process.pid
    assert processes.argv(gone) == []
    assert processes.environ(gone, ["PATH"]) == {}
    assert processes.started(gone) is None


def test_a_kernel_thread_has_no_argv(tmp_path: Path) -> None:
    (tmp_path / "2").mkdir()
    (tmp_path / "2/cmdline").write_bytes(b"")
    assert processes.argv(2, tmp_path) == []


def test_a_title_written_over_the_arguments_is_one_word(tmp_path: Path) -> None:
    (tmp_path / "7").mkdir()
    (tmp_path / "7/cmdline").write_bytes(b"nginx: master process /usr/sbin/nginx -c /etc/floor/nginx/nginx.conf\0\0\0")
    assert processes.argv(7, tmp_path) == ["nginx: master process /usr/sbin/nginx -c /etc/floor/nginx/nginx.conf"]


def test_a_command_with_brackets_and_spaces_does_not_move_the_fields(tmp_path: Path) -> None:
    for pid, parent in ((9, 1), (10, 9)):
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "stat").write_text(f"{pid} (a) b) (c) S {parent} " + " ".join(["0"] * 48))
    assert processes.children(9, tmp_path) == [10]


@pytest.mark.parametrize("mount", ["sys/fs/cgroup", "sys/fs/cgroup/unified", "sys/fs/cgroup/systemd"])
def test_every_process_of_a_group_and_below_is_counted(root: Path, mount: str) -> None:
    group = root / mount / "system.slice/floor-copy-m.service"
    (group / "worker").mkdir(parents=True)
    (group / "cgroup.procs").write_text("12\n5\n")
    (group / "worker/cgroup.procs").write_text("30\n")
    assert processes.in_cgroup("/system.slice/floor-copy-m.service", root) == [5, 12, 30]


@pytest.mark.parametrize("group", ["", "/", "/system.slice/gone.service"])
def test_a_group_that_is_gone_has_no_processes(root: Path, group: str) -> None:
    (root / "sys/fs/cgroup").mkdir(parents=True)
    (root / "sys/fs/cgroup/cgroup.procs").write_text("1\n")
    assert processes.in_cgroup(group, root) == []


def test_a_group_that_goes_away_while_it_is_read_has_no_processes(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel answers ENODEV for a group that was removed between opening and reading."""
    group = root / "sys/fs/cgroup/x"
    group.mkdir(parents=True)
    (group / "cgroup.procs").write_text("1\n")

    def gone(_path: Path) -> bytes:
        raise OSError(19, "No such device")

    monkeypatch.setattr(Path, "read_bytes", gone)
    assert processes.in_cgroup("/x", root) == []


def test_an_error_that_is_not_absence_is_told(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(_path: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", denied)
    with pytest.raises(PermissionError):
        processes.argv(1, root)


@settings(max_examples=60)
@given(st.lists(st.binary(max_size=20).map(lambda word: word.replace(b"\0", b"x")), min_size=1, max_size=5))
def test_any_words_come_back(words: list[bytes]) -> None:
    """The last words being empty is the one thing that /proc cannot tell from padding."""
    if words[-1] == b"":
        return
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "1").mkdir()
        (Path(folder) / "1/cmdline").write_bytes(b"\0".join(words) + b"\0")
        assert [os.fsencode(word) for word in processes.argv(1, Path(folder))] == words
