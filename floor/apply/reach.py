"""Runs plain commands on a machine that has no agent yet: this machine itself, or one behind ssh."""

from __future__ import annotations

import io
import json
import os
import shlex
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from typing import Any

from floor.apply import own_wheel, ssh, words
from floor.apply.session import parse
from floor.apply.transport import LOCAL
from floor.errors import BoxError

CARRY = (
    "import sys,tarfile,tempfile;d=tempfile.mkdtemp(prefix='floor-setup-');"
    "t=tarfile.open(fileobj=sys.stdin.buffer,mode='r|');t.errorlevel=1;"
    "[open(d+'/'+m.name,'wb').write(t.extractfile(m).read()) for m in t];"
    "print('@floor {\"ok\":\"'+d+'\"}')"
)
RUN = """
import pathlib, shutil, sys
folder = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(folder / "floor.whl"))
from floor.box.prepare import main
try:
    code = main(folder, lambda line: print(line, flush=True))
finally:
    shutil.rmtree(folder, ignore_errors=True)
sys.exit(code)
"""

SEE = """
import pathlib, shutil, sys
folder = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(folder / "floor.whl"))
from importlib import import_module
try:
    code = import_module(sys.argv[1]).main()
finally:
    shutil.rmtree(folder, ignore_errors=True)
sys.exit(code)
"""


def guarded(script: str) -> str:
    """Given a script, return it behind a check that an older Python passes as well: it names its version and stops."""
    return (
        "import json, sys\n"
        "if sys.version_info < (3, 11):\n"
        "    print('@floor ' + json.dumps({'ok': {'python': '%d.%d.%d' % sys.version_info[:3]}}))\n"
        "    sys.exit(0)\n"
        f"exec(compile({script!r}, 'floor', 'exec'))\n"
    )


class Reach:
    """One machine before floor is on it. `destination` is as in floor.yaml; `local` means this machine."""

    def __init__(self, box: str, destination: str) -> None:
        self.box, self.destination = box, destination
        self._local = destination == LOCAL

    def argv(self, command: Sequence[str], *before: str) -> list[str]:
        """Return the local command that runs `command` there; every word of it arrives as it is."""
        if self._local:
            return list(command)
        return ssh.argv(self.box, self.destination, [shlex.join(command)], *before)

    def ask(self, command: Sequence[str], sent: bytes, timeout: float = 60) -> Any:
        """Run a command there that answers one marked line of JSON, and return its "ok". Raises BoxError in words."""
        with tempfile.TemporaryFile() as errors:
            try:
                done = subprocess.run(
                    self.argv(command, "-T"),
                    input=sent,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    timeout=timeout,
                    check=False,
                    env={**os.environ, "LC_ALL": "C.UTF-8"},
                )
            except subprocess.TimeoutExpired:
                raise BoxError(
                    f"{self.box}: gave no answer within {timeout:g} s; is it up and not overloaded?"
                ) from None
            errors.seek(0)
            said = errors.read().decode(errors="replace")
        answer = parse(done.stdout.decode(errors="replace"))
        if answer is None:
            raise self._explain(done.returncode, said)
        return answer["ok"]

    def _explain(self, code: int, said: str) -> BoxError:
        if code == 255 and not self._local:  # what ssh itself ends with
            return words.of_ssh(self.box, self.destination, code, said)
        if "python3" in said and "not found" in said:
            return BoxError(f"{self.box}: has no python3; run `apt-get install python3` there")
        return BoxError(f"{self.box}: gave no answer (exit {code}: {words.last(said) or 'nothing was printed'})")

    def look(self) -> dict[str, Any]:
        """Return what `floor.box.bare` sees there, as root where that costs no password."""
        script = guarded((resources.files("floor") / "box" / "bare.py").read_text()).encode()
        seen: dict[str, Any] = self.ask(["python3", "-I", "-"], script)
        if seen.get("sudo") == "free":
            more: dict[str, Any] = self.ask(["sudo", "-n", "python3", "-I", "-"], script)
            seen = {**more, "sudo": "free", "user": seen["user"]}
        return seen

    def see(self, module: str) -> dict[str, Any]:
        """Carry floor's code over and return what `main` of one of its modules (standard library only) prints there: as
        root where that costs no password. Raises BoxError, also for a Python that is too old."""
        seen = self.look()
        if "sudo" not in seen:
            raise BoxError(f"{self.box}: has Python {seen['python']}; floor needs 3.11 there")
        _, own = own_wheel.build(own_wheel.contents(own_wheel.package()))
        folder = self.carry({"floor.whl": own, "see.py": SEE.encode()})
        sudo = ["sudo", "-n"] if seen["sudo"] == "free" else []
        found: dict[str, Any] = self.ask([*sudo, "python3", "-I", f"{folder}/see.py", module], b"", timeout=120)
        return found

    def carry(self, files: Mapping[str, bytes]) -> str:
        """Put files into a new private folder there, and return its path."""
        target = io.BytesIO()
        with tarfile.open(fileobj=target, mode="w") as tar:
            for name, data in files.items():
                entry = tarfile.TarInfo(name)
                entry.size = len(data)
                tar.addfile(entry, io.BytesIO(data))
        folder: str = self.ask(["python3", "-I", "-c", CARRY], target.getvalue(), timeout=300)
        return folder

    def as_root(
        self, how: str, plan: Mapping[str, Any], files: Mapping[str, bytes], say: Callable[[str], None]
    ) -> None:
        """Carry floor's code, a plan and files over, and carry the plan out as root.

        `how` is what `look` found: root, free, or password, which sudo then asks for on this terminal. Raises BoxError.
        """
        tty = how == "password"
        if tty and not sys.stdin.isatty():
            raise BoxError(
                f"{self.box}: sudo asks for a password there; run this from a terminal, or set it up as root"
            )
        folder = self.carry({**files, "plan.json": json.dumps(plan).encode(), "run.py": RUN.encode()})
        sudo = {"root": [], "free": ["sudo", "-n"], "password": ["sudo"]}[how]
        command = self.argv([*sudo, "python3", "-I", f"{folder}/run.py"], "-t" if tty else "-T")
        code = subprocess.run(command, check=False).returncode if tty else self._follow(command, say)
        if code:
            raise BoxError(
                f"{self.box}: was not prepared to the end (exit {code}); what was done is kept, run it again"
            )

    def _follow(self, command: Sequence[str], say: Callable[[str], None]) -> int:
        with subprocess.Popen(
            list(command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as process:
            assert process.stdout is not None  # noqa: S101 -- made as a pipe
            for line in process.stdout:
                say(line.rstrip("\n"))
        return process.returncode
