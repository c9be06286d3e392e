"""Many agents on one box: each its own process, as over ssh."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from floor.agent.registry import CALLS
from floor.apply.local import LocalTransport
from floor.box.lease import HeldError
from floor.box.locked import mine
from floor.errors import BoxError, FloorError

BY = {"user": "ann", "host": "laptop", "pid": 1, "started": 1.0}


def take(box: LocalTransport, epoch: int, **more: Any) -> Any:
    return box.call("operation.take", {"epoch": epoch, "verb": "deploy", "by": BY, **more})


def file(path: str, text: str) -> dict[str, Any]:
    return {"path": path, "text": text, "owner": mine()}


def test_an_operation_from_its_first_call_to_its_last(box: LocalTransport, tmp_path: Path) -> None:
    take(box, 1)
    text = "naïve ☃ % $HOME \" ' \\ \n" * 1000
    assert box.call("files.put", {"epoch": 1, "files": [file("/etc/floor/x", text)]}) == {"changed": ["/etc/floor/x"]}
    assert (tmp_path / "etc/floor/x").read_text() == text
    assert box.call("operation.release", {"epoch": 1, "state": "done"})["state"] == "done"
    with pytest.raises(HeldError, match=r"spark-a: epoch 1 does not hold this box: .* epoch 1 and ended done"):
        box.call("files.put", {"epoch": 1, "files": []})


def test_of_many_who_take_one_epoch_at_once_one_gets_it(box: LocalTransport) -> None:
    def attempt(number: int) -> int | None:
        by = {**BY, "user": f"user-{number}"}
        try:
            taken: int = box.call("operation.take", {"epoch": 5, "verb": "deploy", "by": by})["epoch"]
        except HeldError:
            return None
        return taken

    with ThreadPoolExecutor(8) as pool:
        assert [taken for taken in pool.map(attempt, range(8)) if taken] == [5]


def test_an_agent_that_is_killed_gives_its_locks_back(box: LocalTransport, tmp_path: Path) -> None:
    """floor was killed while a call was under way; its user starts it again at once."""
    take(box, 1)
    process = subprocess.Popen(box.argv(), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    assert process.stdin is not None
    bundle = {
        "call": "release.install",
        "params": {"release": "0.1.0+aaaaaaaaaaaa", "size": 9, "sha256": "", "epoch": 1},
    }
    process.stdin.write(json.dumps(bundle).encode() + b"\n")
    process.stdin.flush()
    time.sleep(0.3)
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdin.close()
    assert take(box, 2, takeover=1)["epoch"] == 2
    with pytest.raises(HeldError, match="epoch 1 does not hold this box"):
        box.call("operation.renew", {"epoch": 1})


def test_a_writer_that_is_killed_at_any_moment_leaves_whole_files(box: LocalTransport, tmp_path: Path) -> None:
    take(box, 1)
    place = tmp_path / "etc/floor/big"
    texts = ["a" * 300_000, "b" * 300_000]
    box.call("files.put", {"epoch": 1, "files": [file("/etc/floor/big", texts[0])]})
    for turn in range(1, 9):
        process = subprocess.Popen(box.argv(), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        assert process.stdin is not None
        params = {"epoch": 1, "files": [file("/etc/floor/big", texts[turn % 2])]}
        process.stdin.write(json.dumps({"call": "files.put", "params": params}).encode() + b"\n")
        process.stdin.flush()
        time.sleep(0.03 * turn)
        process.kill()
        process.wait()
        process.stdin.close()
        assert place.read_text() in texts
    record = json.loads((tmp_path / "var/lib/floor/operation.json").read_text())
    assert record["epoch"] == 1


def test_calls_of_one_operation_run_side_by_side(box: LocalTransport, tmp_path: Path) -> None:
    take(box, 1)

    def put(number: int) -> Any:
        return box.call("files.put", {"epoch": 1, "files": [file(f"/etc/floor/engines/{number}.json", str(number))]})

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(put, range(12)))
    assert len(list((tmp_path / "etc/floor/engines").iterdir())) == 12


def test_a_user_who_is_not_root_is_told_and_not_shown_a_traceback(tmp_path: Path) -> None:
    """The agent runs as root; somebody who starts it by hand as themselves reads what is wrong."""
    tmp_path.chmod(0o755)
    (tmp_path / "var/lib/floor").mkdir(parents=True)
    script = (
        "import os, sys; from floor.agent.__main__ import main; from floor.agent.calls import operation;"
        "os.setuid(65534);"
        "sys.exit(main(sys.argv[1:], sys.stdin.buffer, sys.stdout.buffer))"
    )
    argv = [sys.executable, "-I", "-c", script, "--root", str(tmp_path)]
    line = b'{"call": "operation.take", "params": {"epoch": 1, "verb": "deploy"}}\n'
    done = subprocess.run(argv, input=line, capture_output=True, check=False)
    said = done.stdout.decode() + done.stderr.decode()
    assert "Traceback" not in said
    assert "cannot be locked: Permission denied; the agent runs as root" in said


def test_a_call_that_is_unknown_or_wrong_is_told_in_words(box: LocalTransport) -> None:
    with pytest.raises(BoxError, match=r"spark-a: call 'files.get': not known here; known are"):
        box.call("files.get")
    with pytest.raises(BoxError, match=r"spark-a: files.put: parameter files: must be a list of"):
        box.call("files.put", {"epoch": 1})


def test_the_current_folder_is_not_imported(
    box: LocalTransport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of somebody named json.py in the current folder would run as root."""
    (tmp_path / "json.py").write_text("raise SystemExit('imported')")
    (tmp_path / "floor").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert take(box, 1)["epoch"] == 1


def test_starting_up_loads_neither_http_nor_any_call(tmp_path: Path) -> None:
    """Starting is most of what a call costs."""
    script = (
        "import sys; import floor.agent.__main__;"
        "print([name for name in ('httpx', 'psutil', 'pydantic', 'typer', 'yaml', 'asyncio') if name in sys.modules]);"
        "print([name for name in sys.modules if name.startswith('floor.agent.calls.')])"
    )
    done = subprocess.run([sys.executable, "-I", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n[]\n"


def test_every_noun_has_a_file_of_its_own() -> None:
    import floor.agent.calls

    folder = Path(str(floor.agent.calls.__file__)).parent
    assert {path.stem for path in folder.glob("*.py")} - {"__init__"} == set(CALLS)


def test_a_followed_journal_ends_when_the_caller_leaves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, box: LocalTransport
) -> None:
    """A stand-in for journalctl that never ends by itself, and notes when it does."""
    program = tmp_path / "bin/journalctl"
    program.parent.mkdir()
    program.write_text(
        f"#!/bin/sh\ntrap 'echo over > {tmp_path}/over; exit' TERM\necho one\nwhile :; do sleep 0.05; done\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    stream = box.stream("logs", {"units": ["floor-pool.service"], "follow": True})
    assert next(stream) == "one"
    stream.close()  # type: ignore[attr-defined]
    ends = time.monotonic() + 5
    while not (tmp_path / "over").exists() and time.monotonic() < ends:
        threading.Event().wait(0.02)
    assert (tmp_path / "over").exists()


def test_a_machine_without_systemd_says_so(box: LocalTransport, tmp_path: Path) -> None:
    (tmp_path / "proc/sys/kernel/random").mkdir(parents=True)
    (tmp_path / "proc/sys/kernel/random/boot_id").write_text("x")
    take(box, 1)
    with pytest.raises(FloorError, match=r"spark-a: systemctl .*"):
        box.call("unit.start", {"epoch": 1, "unit": "floor-no-such-unit-anywhere.service"})
