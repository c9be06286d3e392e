"""`proxy` and `health`: how requests reach the copies, and how the copies are judged."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from floor.config.values import Address, Duration, Name, Network, Part, Port, Readable, Size, Write

# nginx lets a pooled connection go before an engine does: uvicorn closes idle ones after 5 s (Kludex/uvicorn#344),
# and a request sent into the closing socket would be a sporadic 502.
IDLE_TIME = 3.0


class Tls(Part):
    """What the proxies' ports speak https with."""

    certificate: Readable
    """File with the certificate, and with those that it was signed by; on every proxy box."""
    key: Readable
    """File with its private key, on every proxy box; root's alone."""


class Proxy(Part):
    """nginx in front of the copies."""

    boxes: list[Name]
    """Boxes that run nginx."""
    listen: Port = 8080
    """Port for clients."""
    address: Address | None = None
    """Address that the proxies share: one of them holds it (keepalived), another takes it over. Default: none."""
    max_body: Size = 64 * 2**20
    """Largest request; several images in base64 fit the default."""
    connect_timeout: Duration = 2.0
    """Longest wait for a connection to a copy."""
    direct: Annotated[Literal["deny", "warn"], Write("deny or warn")] = "deny"
    """Who asks an engine past the proxy: deny keeps them off, warn lets them through; `floor status` names them."""
    allow: list[Network] = Field(default_factory=list)
    """Addresses and networks that may ask engines directly, such as Prometheus. Default: none."""
    clients: list[Name] = Field(default_factory=list)
    """Clients that get a key each (`floor key show NAME`); with any, nobody is served without. Default: none."""
    tls: Tls | None = None
    """https in place of http. Default: none."""


class Health(Part):
    """How a copy is judged."""

    interval: Duration = 0.5
    """Time between two checks of a copy."""
    stall: Duration = 300.0
    """Time without progress after which a busy copy counts as hung: longer than its longest prompt takes."""
    min_speed: Annotated[float, Field(gt=0), Write("tokens a second, a number above 0")] | None = None
    """Tokens a second below which a copy counts as slow. Default: no limit."""
