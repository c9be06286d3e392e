"""The root file system all boxes stand on: Debian as the machine's own apt gives it, built once and cached.

nginx and docker are in it, enabled as Debian's packages leave them, for boxes have no internet to install them from:
masking nginx's own service is part of what `floor setup` does.
"""

from __future__ import annotations

import inspect
import os
import platform
from pathlib import Path

from tests.lab.cache import cached
from tests.lab.commands import run
from tests.lab.machine import LabError

PACKAGES = (
    "systemd", "systemd-sysv", "dbus", "openssh-server", "iproute2", "python3", "python3-venv", "sudo", "curl",
    "procps", "nginx-light", "libnginx-mod-http-lua", "lua-cjson", "keepalived", "libnuma1",
    "docker.io", "runc", "iptables", "nftables",
)  # fmt: skip

# Without the network these only fail, or wake a box that a test is timing.
DISABLED = ("keepalived.service", "apt-daily.timer", "apt-daily-upgrade.timer", "e2scrub_all.timer",
            "dpkg-db-backup.timer", "fstrim.timer", "e2scrub_reap.service")  # fmt: skip
# ipvsadm would load a kernel module; the consoles wait for a terminal that a box does not have.
MASKED = ("ipvsadm.service", "console-getty.service", "getty@tty1.service", "systemd-pstore.service")

# iptables and the bridge need modules and rights that a box does not have: containers use the host's network.
DOCKER_DAEMON = """\
{"iptables": false, "ip6tables": false, "bridge": "none", "ip-forward": false, "userland-proxy": false}
"""


def root_file_system() -> Path:
    """Return the cached root file system, building it if the package list or its preparation changed (a minute)."""
    release = os_release()["VERSION_CODENAME"]
    made_from = "\n".join(
        (release, platform.machine(), *PACKAGES, *DISABLED, *MASKED, DOCKER_DAEMON, inspect.getsource(prepare))
    )
    return cached("root", made_from, lambda folder: build(folder, release))


def os_release() -> dict[str, str]:
    """Return this machine's /etc/os-release: a box has the same release, so that its python3 is the same."""
    return dict(platform.freedesktop_os_release())


def build(folder: Path, release: str) -> None:
    """Install `release` with PACKAGES into `folder` and prepare it as a box. Raises CommandFailed."""
    root = folder / "fs"
    run(
        ["debootstrap", "--variant=minbase", f"--include={','.join(PACKAGES)}", release, root, mirror(release)],
        timeout=1200,
        env=os.environ | proxy(),
    )
    prepare(root)


def mirror(release: str) -> str:
    """Return the address this machine's apt has the packages of `release` from. Raises LabError if it has none."""
    targets = run(["apt-get", "indextargets", "--format", "$(SITE)", f"Codename: {release}", "Created-By: Packages"])
    if not targets.stdout.strip():
        raise LabError(f"apt on this machine names no source for {release}: check /etc/apt, then run apt-get update")
    return targets.stdout.splitlines()[0]


def proxy() -> dict[str, str]:
    """Return the environment in which debootstrap uses the proxy that apt is set up with, if any."""
    words = run(["apt-config", "shell", "PROXY", "Acquire::http::Proxy"]).stdout.strip()
    return {"http_proxy": words.removeprefix("PROXY=").strip("'")} if words else {}


def prepare(root: Path) -> None:
    """Make a box of the bare system in `root`: services, docker's settings, the account of who administers it."""
    run(["systemctl", f"--root={root}", "disable", *DISABLED])
    run(["systemctl", f"--root={root}", "mask", *MASKED])
    run(["chroot", root, "groupadd", "-f", "docker"])
    (root / "etc/docker").mkdir(exist_ok=True)
    (root / "etc/docker/daemon.json").write_text(DOCKER_DAEMON)
    run(["chroot", root, "useradd", "--create-home", "--shell", "/bin/bash", "ops"])
    sudoers = root / "etc/sudoers.d/ops"
    sudoers.write_text("ops ALL=(ALL) NOPASSWD: ALL\n")
    sudoers.chmod(0o440)
    for key in (root / "etc/ssh").glob("ssh_host_*"):
        key.unlink()  # each box gets its own at boot
    # debootstrap copies these from this machine, whose names mean nothing in a box
    for name in ("etc/machine-id", "etc/hostname", "etc/resolv.conf"):
        (root / name).write_text("")
    for package in (root / "var/cache/apt/archives").glob("*.deb"):
        package.unlink()
