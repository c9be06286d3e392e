"""What holds for all tests: the machine may be busy, so that no property is judged by the time it takes."""

from __future__ import annotations

import signal

from hypothesis import HealthCheck, settings

settings.register_profile("floor", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("floor")

# A shell starts what runs in the background with Ctrl-C ignored, and every process below inherits that: what is tested
# about Ctrl-C would then be tested without one.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
