"""The members file: its very bytes, and that it is read back as it was meant."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from floor.pool.members import read, text
from floor.pool.settings import Pool
from tests.unit.pool.documents import backend, settings

SOCKET = "/run/floor/nginx/empty.sock"
NAMES = ("flagship@a", "flagship@b", "flagship@mac")


def pools() -> tuple[Pool, ...]:
    return settings(
        backend("flagship@a", "192.0.2.11"),
        backend("flagship@b", "fd00::2", weight=3),
        backend("flagship@mac", "192.0.2.20", server="unix:/run/floor/nginx/detour-1.sock"),
    ).pools


def lines(made: str) -> list[str]:
    return [line.strip() for line in made.splitlines() if line.strip() and not line.strip().startswith("#")]


def test_members_stand_in_the_order_of_the_settings_with_a_backup_that_answers_503() -> None:
    assert lines(text(pools(), ["flagship@mac", "flagship@b", "flagship@a"], SOCKET)) == [
        "upstream floor_flagship {",
        "zone floor_flagship 512k;",
        "least_conn;",
        "server 192.0.2.11:8000 weight=1 max_fails=0;",
        "server [fd00::2]:8000 weight=3 max_fails=0;",
        "server unix:/run/floor/nginx/detour-1.sock weight=1 max_fails=0;",
        "server unix:/run/floor/nginx/empty.sock backup;",
        "keepalive 32;",
        "keepalive_timeout 3s;",
        "}",
    ]


def test_an_empty_pool_has_the_socket_as_a_plain_server_because_nginx_refuses_backups_alone() -> None:
    assert lines(text(pools(), [], SOCKET))[3] == "server unix:/run/floor/nginx/empty.sock;"


def test_a_path_with_a_space_stays_one_word() -> None:
    assert 'server "unix:/tmp/a b/empty.sock" backup;' in text(pools(), NAMES, "/tmp/a b/empty.sock")


@given(members=st.sets(st.sampled_from(NAMES)))
def test_who_was_written_is_read(members: set[str]) -> None:
    assert read(pools(), text(pools(), members, SOCKET)) == members


def test_a_backend_under_another_address_is_not_in() -> None:
    moved = settings(backend("flagship@a", "192.0.2.99")).pools
    assert read(moved, text(pools(), NAMES, SOCKET)) == set()


@given(st.text())
def test_any_text_is_read_as_nobody(found: str) -> None:
    assert read(pools(), found) == set()
