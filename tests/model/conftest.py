"""Simulated boxes for the model tests."""

from tests.simulated.fixtures import situation

__all__ = ["situation"]
