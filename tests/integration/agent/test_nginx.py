"""The real nginx tries a configuration on a copy."""

from __future__ import annotations

from typing import Any

from floor.apply.local import LocalTransport

MAIN = """
pid /run/floor/nginx/nginx.pid;
events {}
http {
  client_body_temp_path /var/cache/floor/nginx/body;
  include /run/floor/nginx/members.conf;
  include http/*.conf;
  server {
    listen unix:/run/floor/nginx/empty.sock;
    location / { include /etc/floor/secrets/engine-key.conf; proxy_pass http://floor_m; }
  }
}
"""


def tried(box: LocalTransport, members: str, extra: str = "") -> Any:
    files = [
        {"path": "/etc/floor/nginx/nginx.conf", "text": MAIN},
        {"path": "/etc/floor/nginx/http/extra.conf", "text": extra},
    ]
    return box.call("nginx.test", {"files": files, "members": members})


def test_a_right_configuration_passes_with_sockets_keys_and_temporary_folders(box: LocalTransport) -> None:
    assert tried(box, "upstream floor_m { server 127.0.0.1:8000; }") == {"ok": True, "output": ""}


def test_a_wrong_one_is_told_with_its_real_place(box: LocalTransport) -> None:
    answer = tried(box, "upstream floor_m { server 127.0.0.1:8000; }", "nonsense on;\n")
    assert answer["ok"] is False
    assert 'unknown directive "nonsense" in /etc/floor/nginx/http/extra.conf:1' in answer["output"]


def test_a_member_that_is_wrong_is_found_too(box: LocalTransport) -> None:
    """An IPv6 address without brackets; a name that does not resolve stops nginx as well."""
    assert "invalid port in upstream" in tried(box, "upstream floor_m { server fd00::2:8000; }")["output"]
    answer = tried(box, "upstream floor_m { server spark-2.invalid:8000; }")
    assert "host not found in upstream" in answer["output"]
    assert "/run/floor/nginx/members.conf:1" in answer["output"]
