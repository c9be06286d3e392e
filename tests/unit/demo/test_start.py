"""The demo before anything runs: without nginx it says what to install."""

from __future__ import annotations

import pytest

from examples.demo import site
from examples.demo.tempo import FAST, Tempo
from floor import config
from floor.errors import FloorError


def test_without_nginx_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site, "nginx_program", lambda: None)
    with pytest.raises(FloorError) as found, site.make_site(FAST):
        pass
    assert str(found.value) == "nginx is not installed here; install it with: sudo apt-get install nginx-light"


def test_its_floor_yaml_is_one_that_floor_takes() -> None:
    text = site.fill_in(Tempo(), ports=iter(range(8001, 8010)))
    found = config.parse(text)
    assert [copy.backend for copy in found.copies("flagship")] == ["flagship@spark-a", "flagship@spark-b"]
    assert found.proxy.boxes == ["spark-a"]


def test_the_fast_one_differs_in_time_alone() -> None:
    slow, fast = (site.fill_in(tempo, ports=iter(range(8001, 8010))) for tempo in (Tempo(), FAST))
    differing = [line for line, other in zip(slow.splitlines(), fast.splitlines(), strict=True) if line != other]
    assert len(differing) == 1
    assert "sim-load-time" in differing[0]
