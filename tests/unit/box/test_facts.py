"""Facts of a box: what is not there is None, and `[N/A]` is not 0."""

from __future__ import annotations

from pathlib import Path

import pytest

from floor.box import facts

from .conftest import Programs


@pytest.fixture
def installed(programs: Programs) -> Programs:
    programs.on("systemctl", "--version", out="systemd 252 (252.39-1~deb12u1)\n+PAM +AUDIT\n")
    programs.on("nginx", "-v", err="nginx version: nginx/1.22.1\n")
    programs.on("docker", "version", out="20.10.24+dfsg1\n")
    return programs


def test_all_facts_of_a_box(installed: Programs, root: Path) -> None:
    seen = facts.read(installed, root)
    assert seen["boot_id"] == "11111111-2222-3333-4444-555555555555"
    assert (seen["systemd"], seen["nginx"], seen["docker"], seen["docker_error"]) == (
        "252",
        "1.22.1",
        "20.10.24+dfsg1",
        None,
    )
    assert seen["memory"] == {"total": None, "available": None}
    assert seen["gpus"] == []
    assert {"hostname", "machine", "libc", "python", "ipv6", "nginx_user", "addresses", "cpus"} <= set(seen)


def test_programs_that_are_not_installed_are_none(programs: Programs, root: Path) -> None:
    seen = facts.read(programs, root)
    assert (seen["systemd"], seen["nginx"], seen["docker"], seen["docker_error"]) == (None, None, None, None)


def test_a_docker_that_is_down_is_told_with_the_reason(programs: Programs, root: Path) -> None:
    programs.on("docker", err="Cannot connect to the Docker daemon", code=1)
    seen = facts.read(programs, root)
    assert seen["docker"] is None
    assert seen["docker_error"].startswith("docker does not answer: Cannot connect")


def test_nginx_says_its_version_with_a_suffix_too(programs: Programs, root: Path) -> None:
    programs.on("nginx", err="nginx version: nginx/1.24.0 (Ubuntu)\n")
    assert facts.read(programs, root)["nginx"] == "1.24.0"


@pytest.mark.parametrize(("text", "expected"), [(None, False), ("", False), ("fe80... 02 40 20 80 eth0\n", True)])
def test_a_box_has_ipv6_when_it_has_an_address_of_it(root: Path, text: str | None, expected: bool) -> None:
    if text is not None:
        (root / "proc/net").mkdir()
        (root / "proc/net/if_inet6").write_text(text)
    assert facts.ipv6(root) is expected


@pytest.mark.parametrize(
    ("there", "expected"),
    [({"www-data", "nobody"}, "www-data"), ({"nginx"}, "nginx"), ({"nobody"}, "www-data"), (set(), "www-data")],
)
def test_workers_run_as_the_user_that_nginx_was_packaged_with(there: set[str], expected: str) -> None:
    assert facts.nginx_user(there.__contains__) == expected


def test_a_user_without_a_group_of_its_name_does_not_count() -> None:
    """Debian's nobody has the group nogroup: `user nobody;` would fail there."""
    assert facts._has_user_and_group("root")
    assert not facts._has_user_and_group("nobody")


@pytest.mark.parametrize(
    ("line", "total", "used"),
    [
        ("NVIDIA GB10, [N/A], [N/A], 580.95.05", None, None),
        ("NVIDIA GB10, Not Supported, Not Supported, 580.95.05", None, None),
        ("NVIDIA RTX 6000, 49140, 512, 550.54", 49140 * 1024**2, 512 * 1024**2),
    ],
)
def test_gpu_memory_that_is_not_told_is_none(
    programs: Programs, line: str, total: int | None, used: int | None
) -> None:
    programs.on("nvidia-smi", out=line + "\n")
    (gpu,) = facts.gpus(programs)
    assert (gpu["total"], gpu["used"]) == (total, used)
    assert gpu["name"].startswith("NVIDIA")


@pytest.mark.parametrize("text", ["", "No devices were found\n", "a, b\n"])
def test_no_gpu_is_an_empty_list(programs: Programs, text: str) -> None:
    programs.on("nvidia-smi", out=text)
    assert facts.gpus(programs) == []


def test_a_driver_that_fails_is_no_gpu(programs: Programs) -> None:
    programs.on("nvidia-smi", out="NVIDIA-SMI has failed", code=9)
    assert facts.gpus(programs) == []


def test_loopback_is_no_address_of_the_box() -> None:
    assert not any(one.startswith("127.") or one == "::1" or "%" in one for one in facts.addresses())
