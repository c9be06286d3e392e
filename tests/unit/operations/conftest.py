"""Operations on boxes that exist only in memory."""

from tests.simulated.fixtures import deployed, situation

__all__ = ["deployed", "situation"]
