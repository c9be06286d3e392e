"""Ordinary ssh into the boxes: keys of this run, a config file, known hosts; nothing of the machine's own."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from tests.lab.commands import run

CONFIG_HEAD = """\
Host *
  IdentityFile {folder}/key
  IdentitiesOnly yes
  UserKnownHostsFile {folder}/known_hosts
  GlobalKnownHostsFile /dev/null
  StrictHostKeyChecking yes
  BatchMode yes
  ConnectTimeout 5
"""

# `boxa` logs in as a person who may use sudo, `boxa-root` as root.
CONFIG_BOX = """\
Host {name}
  HostName {address}
  HostKeyAlias {name}
  User ops
Host {name}-root
  HostName {address}
  HostKeyAlias {name}
  User root
"""

# OpenSSH finds ~/.ssh through the password file, whatever HOME says: a program under test that calls plain `ssh`
# gets to the boxes with this folder first in PATH.
WRAPPER = """\
#!/bin/sh
exec {program} -F {config} "$@"
"""


def write(folder: Path, addresses: Mapping[str, str]) -> Path:
    """Write keys, known_hosts, `bin/ssh`, `bin/scp` and the ssh config into `folder`; return the config's path.

    `addresses` are names and addresses of boxes; `hostkey-NAME` is to be put into each (see `authorise`).
    """
    make_key(folder / "key")
    for name in addresses:
        make_key(folder / f"hostkey-{name}")
    known = [f"{name} {(folder / f'hostkey-{name}.pub').read_text()}" for name in addresses]
    (folder / "known_hosts").write_text("".join(known))
    config = folder / "ssh_config"
    boxes = "".join(CONFIG_BOX.format(name=name, address=address) for name, address in addresses.items())
    config.write_text(boxes + CONFIG_HEAD.format(folder=folder))
    (folder / "bin").mkdir()
    for program in ("ssh", "scp"):
        wrapper = folder / "bin" / program
        wrapper.write_text(WRAPPER.format(program=shutil.which(program), config=config))
        wrapper.chmod(0o755)
    return config


def make_key(path: Path) -> None:
    """Make an ed25519 key without a passphrase at `path` and `path`.pub."""
    run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", path.name, "-f", path])


def authorise(root: Path, folder: Path, name: str) -> None:
    """Put the run's key among those of root and ops, and the box's host key, into the file system at `root`."""
    for home in (root / "root", root / "home/ops"):
        owner = home.stat()
        keys = home / ".ssh"
        keys.mkdir(mode=0o700, exist_ok=True)
        shutil.copy(folder / "key.pub", keys / "authorized_keys")
        for path in (keys, keys / "authorized_keys"):
            shutil.chown(path, owner.st_uid, owner.st_gid)
    for suffix in ("", ".pub"):
        shutil.copy(folder / f"hostkey-{name}{suffix}", root / f"etc/ssh/ssh_host_ed25519_key{suffix}")
