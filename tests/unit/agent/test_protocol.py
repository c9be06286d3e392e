"""A request line in, an answer line out: never a traceback, whatever comes."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import syslog
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from floor.agent import __main__ as agent
from floor.agent import registry
from floor.agent.call import Call
from floor.box import paths, releases
from floor.box.lease import HeldError
from floor.box.operation import Operation
from floor.errors import BoxError, ConfigError, FloorError, RefusedError, UsageError


def ask(line: bytes, root: Path) -> tuple[int, dict[str, Any]]:
    out = io.BytesIO()
    code = agent.main(["--root", str(root)], io.BytesIO(line), out)
    (printed,) = out.getvalue().decode().splitlines()
    assert printed.startswith(agent.MARKER)
    answer: dict[str, Any] = json.loads(printed.removeprefix(agent.MARKER))
    assert ("ok" in answer) != ("error" in answer)
    return code, answer


def failing(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fail(_call: Call) -> None:
        raise error

    monkeypatch.setattr(agent, "find", lambda _name: fail)


LINE = b'{"call": "observe", "params": {}}\n'


def test_an_answer_holds_the_result_and_the_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent, "find", lambda name: lambda call: [name, call.params.values, str(call.root)])
    assert ask(b'{"call": "a.b", "params": {"x": 1}}\n', tmp_path) == (
        0,
        {"ok": ["a.b", {"x": 1}, str(tmp_path)], "release": None},
    )


@pytest.mark.parametrize(
    ("error", "kind", "data"),
    [
        (HeldError("held by ann", {"epoch": 7}), "busy", {"epoch": 7}),
        (RefusedError("no"), "refused", None),
        (UsageError("what?"), "usage", None),
        (ConfigError(["a", "b"]), "usage", None),
        (BoxError("broken"), "failed", None),
        (FloorError("broken"), "failed", None),
    ],
)
def test_each_error_keeps_its_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: FloorError, kind: str, data: Any
) -> None:
    failing(monkeypatch, error)
    code, answer = ask(LINE, tmp_path)
    assert code == 1
    assert answer["error"] == {"kind": kind, "message": str(error), "data": data}


def test_an_unexpected_error_is_words_for_the_caller_and_a_place_for_the_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    logged: list[str] = []
    monkeypatch.setattr(syslog, "syslog", lambda _level, line: logged.append(line))
    failing(monkeypatch, ZeroDivisionError("division by zero"))
    _, answer = ask(LINE, tmp_path)
    message = "ZeroDivisionError: division by zero (a fault of floor; where: journalctl -t floor-agent)"
    assert answer["error"] == {"kind": "failed", "message": message, "data": None}
    assert logged[0] == "Traceback (most recent call last):"
    assert "test_protocol.py" in "\n".join(logged)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\n",
        b"{",
        b"[]\n",
        b"7\n",
        b"null\n",
        b'{"params": {}}\n',
        b'{"call": 1}\n',
        b'{"call": "x", "params": [1]}\n',
        b'{"call": "observe", "params": "x"}\n',
        b'{"call": "config.put", "params": {"text": "\\ud800"}}\n',
        b"\xff\xfe\n",
        b"[" * 100_000 + b"\n",
    ],
    ids=range(13),
)
def test_what_is_no_request_is_answered_with_how_one_looks(tmp_path: Path, line: bytes) -> None:
    _, answer = ask(line, tmp_path)
    assert answer["error"]["kind"] == "usage"
    assert answer["error"]["message"] == 'the request is not one line of {"call": "NAME", "params": {…}}'


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(st.binary(max_size=200))
def test_any_bytes_get_one_answer_line(tmp_path: Path, line: bytes) -> None:
    ask(line.split(b"\n")[0], tmp_path)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5) | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
NAMES = [
    "epoch",
    "unit",
    "files",
    "paths",
    "timeout",
    "until",
    "backend",
    "holder",
    "text",
    "lines",
    "model",
    "size",
    "release",
]
VALUES = JSON | st.just(3)
HARMLESS = sorted(
    set(registry.names())
    - {"box.reboot", "observe", "nginx.test", "verify.chat", "engine.check", "engine.idle", "logs"}
)


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(name=st.sampled_from(HARMLESS), params=st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=6))
def test_any_parameters_get_words_and_never_a_fault_of_floor(tmp_path: Path, name: str, params: dict[str, Any]) -> None:
    """Whatever is sent to any call that changes a box: its own words, no exception of Python's."""
    Operation(tmp_path).read() or Operation(tmp_path).take({"epoch": 3, "verb": "deploy", "by": {}})
    if name in ("box.back", "memory.wait", "pool.wait", "unit.wait"):
        params = {**params, "timeout": 0}
    _, answer = ask(json.dumps({"call": name, "params": params}).encode() + b"\n", tmp_path)
    assert "a fault of floor" not in answer.get("error", {}).get("message", "")


def test_an_unknown_call_names_the_known_ones(tmp_path: Path) -> None:
    _, answer = ask(b'{"call": "observ"}\n', tmp_path)
    assert answer["error"]["message"].startswith(
        "call 'observ': not known here; known are bench.level, box.reboot, box.back,"
    )


def test_every_known_call_has_its_function() -> None:
    assert all(callable(registry.find(name)) for name in registry.names())
    assert len(set(registry.names())) == len(registry.names())


@pytest.mark.parametrize(
    "name", ["", ".", "observe.", "os.system", "unit", "unit.", "unit._name", "files.put.x", "__main__"]
)
def test_nothing_but_the_known_calls_can_be_reached(name: str) -> None:
    with pytest.raises(UsageError, match="not known here"):
        registry.find(name)


def test_a_caller_that_has_gone_away_is_nobodys_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    monkeypatch.setattr(agent, "find", lambda _name: lambda _call: "x" * 100_000)
    with os.fdopen(writing, "wb", buffering=0) as out:
        assert agent.main(["--root", str(tmp_path)], io.BytesIO(LINE), out) == 0


def test_without_a_root_the_agent_serves_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent, "find", lambda _name: lambda call: str(call.root))
    for argv in ([], ["--root"], ["--other", "/tmp"]):
        out = io.BytesIO()
        agent.main(argv, io.BytesIO(LINE), out)
        assert b'"ok": "/"' in out.getvalue()


STAYS = b'{"call": "observe", "params": {}, "stays": true}\n'


def answers(lines: list[bytes], root: Path) -> list[dict[str, Any]]:
    out = io.BytesIO()
    agent.main(["--root", str(root)], io.BytesIO(b"".join(lines)), out)
    return [json.loads(line.removeprefix(agent.MARKER)) for line in out.getvalue().decode().splitlines()]


def test_a_caller_that_says_so_may_ask_again_also_after_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = iter([lambda _: 1, lambda _: 1 // 0, lambda _: 3])
    monkeypatch.setattr(agent, "find", lambda _name: next(found))
    monkeypatch.setattr(syslog, "syslog", lambda *_: None)
    printed = answers([STAYS, STAYS, LINE, LINE], tmp_path)
    assert [next(iter(one)) for one in printed] == ["taken", "ok", "taken", "error", "ok"]
    assert printed[-1]["ok"] == 3


def test_each_request_is_said_to_be_taken_before_anything_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = io.BytesIO()
    seen: list[bytes] = []
    monkeypatch.setattr(agent, "find", lambda _name: lambda _call: seen.append(out.getvalue()))
    agent.main(["--root", str(tmp_path)], io.BytesIO(STAYS), out)
    assert seen == [b'@floor {"taken": true}\n']


ONE, TWO = "0.1.0+aaaaaaaaaaaa", "0.1.0+bbbbbbbbbbbb"


def release(name: str, root: Path) -> None:
    """An environment as `floor setup` makes it, with floor as it is here."""
    folder = paths.under(root, paths.OPT) / name
    libraries = folder / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    libraries.mkdir(parents=True)
    (libraries / "here.pth").write_text("\n".join(path for path in (*sys.path, str(Path.cwd())) if path))
    (folder / "bin").mkdir()
    (folder / "bin" / "python").symlink_to(releases.base_python())
    (folder / "pyvenv.cfg").write_text(f"home = {Path(releases.base_python()).parent}\n")
    (folder / releases.READY).write_text(name)


def use(name: str, root: Path) -> None:
    new = paths.under(root, paths.OPT) / ".new"
    new.symlink_to(name)
    new.replace(paths.under(root, paths.CURRENT))


def spoken(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    assert process.stdout is not None
    answer: dict[str, Any] = json.loads(process.stdout.readline().decode().removeprefix(agent.MARKER))
    return answer


@pytest.mark.parametrize("then", [TWO, None])
def test_one_whose_release_is_not_in_use_any_more_takes_nothing_more(tmp_path: Path, then: str | None) -> None:
    """A real interpreter, started through the link: it would go on with modules of both releases, or of none."""
    for name in (ONE, TWO):
        release(name, tmp_path)
    use(ONE, tmp_path)
    argv = [str(paths.under(tmp_path, paths.PYTHON)), "-I", "-m", "floor.agent", "--root", str(tmp_path)]
    asked = b'{"call": "operation.renew", "params": {"epoch": 1}, "stays": true}\n'
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        for _ in range(2):
            process.stdin.write(asked)
            process.stdin.flush()
            assert spoken(process) == {"taken": True}
            assert spoken(process)["release"] == ONE
        if then is None:
            shutil.rmtree(paths.under(tmp_path, paths.OPT))
        else:
            use(then, tmp_path)
        out, _ = process.communicate(asked, timeout=30)
    assert (out, process.returncode) == (b"", 1)


@pytest.fixture
def pipe() -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """What the agent reads, and what its caller writes, who never closes it."""
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as stdin, os.fdopen(writing, "wb", buffering=0) as caller:
        yield stdin, caller


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        (b"", ["error"]),
        (STAYS, ["taken", "ok"]),
        (STAYS + STAYS + STAYS, ["taken", "ok"] * 3),  # the others are in the buffer when the first is read
        (STAYS + LINE[:-1], ["taken", "ok"]),  # whatever it was to become, it comes too late
        (STAYS + LINE + STAYS, ["taken", "ok", "ok"]),
    ],
)
def test_one_whose_caller_falls_silent_ends_after_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pipe: tuple[BinaryIO, BinaryIO], sent: bytes, told: list[str]
) -> None:
    """A machine that lost its power closes no connection."""
    monkeypatch.setattr(agent, "SILENCE", 0.05)
    monkeypatch.setattr(agent, "find", lambda _name: lambda _call: 1)
    stdin, caller = pipe
    caller.write(sent)
    out = io.BytesIO()
    agent.main(["--root", str(tmp_path)], stdin, out)
    printed = out.getvalue().decode().splitlines()
    assert [next(iter(json.loads(line.removeprefix(agent.MARKER)))) for line in printed] == told


def test_a_line_that_comes_in_pieces_is_one_request_and_what_follows_it_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pipe: tuple[BinaryIO, BinaryIO]
) -> None:
    """Longer than the buffer and than the pipe; the bytes behind it belong to the call."""
    line = json.dumps({"call": "x", "params": {"text": "é" * 200_000}}).encode() + b"\n"
    stdin, caller = pipe
    monkeypatch.setattr(agent, "find", lambda _name: lambda call: [call.params.text("text"), len(call.stdin.read(7))])
    out = io.BytesIO()
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(agent.main, ["--root", str(tmp_path)], stdin, out)
        for sent in (line[:1], line[1:100_000], line[100_000:] + b"payload"):
            while sent:
                sent = sent[caller.write(sent) :]
        assert done.result(timeout=30) == 0
    assert json.loads(out.getvalue().decode().removeprefix(agent.MARKER))["ok"] == ["é" * 200_000, 7]
