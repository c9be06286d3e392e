"""A program is run by argv, in bounded time, and how it ended is data."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from floor.box import command
from floor.errors import FloorError


def test_words_arrive_as_they_are_and_no_shell_sees_them() -> None:
    words = ["$HOME", "a b", "';true'", "*"]
    result = command.run([sys.executable, "-c", "import sys; print(sys.argv[1:])", *words])
    assert result.out.strip() == str(words)
    assert (result.code, result.ok) == (0, True)


def test_text_goes_to_stdin_and_without_text_stdin_is_empty() -> None:
    assert command.run(["cat"], text="héllo").out == "héllo"
    assert command.run(["cat"]).out == ""


def test_the_exit_code_and_both_outputs_are_kept() -> None:
    result = command.run([sys.executable, "-c", "import sys; print('out'); print('err', file=sys.stderr); sys.exit(7)"])
    assert (result.code, result.out, result.err, result.ok) == (7, "out\n", "err\n", False)
    assert result.said == "err\nout"


def test_a_program_that_is_not_there_is_told_without_an_exception() -> None:
    result = command.run(["no-such-program-anywhere"])
    assert (result.code, result.said) == (None, "no-such-program-anywhere: not installed")


def test_one_that_takes_too_long_is_named() -> None:
    with pytest.raises(FloorError, match=r"`sleep 5` gave no answer within 0\.05 s"):
        command.run(["sleep", "5"], timeout=0.05)


def test_output_that_is_no_utf8_does_not_stop_anything() -> None:
    assert command.run([sys.executable, "-c", "import sys; sys.stdout.buffer.write(b'a\\xffb')"]).out == "a\ufffdb"


def test_system_folders_are_searched_and_the_language_is_fixed(monkeypatch: pytest.MonkeyPatch) -> None:
    """sudo and services may come with a short PATH; nginx and useradd live in sbin."""
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    out = command.run([sys.executable, "-c", "import os; print(os.environ['PATH'], os.environ['LC_ALL'])"]).out
    assert "/usr/sbin" in out
    assert out.split()[-1] == "C.UTF-8"


def test_one_that_may_not_be_run_or_is_no_program_is_named(tmp_path: Path) -> None:
    place = tmp_path / "tell"
    place.write_text("no program")
    with pytest.raises(FloorError, match=r"tell: cannot be run: Permission denied"):
        command.run([str(place)])
    place.chmod(0o755)
    with pytest.raises(FloorError, match=r"tell: cannot be run: Exec format error"):
        command.run([str(place)])
