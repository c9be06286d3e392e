"""From a bare box to one whose agent answers, and back, over ssh as a person would do it."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.lab import packages_offline
from tests.lab.box import Box
from tests.lab.boxes import Lab
from tests.lab.floor import Floor
from tests.lab.sites import site

AGENT = ["sudo", "-n", "/opt/floor/current/bin/python", "-I", "-m", "floor.agent"]
PASSWORD = "correct horse"
LOOK = '{"call": "observe", "params": {}}\n'


@pytest.fixture(scope="module")
def floor(clean_lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Floor:
    """Two new boxes and a floor.yaml that names them; nothing is set up yet."""
    floor = Floor(clean_lab, tmp_path_factory.mktemp("site"))
    floor.write(site(clean_lab))
    return floor


@pytest.fixture
def new_b(floor: Floor) -> Box:
    """The second box, new."""
    box = floor.lab.boxes["boxb"]
    box.reset()
    return box


def everything(box: Box) -> str:
    """Every file that setup may have to do with, with the times of its last change."""
    places = ["/opt/floor", "/etc/floor", "/etc/sudoers.d", "/etc/systemd/system", "/etc/passwd", "/etc/group"]
    return box.run(["find", *places, "-printf", "%p %m %u %T@ %C@\n"]).stdout


def test_a_bare_box_becomes_one_whose_agent_answers(floor: Floor) -> None:
    """Bare: no nginx, no ensurepip (Debian's python3 comes without), and no way to the internet."""
    box = floor.lab.boxes["boxa"]
    box.run(
        [
            "sh",
            "-c",
            "apt-get purge -y nginx nginx-common 'libnginx*' >/dev/null 2>&1; rm -rf /usr/lib/python3*/ensurepip",
        ]
    )
    packages_offline.serve(box, "nginx", "nginx-common")
    assert not box.host.exists("nginx")
    assert "default" not in box.run(["ip", "route"]).stdout
    said = floor("setup", "boxa", "--yes").stdout
    assert "install nginx with apt-get" in said
    assert said.splitlines()[-1].startswith("boxa: ready, floor 0.1.0+")
    host = box.host
    assert host.exists("nginx")
    nginx = box.run(["systemctl", "show", "-p", "LoadState,ActiveEnterTimestampMonotonic", "nginx.service"]).stdout
    assert "LoadState=masked" in nginx
    assert "ActiveEnterTimestampMonotonic=0" in nginx  # it never ran, not for a moment
    assert not host.socket("tcp://0.0.0.0:80").is_listening
    user = host.user("floor")
    assert (user.shell, user.name in host.file("/etc/shadow").content_string) == ("/usr/sbin/nologin", True)
    for path, mode in (
        ("/opt/floor", 0o755),
        ("/etc/floor", 0o755),
        ("/etc/floor/secrets", 0o700),
        ("/var/lib/floor", 0o755),
    ):
        seen = host.file(path)
        assert (seen.is_directory, seen.mode, seen.user) == (True, mode, "root"), path
    assert host.file("/etc/sudoers.d/zz-floor-ops").mode == 0o440
    assert box.ssh(AGENT, input=LOOK).stdout.startswith('@floor {"ok": {"facts"')


def test_a_second_time_nothing_is_to_be_done_and_nothing_is_touched(floor: Floor) -> None:
    box = floor.lab.boxes["boxa"]
    before = everything(box)
    assert floor("setup", "boxa", "--yes").stdout == "boxa: nothing to do\n"
    assert everything(box) == before


def test_the_rule_allows_one_command_word_by_word(floor: Floor) -> None:
    """Held by sudo itself, for a user who may do nothing else."""
    box = floor.lab.boxes["boxa"]
    box.run(["useradd", "--create-home", "--shell", "/bin/bash", "guest"])
    box.run(["sh", "-c", "sed 's/^ops /guest /' /etc/sudoers.d/zz-floor-ops > /etc/sudoers.d/zz-floor-guest"])

    def as_guest(*words: str) -> int:
        return box.run(["runuser", "-u", "guest", "--", *words], check=False, input=LOOK).returncode

    assert as_guest(*AGENT) == 0
    for more in (["--root", "/tmp"], ["-c", "print(1)"]):
        assert as_guest(*AGENT, *more) != 0
    assert as_guest("sudo", "-n", "/opt/floor/current/bin/python", "-c", "print(1)") != 0
    assert as_guest("sudo", "-n", "true") != 0


@pytest.mark.parametrize("user", ["ops", "john.doe", "a-b_c", "machine$"])
def test_sudo_understands_the_rule_for_any_user_name(floor: Floor, user: str) -> None:
    from floor.apply.preparation import rule

    floor.lab.boxes["boxa"].put("/tmp/rule", rule(user), 0o440)
    floor.lab.boxes["boxa"].run(["visudo", "-cf", "/tmp/rule"])


def test_what_shells_print_and_sudo_wants_does_not_matter(floor: Floor) -> None:
    """A greeting in .bashrc, and an administrator who asks for a terminal."""
    box = floor.lab.boxes["boxa"]
    box.run(["sh", "-c", "sed -i '1i echo welcome; echo -n no end of line' /home/ops/.bashrc"])
    box.put("/etc/sudoers.d/zz-local", "Defaults requiretty, use_pty\n", 0o440)
    assert floor("setup", "boxa", "--yes").stdout == "boxa: nothing to do\n"
    from floor.apply.ssh import SshTransport

    os.environ["FLOOR_SSH_CONFIG"] = str(floor.lab.ssh_config)
    try:
        seen = SshTransport("boxa", "boxa").call("observe")
    finally:
        del os.environ["FLOOR_SSH_CONFIG"]
    assert seen["facts"]["hostname"] == "boxa"
    box.run(["rm", "/etc/sudoers.d/zz-local"])


def test_a_followed_journal_ends_on_the_box_when_the_person_leaves(
    floor: Floor, monkeypatch: pytest.MonkeyPatch
) -> None:
    from floor.apply.ssh import SshTransport

    box = floor.lab.boxes["boxa"]
    monkeypatch.setenv("FLOOR_SSH_CONFIG", str(floor.lab.ssh_config))
    box.put("/etc/systemd/system/floor-try.service", "[Service]\nExecStart=/bin/sh -c 'echo hello; sleep 99'\n")
    box.run(["systemctl", "daemon-reload"])
    box.run(["systemctl", "start", "floor-try.service"])
    stream = SshTransport("boxa", "boxa").stream("logs", {"units": ["floor-try.service"], "follow": True})
    assert any("hello" in line for line in (next(stream), next(stream)))
    stream.close()  # type: ignore[attr-defined]
    ends = time.monotonic() + 10
    while box.run(["pgrep", "-x", "journalctl"], check=False).stdout and time.monotonic() < ends:
        time.sleep(0.1)
    assert box.run(["pgrep", "-af", "journalctl|floor.agent"], check=False).stdout == ""


def test_a_new_release_is_carried_over_by_the_agent_itself(floor: Floor, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten megabytes through ssh and sudo; what runs meanwhile keeps its release, and going back builds nothing."""
    from floor.apply.ssh import SshTransport
    from floor.apply.wheels import bundle

    monkeypatch.setenv("FLOOR_SSH_CONFIG", str(floor.lab.ssh_config))
    transport = SshTransport("boxa", "boxa")
    seen = transport.call("observe")
    wheels = bundle(seen["facts"])
    other = {**wheels.params, "release": "0.1.0+0123456789ab"}
    answer = transport.call("release.install", other, payload=wheels.payload, timeout=120)
    assert answer == {"release": "0.1.0+0123456789ab", "changed": True}
    assert transport.call("observe")["release"] == transport.release == "0.1.0+0123456789ab"
    began = time.monotonic()
    assert transport.call("release.install", wheels.params, payload=wheels.payload, timeout=120)["changed"] is True
    print(f"going back took {time.monotonic() - began:.1f} s")
    assert transport.call("observe")["release"] == transport.release == wheels.release


def test_removing_leaves_nothing_but_what_was_there(floor: Floor) -> None:
    box = floor.lab.boxes["boxa"]
    box.put("/models/tiny/weights.bin", "kept")
    said = floor("remove", "boxa", "--yes", "--force", "--purge").stdout
    assert said.splitlines()[-1] == "boxa: floor is removed"
    find = (
        r"find / -xdev \( -name '*floor*' -o -user floor -o -nouser \) -not -path '/proc/*' -not -path '/srv/mirror/*'"
    )
    assert box.run(["sh", "-c", f"{find} 2>/dev/null || true"]).stdout == ""
    assert box.run(["pgrep", "-f", "sleep 99"], check=False).stdout == ""
    assert box.run(["systemctl", "list-units", "--all", "--no-legend", "floor*"]).stdout == ""
    assert box.run(["systemctl", "is-enabled", "nginx.service"], check=False).stdout.strip() != "masked"
    assert not box.host.user("floor").exists
    assert box.read("/models/tiny/weights.bin") == "kept"
    assert floor("status", code=None).returncode != 0  # and a box without floor is told, not crashed on


def test_sites_that_somebody_serves_are_left_alone(floor: Floor, new_b: Box) -> None:
    new_b.put("/etc/nginx/conf.d/shop.conf", "server { listen 81; return 200 'shop'; }\n")
    new_b.run(["systemctl", "restart", "nginx"])
    said = floor("setup", "boxb", "--yes").stdout
    assert "boxb: nginx.service runs there with sites of its own and is left alone" in said
    assert "mask nginx.service" not in said
    assert new_b.run(["curl", "-s", "http://127.0.0.1:81/"]).stdout == "shop"


def test_setup_that_was_killed_is_finished_by_the_same_command(floor: Floor, new_b: Box) -> None:
    """Killed in the middle of the installation, on both ends."""
    process = floor.start("setup", "boxb", "--yes")
    ends = time.monotonic() + 60
    while not new_b.run(["sh", "-c", "ls -d /opt/floor/0.*/lib 2>/dev/null || true"]).stdout:
        assert time.monotonic() < ends
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    new_b.run(["pkill", "-KILL", "-f", "run.py|pip|venv"], check=False)
    process.wait()
    process.stdout and process.stdout.close()
    assert new_b.run(["test", "-e", "/opt/floor/current"], check=False).returncode == 1
    assert "boxb: ready, floor 0.1.0+" in floor("setup", "boxb", "--yes").stdout
    assert floor("setup", "boxb", "--yes").stdout == "boxb: nothing to do\n"
    releases = new_b.run(["sh", "-c", "ls -d /opt/floor/0.*"]).stdout.split()
    assert len(releases) == 1


def test_sudo_that_asks_for_a_password_gets_it_from_the_terminal(floor: Floor, new_b: Box, tmp_path: Path) -> None:
    new_b.run(["useradd", "--create-home", "--shell", "/bin/bash", "pat"])
    new_b.run(["chpasswd"], input=f"pat:{PASSWORD}\n")
    new_b.put("/etc/sudoers.d/pat", "pat ALL=(ALL) ALL\n", 0o440)
    new_b.run(["sh", "-c", "cp -r /home/ops/.ssh /home/pat/ && chown -R pat:pat /home/pat/.ssh"])
    other = Floor(floor.lab, tmp_path)
    other.write(site(floor.lab).replace(f"{{host: {new_b.address}}}", f"{{host: {new_b.address}, ssh: pat@boxb}}"))
    refused = other("setup", "boxb", "--yes", code=1)
    assert "sudo asks for a password there; run this from a terminal" in refused.stdout + refused.stderr
    said = typed(other, ["setup", "boxb", "--yes"], {"password": PASSWORD})
    assert "boxb: ready, floor 0.1.0+" in said
    assert new_b.host.file("/etc/sudoers.d/zz-floor-pat").exists
    assert other("setup", "boxb", "--yes").stdout == "boxb: nothing to do\n"


def typed(floor: Floor, words: list[str], answers: dict[str, str], seconds: float = 90) -> str:
    """Run `floor WORDS` on a terminal of its own and type an answer after each prompt; return what was shown."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(floor.folder)
        argv = floor._argv(tuple(words))
        os.execvpe(argv[0], argv, floor.environment)  # noqa: S606 # no shell is wanted
    shown, waiting = "", dict(answers)
    ends = time.monotonic() + seconds
    try:
        while time.monotonic() < ends:
            if not select.select([terminal], [], [], 1)[0]:
                continue
            try:
                shown += os.read(terminal, 4096).decode(errors="replace")
            except OSError:  # the other end is closed: it is over
                break
            for prompt in [prompt for prompt in waiting if prompt in shown.lower()]:
                os.write(terminal, f"{waiting.pop(prompt)}\n".encode())
    finally:
        os.close(terminal)
        _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0, shown
    return shown


NO_KNOWN_HOSTS = "UserKnownHostsFile /dev/null\nGlobalKnownHostsFile /dev/null\nStrictHostKeyChecking yes\n"
CONFIGS = {
    "host key": (NO_KNOWN_HOSTS, "host key is not known here"),
    "no key": ("User nosuch\n", "it does not let this user in; put your key there"),
    "no name": ("HostName boxb.invalid\n", "its name does not resolve"),
    "refused": ("Port 9\n", "nothing listens on its ssh port"),
    "nonsense": ("NoSuchOption yes\n", "ssh does not understand its configuration file"),
}


@pytest.mark.parametrize("case", CONFIGS)
def test_real_ssh_failures_are_told_in_words(
    floor: Floor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    from floor.apply.ssh import SshTransport
    from floor.errors import BoxError

    lines, words = CONFIGS[case]
    config = tmp_path / "config"
    config.write_text(f"Host boxb\n{lines}\nInclude {floor.lab.ssh_config}\n")
    monkeypatch.setenv("FLOOR_SSH_CONFIG", str(config))
    monkeypatch.setenv("XDG_RUNTIME_DIR", "")
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    subprocess.run(["ssh", "-F", str(floor.lab.ssh_config), "-O", "exit", "boxb"], capture_output=True, check=False)
    with pytest.raises(BoxError, match=words):
        SshTransport("boxb", "boxb").call("observe")


def test_a_box_without_floor_says_what_to_run(floor: Floor, new_b: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    from floor.apply.ssh import SshTransport
    from floor.errors import BoxError

    monkeypatch.setenv("FLOOR_SSH_CONFIG", str(floor.lab.ssh_config))
    with pytest.raises(BoxError, match="floor is not installed there; run `floor setup boxb`"):
        SshTransport("boxb", "boxb").call("observe")


def test_a_box_behind_a_cut_wire_is_told_to_be_lost(floor: Floor, new_b: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    """A shared connection that is already open must not make a lost box look slow: 20 s are the goal."""
    from floor.apply.ssh import SshTransport
    from floor.apply.transport import UnreachableError

    floor("setup", "boxb", "--yes")
    monkeypatch.setenv("FLOOR_SSH_CONFIG", str(floor.lab.ssh_config))
    transport = SshTransport("boxb", "boxb")
    transport.call("observe")
    new_b.partition()
    began = time.monotonic()
    with pytest.raises(UnreachableError, match=r"boxb: (cannot be reached|no answer)"):
        transport.call("observe", timeout=60)
    took = time.monotonic() - began
    print(f"a lost box was told after {took:.1f} s")
    new_b.heal()
    assert took < 40
    assert transport.call("observe")["facts"]["hostname"] == "boxb"
