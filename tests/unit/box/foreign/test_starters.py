"""Units, timers and lines of cron that would start or stop an engine, found by what they and their scripts say."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from floor.box.command import Result
from floor.box.foreign import proxies, starters

SHOWN = {
    "vllm.service": "Id=vllm.service\nFragmentPath=/etc/systemd/system/vllm.service\nUnitFileState=enabled\n"
    "ActiveState=active\nExecStart={ path=/opt/vllm/bin/vllm ; argv[]=/opt/vllm/bin/vllm serve /m --api-key abc ; "
    "ignore_errors=no ; start_time=[n/a] }\nRestart=always\nConflicts=shutdown.target floor-copy-flagship.service\n",
    "watch.timer": "Id=watch.timer\nFragmentPath=/etc/systemd/system/watch.timer\nUnitFileState=enabled\n"
    "ActiveState=active\nTriggers=watch.service\n",
    "watch.service": "Id=watch.service\nFragmentPath=/etc/systemd/system/watch.service\nUnitFileState=static\n"
    "ActiveState=inactive\nExecStart={ path=/srv/watch.sh ; argv[]=/srv/watch.sh ; ignore_errors=no ; x }\n",
    "ssh.service": "Id=ssh.service\nExecStart={ path=/usr/sbin/sshd ; argv[]=/usr/sbin/sshd ; ignore_errors=no ; }\n",
    "floor-pool.service": "Id=floor-pool.service\nConflicts=floor-x.service\n",
}


def systemd(argv: Sequence[str]) -> Result:
    if argv[1].startswith("list"):
        names = [name for name in SHOWN if name != "watch.service"]
        return Result(0, "".join(f"{name} enabled\n" for name in names), "")
    return Result(0, "\n\n".join(SHOWN[name].strip() for name in argv if name in SHOWN), "")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for folder in ("srv", "etc/cron.d", "var/spool/cron/crontabs"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "srv/watch.sh").write_text("#!/bin/sh\n# vllm\ncurl -sf http://127.0.0.1:8000/health || exit 1\n")
    (tmp_path / "srv/up.sh").write_text("#!/bin/sh\ndocker start vllm-main\n")
    (tmp_path / "etc/crontab").write_text("SHELL=/bin/sh\n17 * * * * root run-parts /etc/cron.hourly\n")
    (tmp_path / "etc/cron.d/models").write_text("# vllm\n@reboot root /srv/up.sh --token abc\n*/5 * * * * bob true\n")
    (tmp_path / "var/spool/cron/crontabs/alice").write_text("* * * * * pgrep vllm || tmux new -d vllm serve /m\n")
    return tmp_path


def test_units_and_timers_with_their_evidence(root: Path) -> None:
    found = {one["name"]: one for one in starters.look(["vllm-main"], [8000], root, systemd)["units"]}
    assert sorted(found) == ["vllm.service", "watch.timer"]
    unit = found["vllm.service"]
    assert (unit["enabled"], unit["active"], unit["conflicts"]) == (
        "enabled",
        "active",
        ["floor-copy-flagship.service"],
    )
    assert unit["mentions"][0]["word"] == "vllm"
    assert "abc" not in str(unit)
    (mention,) = found["watch.timer"]["mentions"]
    assert (mention["word"], mention["where"]) == ("8000", "/srv/watch.sh:3")
    assert mention["line"].startswith("curl -sf")


def test_lines_of_cron_with_their_evidence(root: Path) -> None:
    found = starters.look(["vllm-main"], [8000], root, systemd)["cron"]
    assert [(one["path"], one["number"], one["user"]) for one in found] == [
        ("/etc/cron.d/models", 2, "root"),
        ("/var/spool/cron/crontabs/alice", 1, "alice"),
    ]
    assert found[0]["mentions"] == [
        {"word": "vllm-main", "where": "/srv/up.sh:2", "line": "docker start vllm-main", "acts": True}
    ]
    assert "abc" not in str(found)


def test_other_proxies_that_lead_to_an_engine(root: Path) -> None:
    (root / "etc/nginx/conf.d").mkdir(parents=True)
    (root / "etc/nginx/conf.d/llm.conf").write_text("# :8000\nupstream x { server 192.0.2.11:8000; server b:80001; }\n")
    (one,) = proxies.look([8000], root)
    assert one["where"] == "/etc/nginx/conf.d/llm.conf:2"
    assert proxies.look([], root) == []


def test_other_numbers_are_no_ports() -> None:
    seek = starters.Seek([], [8000], Path("/"))
    assert not seek.mentions("sleep 80000 18000 1.8000", "x")
    assert seek.mentions("curl localhost:8000/v1", "x")
    assert seek.mentions("ss -ltn sport 8000", "x")
