"""`floor drain` and `floor undrain`."""

from __future__ import annotations

from typing import Annotated

import typer

from floor.cli.options import DEFAULT, ConfigPath, Force, open_site, say

Backend = Annotated[str, typer.Argument(help="MODEL@BOX, or a box that holds one backend.")]


def drain(backend: Backend, config: ConfigPath = DEFAULT, force: Force = False) -> None:
    """Take a backend out of every pool and wait until it has finished. It stays out until `floor undrain`.

    Refuses to take the last member of a pool unless --force accepts the outage.
    """
    from floor.operations import drain as operation

    site = open_site(config)
    operation.drain(site, operation.find(site, backend), say, last=force)


def undrain(backend: Backend, config: ConfigPath = DEFAULT) -> None:
    """Let a drained backend into the pools again, and wait until it is there."""
    from floor.operations import drain as operation

    site = open_site(config)
    operation.undrain(site, operation.find(site, backend), say)
