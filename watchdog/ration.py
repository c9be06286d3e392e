"""How often the watchdog may act on a copy. Pure."""

from __future__ import annotations

from .memory import Memory

# Seconds after the last act before the next one of the same streak: 35 restarts in a row exhausted a box until sshd
# stopped answering (eugr/spark-vllm-docker#257), and what heals by itself does so within a quarter of an hour.
BACK_OFF = (0.0, 60.0, 300.0, 900.0, 1800.0)

# Acts in a row without ten minutes of work between them, after which only a person can tell what is wrong.
GIVES_UP = len(BACK_OFF)


def used_up(memory: Memory) -> bool:
    """Whether the streak has been as long as it may be: nothing more is tried."""
    return memory.streak >= GIVES_UP


def wait(memory: Memory, per_hour: int, now: float) -> float:
    """Given a memory, how many acts an hour may have and the time, return the seconds until the next act may be."""
    if not memory.acts:
        return 0.0
    pause = memory.acts[-1] + BACK_OFF[min(memory.streak, len(BACK_OFF) - 1)] - now
    window = memory.acts[-per_hour] + 3600.0 - now if len(memory.acts) >= per_hour else 0.0
    return max(0.0, pause, window)
