"""Who may give orders to a simulated engine."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from floor.sim.control import allowed
from floor.sim.exchange import Exchange
from floor.sim.settings import Settings, Simulation


def asked(client: tuple[str, int] | None, port: int = 8000, token: str | None = None) -> Exchange:
    headers = [(b"x-sim-token", token.encode())] if token else []
    scope = {"client": client, "server": ("192.0.2.11", port), "headers": headers}
    return Exchange(scope, None, None, lambda: None)  # type: ignore[arg-type]  # nothing is sent or received


@pytest.mark.parametrize(
    ("client", "port", "token", "may"),
    [
        (("127.0.0.1", 1), 8000, None, True),
        (("127.3.2.1", 1), 8000, None, True),
        (("::1", 1), 8000, None, True),
        (("::ffff:127.0.0.1", 1), 8000, None, True),
        (("192.0.2.12", 1), 8000, None, False),
        (("192.0.2.12", 1), 8000, "wrong", False),
        (("192.0.2.12", 1), 8000, "secret", True),
        (("192.0.2.12", 1), 9000, None, True),
        (None, 8000, None, False),
    ],
)
def test_this_machine_the_control_port_or_the_token(
    client: tuple[str, int] | None, port: int, token: str | None, may: bool
) -> None:
    settings = Settings(simulation=Simulation(control_port=9000, control_token="secret"))
    assert allowed(SimpleNamespace(settings=settings), asked(client, port, token)) is may  # type: ignore[arg-type]


def test_without_a_token_set_none_fits() -> None:
    sim = SimpleNamespace(settings=Settings())
    assert not allowed(sim, asked(("192.0.2.12", 1), token="None"))  # type: ignore[arg-type]
