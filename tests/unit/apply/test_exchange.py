"""One call: a line there, a line back, whatever else is printed, and every ending in words."""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from floor.agent.__main__ import MARKER as SPOKEN
from floor.apply import exchange, session
from floor.apply.exchange import FailedError, UnreachableError
from floor.apply.local import LocalTransport
from floor.apply.ssh import SshTransport
from floor.box import alive
from floor.box.lease import HeldError
from floor.errors import BoxError, RefusedError

ECHO = """
import json, sys
request = json.loads(sys.stdin.readline())
rest = sys.stdin.read() if "stays" not in request else ""
print("@floor " + json.dumps({"ok": [request["call"], request["params"], len(rest)], "release": "0.1.0+abc"}))
"""


def agent(script: str) -> LocalTransport:
    return LocalTransport("spark-a", [sys.executable, "-c", script])


def wait(so: Callable[[], bool], seconds: float = 10.0) -> None:
    """Wait until `so()`; fail where it does not become so."""
    ends = time.monotonic() + seconds
    while not so():
        assert time.monotonic() < ends, f"not so within {seconds:g} s"
        time.sleep(0.01)


def answering(answer: Any, before: str = "", after: str = "") -> LocalTransport:
    line = session.MARKER + json.dumps(answer)
    return agent(f"import sys; sys.stdin.readline(); sys.stdout.write({before!r} + {line!r} + '\\n' + {after!r})")


def test_agent_and_transport_mark_an_answer_alike() -> None:
    assert session.MARKER == SPOKEN


def test_a_call_and_its_payload_arrive_and_the_answer_comes_back() -> None:
    transport = agent(ECHO)
    params = {"text": "naïve ☃\n\0 'quotes' $HOME", "n": 1}
    assert transport.call("x.y", params, payload=b"p" * 1_000_000) == ["x.y", params, 1_000_000]
    assert transport.release == "0.1.0+abc"


def test_a_call_without_parameters_sends_none() -> None:
    assert agent(ECHO).call("observe") == ["observe", {}, 0]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Welcome to spark-a!\nLast login: never\n", ""),
        ("a banner without an end of line", ""),
        ('{"ok": "not this one"}\n', "logout\n"),
        ("@floor garbage\n", ""),
        ("\r\n\x1b[31mcoloured\x1b[0m ", "\nbye"),
    ],
)
def test_what_a_login_shell_prints_is_skipped(before: str, after: str) -> None:
    assert answering({"ok": 42}, before, after).call("observe") == 42


def test_a_busy_box_is_told_with_its_record() -> None:
    answer = {"error": {"kind": "busy", "message": "held by ann", "data": {"epoch": 7}}}
    with pytest.raises(HeldError, match=r"^spark-a: held by ann$") as caught:
        answering(answer).call("operation.take")
    assert caught.value.record == {"epoch": 7}
    assert caught.value.exit_code == 4


@pytest.mark.parametrize(
    ("kind", "error"), [("refused", RefusedError), ("failed", FailedError), ("usage", FailedError), ("?", FailedError)]
)
def test_an_error_of_the_agent_keeps_its_kind_and_names_the_box(kind: str, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"^spark-a: no$") as caught:
        answering({"error": {"kind": kind, "message": "no"}}).call("files.put")
    assert type(caught.value) is error


def test_an_agent_that_is_too_late_is_ended() -> None:
    began = time.monotonic()
    with pytest.raises(UnreachableError, match=r"spark-a: no answer to `observe` within 0\.2 s; is the box up"):
        agent("import time; time.sleep(60)").call("observe", timeout=0.2)
    assert time.monotonic() - began < 5


def test_one_that_does_not_read_its_input_is_no_hang() -> None:
    with pytest.raises(BoxError, match="gave no answer"):
        agent("import sys; sys.exit(3)").call("release.install", payload=b"x" * 5_000_000)


@pytest.mark.parametrize("out", ["", "hello\n", '@floor {"neither": 1}\n', "@floor 7\n"])
def test_no_answer_is_told_with_what_was_printed_instead(out: str) -> None:
    script = f"import sys; sys.stdin.readline(); sys.stdout.write({out!r}); sys.stderr.write('oops'); sys.exit(5)"
    with pytest.raises(BoxError, match=r"spark-a: the agent there gave no answer \(exit 5: oops"):
        agent(script).call("observe")


def test_an_answer_counts_whatever_the_exit_code_is() -> None:
    line = session.MARKER + json.dumps({"ok": 1})
    assert agent(f"import sys; sys.stdin.readline(); print({line!r}); sys.exit(9)").call("observe") == 1


def test_a_program_that_does_not_exist_is_told_in_words() -> None:
    with pytest.raises(BoxError, match=r"spark-a: floor is not installed there; run `floor setup spark-a`"):
        LocalTransport("spark-a", ["/opt/nowhere/python", "-m", "floor.agent"]).call("observe")


def test_somebody_who_holds_the_error_output_open_does_not_hold_the_call() -> None:
    """An ssh that becomes the shared master keeps it open for a minute after the first call is over."""
    began = time.monotonic()
    line = session.MARKER + json.dumps({"ok": 1})
    script = (
        "import subprocess, sys; sys.stdin.readline();"
        "subprocess.Popen(['sleep', '3'], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL);"
        f"print({line!r})"
    )
    assert agent(script).call("observe") == 1
    assert time.monotonic() - began < 2.5


def test_many_threads_call_at_once_each_gets_its_own_answer_and_never_too_many_run(tmp_path: Path) -> None:
    script = (
        "import json, os, sys, time; request = json.loads(sys.stdin.readline());"
        f"d = {str(tmp_path)!r}; p = os.path.join(d, str(os.getpid())); open(p, 'w').close();"
        "n = len(os.listdir(d)); time.sleep(0.05); os.remove(p);"
        "print('@floor ' + json.dumps({'ok': [request['params']['n'], n]}))"
    )
    transport = agent(script)
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda n: transport.call("x", {"n": n}), range(24)))
    assert [answer[0] for answer in answers] == list(range(24))
    assert max(answer[1] for answer in answers) <= exchange.AT_ONCE


STAYS = """
import json, os, sys
for number, line in enumerate(sys.stdin):
    request = json.loads(line)
    if "leave" in request["params"] and number: os._exit(request["params"]["leave"])
    print("@floor " + json.dumps({"taken": True}), flush=True)
    if request["params"].get("die") == "after": sys.exit("fell over")
    print("noise", file=sys.stderr, flush=True)
    print("@floor " + json.dumps({"ok": [os.getpid(), number]}), flush=True)
"""


def test_a_process_that_stays_is_asked_again() -> None:
    transport = agent(STAYS)
    (first, _), *others = [transport.call("x", {"n": n}) for n in range(3)]
    assert others == [[first, 1], [first, 2]]


def test_large_requests_and_answers_pass_through_one_process() -> None:
    script = STAYS.replace("os.getpid()", "request['params']['text']")
    transport, text = agent(script), "x" * 1_000_000
    assert [transport.call("x", {"text": text}) for _ in range(2)] == [[text, 0], [text, 1]]


@pytest.mark.parametrize("code", exchange.OWN)
def test_one_that_leaves_a_request_is_replaced(code: int) -> None:
    """As it does when another release has come into use."""
    transport = agent(STAYS)
    first = transport.call("x")[0]
    other, number = transport.call("x", {"leave": code})
    assert other != first
    assert number == 0


def test_one_that_was_killed_between_two_calls_is_replaced() -> None:
    transport = agent(STAYS)
    first = transport.call("x")[0]
    os.kill(first, signal.SIGKILL)
    os.waitid(os.P_PID, first, os.WEXITED | os.WNOWAIT)
    assert transport.call("x")[0] != first


def test_one_whose_output_has_ended_is_replaced(tmp_path: Path) -> None:
    """An ssh whose connection is gone may still be on its way out."""
    shut = tmp_path / "shut"
    after = f"    if 'shut' in request['params']: os.close(1); os.mkdir({str(shut)!r}); sys.stdin.read()\n"
    transport = agent(STAYS + after)
    first = transport.call("x", {"shut": True})[0]
    wait(shut.exists)
    assert transport.call("y")[0] != first


LOSES = f"""
import os, subprocess, sys
far = subprocess.Popen([sys.executable, "-c", {STAYS!r}], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
for number, line in enumerate(sys.stdin.buffer):
    far.stdin.write(line); far.stdin.flush()
    got = [far.stdout.readline() for _ in range(2)]
    open(NOTES, "a").write("done ")
    if number: sys.stderr.write("Timeout, server spark-a not responding."); END
    for one in got: sys.stdout.buffer.write(one)
    sys.stdout.buffer.flush()
"""


@pytest.mark.parametrize(
    ("ends", "words"),
    [
        ("os._exit(255)", "it stopped answering; is it switched on"),
        ("os.kill(os.getpid(), 15)", "ended here by signal 15"),
    ],
)
def test_a_call_whose_connection_is_lost_is_not_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: str, words: str
) -> None:
    """It was carried out, though nothing of that came back."""
    notes = tmp_path / "notes"
    script = LOSES.replace("NOTES", repr(str(notes))).replace("END", ends)
    transport = SshTransport("spark-a", "ops@spark-a")
    monkeypatch.setattr(transport, "argv", lambda: [sys.executable, "-c", script])
    transport.call("observe")
    with pytest.raises(UnreachableError, match=words):
        transport.call("unit.restart")
    assert notes.read_text().split() == ["done", "done"]


def test_a_call_that_is_given_up_is_not_made_again(tmp_path: Path) -> None:
    """Ctrl-C: nothing more begins, and nobody takes it for a box that is out of reach for a moment."""
    notes = tmp_path / "notes"
    script = f"""
import sys, time
open({str(notes)!r}, "a").write("began ")
for number, line in enumerate(sys.stdin):
    if number: open({str(notes)!r}, "a").write("hangs "); time.sleep(60)
    print('@floor {{"taken": true}}\\n@floor {{"ok": 1}}', flush=True)
"""
    transport = agent(script)
    transport.call("observe")
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(transport.call, "unit.restart")
        wait(lambda: "hangs" in notes.read_text())
        exchange.give_up()
        error = call.exception(timeout=30)
    assert str(error) == "spark-a: `unit.restart` was given up; what was begun there may go on"
    assert not isinstance(error, UnreachableError)
    assert notes.read_text().split() == ["began", "hangs"]


def test_one_that_ends_after_it_took_a_request_is_not_asked_again(tmp_path: Path) -> None:
    """What it had done by then nobody knows: that is for whoever called to decide."""
    transport = agent(STAYS)
    transport.call("x")
    with pytest.raises(BoxError, match=r"gave no answer \(exit 1: fell over"):
        transport.call("x", {"die": "after"})


def test_each_error_output_belongs_to_its_own_call() -> None:
    transport = agent(STAYS)
    transport.call("x")
    with pytest.raises(BoxError) as caught:
        transport.call("x", {"die": "after"})
    assert "noise" not in str(caught.value)


def test_bytes_go_to_a_process_of_their_own_and_end_those_that_wait() -> None:
    """They bring another release, and what waits runs the one before."""
    transport = agent(STAYS)
    first = transport.call("x")[0]
    assert transport.call("install", payload=b"")[1] == 0
    with pytest.raises(ProcessLookupError):
        os.kill(first, 0)


def test_as_many_are_kept_as_are_needed_again_and_they_end_with_their_transport() -> None:
    transport = agent(STAYS.replace('print("noise"', 'import time; time.sleep(0.2); print("noise"'))
    with ThreadPoolExecutor(6) as pool:
        pids = {pid for pid, _ in pool.map(transport.call, ["x"] * 6)}
    assert len(pids) == 6
    kept = {pid for pid in pids if alive.began(pid) is not None}
    assert len(kept) == exchange.IDLE
    with ThreadPoolExecutor(exchange.IDLE) as pool:
        assert {pid for pid, _ in pool.map(transport.call, ["x"] * exchange.IDLE)} <= kept
    del transport
    gc.collect()
    assert not [pid for pid in kept if alive.began(pid) is not None]


STREAM = """
import json, sys, time
sys.stdin.readline()
print("noise"); print("no end of line", end=""); print("@floor " + json.dumps({"ok": {}}))
for n in range(3): print(f"line {n}", flush=True)
if FOLLOW: sys.stdin.read(); open(GONE, "w").close()
"""


def test_a_stream_gives_its_lines_without_noise() -> None:
    assert list(agent("FOLLOW = False" + STREAM).stream("logs", {})) == ["line 0", "line 1", "line 2"]


def test_leaving_a_stream_ends_it_on_the_box(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    stream = agent(f"FOLLOW, GONE = True, {str(gone)!r}" + STREAM).stream("logs", {"follow": True})
    assert list(islice(stream, 3)) == ["line 0", "line 1", "line 2"]
    stream.close()  # type: ignore[attr-defined]
    ends = time.monotonic() + 5
    while not gone.exists() and time.monotonic() < ends:
        threading.Event().wait(0.01)
    assert gone.exists()


def test_a_stream_that_is_refused_raises_like_a_call() -> None:
    answer = {"error": {"kind": "usage", "message": "unit 'x': must be floor's"}}
    with pytest.raises(BoxError, match=r"spark-a: unit 'x': must be floor's"):
        list(answering(answer).stream("logs", {}))


def test_a_stream_without_an_answer_raises_like_a_call() -> None:
    with pytest.raises(BoxError, match=r"its floor is damaged \(No module named floor.agent\)"):
        list(agent("import sys; sys.exit('No module named floor.agent')").stream("logs", {}))
