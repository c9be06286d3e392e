"""What holds for all tests: the machine may be busy, so that no property is judged by the time it takes."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile("floor", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("floor")
