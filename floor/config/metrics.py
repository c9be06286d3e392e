"""`metrics`: where the figures of all copies can be read, by Prometheus and by people."""

from __future__ import annotations

from pydantic import Field

from floor.config.values import Duration, Network, Part, Port


class Metrics(Part):
    """A page for Prometheus on each box: its own figures, on proxy boxes those of all copies. And one for people."""

    @property
    def wanted(self) -> bool:
        """Whether proxy boxes have the service for it."""
        return self.listen is not None or bool(self.page)

    listen: Port | None = None
    """Port of the page, on each box that floor manages. Default: none, where there is no page."""
    allow: list[Network] = Field(default_factory=list)
    """Addresses and networks that may read it, beside the boxes themselves. Default: none."""
    page: list[Network] = Field(default_factory=list)
    """Addresses and networks that may open the status page, `/floor/` on the proxies' ports. Default: none, where there
    is no status page."""
    interval: Duration = 5.0
    """Time between two looks at a copy, 500ms to 30s."""
