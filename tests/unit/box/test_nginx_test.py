"""A configuration is tried on a copy: nothing of the live tree is read, made or changed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from floor.box import nginx_test
from floor.box.command import Result
from floor.errors import UsageError

MAIN = "/etc/floor/nginx/nginx.conf"


def test_every_path_of_floors_moves_and_no_other(tmp_path: Path) -> None:
    text = (
        "pid /run/floor/nginx/nginx.pid;\n"
        "include /run/floor/nginx/members.conf;\n"
        'include "/etc/floor/secrets/engine-key.conf";\n'
        "listen unix:/run/floor/nginx/empty.sock;\n"
        "client_body_temp_path /var/cache/floor/nginx/body;\n"
        "access_log syslog:server=unix:/run/systemd/journal/dev-log;\n"
        "include /etc/nginx/mime.types;\n"
        "include http/*.conf;\n"
        "location /floor/health {}\n"
        "root /etc/floorplan;\n"
    )
    moved = nginx_test.moved(text, tmp_path)
    assert moved == (
        f"pid {tmp_path}/run/floor/nginx/nginx.pid;\n"
        f"include {tmp_path}/run/floor/nginx/members.conf;\n"
        f'include "{tmp_path}/etc/floor/secrets/engine-key.conf";\n'
        f"listen unix:{tmp_path}/run/floor/nginx/empty.sock;\n"
        f"client_body_temp_path {tmp_path}/var/cache/floor/nginx/body;\n"
        "access_log syslog:server=unix:/run/systemd/journal/dev-log;\n"
        "include /etc/nginx/mime.types;\n"
        "include http/*.conf;\n"
        "location /floor/health {}\n"
        "root /etc/floorplan;\n"
    )
    assert (tmp_path / "run/floor/nginx").is_dir()
    assert (tmp_path / "var/cache/floor/nginx").is_dir()
    assert not (tmp_path / "var/cache/floor/nginx/body").exists()


def test_nginx_gets_a_copy_with_members_and_a_sample_key_and_answers_with_the_real_names() -> None:
    seen: dict[str, str] = {}

    def nginx(argv: Sequence[str]) -> Result:
        main = Path(argv[argv.index("-c") + 1])
        stage = main.parents[3]
        for path in stage.rglob("*"):
            if path.is_file():
                seen["/" + str(path.relative_to(stage))] = path.read_text().replace(str(stage), "")
        return Result(1, "", f"nginx: [emerg] unknown directive in {main}:3")

    files = [
        {"path": MAIN, "text": "include http/a.conf;"},
        {"path": "/etc/floor/nginx/http/a.conf", "text": "# a"},
        {"path": "/etc/floor/pool.json", "text": "{}"},
    ]
    answer = nginx_test.staged(files, "upstream x {}", nginx)
    assert answer == {"ok": False, "output": f"nginx: [emerg] unknown directive in {MAIN}:3"}
    assert seen[MAIN] == "include http/a.conf;"
    assert seen["/etc/floor/nginx/http/a.conf"] == "# a"
    assert seen["/run/floor/nginx/members.conf"] == "upstream x {}"
    assert seen["/etc/floor/secrets/engine-key.conf"] == (
        'proxy_set_header Authorization "Bearer staged-instead-of-the-real-key";\n'
    )
    assert "/etc/floor/pool.json" not in seen


def test_the_copy_is_removed_afterwards() -> None:
    folders: list[Path] = []

    def nginx(argv: Sequence[str]) -> Result:
        folders.append(Path(argv[argv.index("-c") + 1]).parents[3])
        return Result(0, "", "")

    assert nginx_test.staged([{"path": MAIN, "text": ""}], "", nginx) == {"ok": True, "output": ""}
    assert not folders[0].exists()


def test_a_socket_in_the_copy_has_a_path_short_enough() -> None:
    """A unix socket's path holds 107 bytes; names of models hold 40 characters."""
    lengths: list[int] = []

    def nginx(argv: Sequence[str]) -> Result:
        stage = Path(argv[argv.index("-c") + 1]).parents[3]
        lengths.append(len(f"{stage}/run/floor/nginx/detour-{'m' * 40}-.sock"))
        return Result(0, "", "")

    nginx_test.staged([{"path": MAIN, "text": ""}], "", nginx)
    assert lengths[0] <= 107


def test_without_nginx_it_is_said_what_to_do() -> None:
    answer = nginx_test.staged([{"path": MAIN, "text": ""}], "", lambda _argv: Result(None, "", "nginx: not installed"))
    assert answer == {"ok": False, "output": "nginx is not installed on this box; run floor setup"}


def test_files_without_a_main_configuration_are_a_callers_mistake() -> None:
    with pytest.raises(UsageError, match=r"nginx.test: /etc/floor/nginx/nginx.conf is not among the files"):
        nginx_test.staged([], "")
