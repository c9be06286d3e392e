"""Any interleaving of callers, time, boots and deaths: never two holders, epochs only rise, who slept is refused."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from floor.box import lease
from floor.box.lease import HeldError, Now
from floor.errors import RefusedError

WHO = st.sampled_from([(user, host, pid) for user in ("ann", "bob") for host in ("x", "y") for pid in (1, 2)])


class Box(RuleBasedStateMachine):
    """The model keeps who believes to hold the box, and until when; the record must agree with it."""

    def __init__(self) -> None:
        super().__init__()
        self.boot, self.time = 1, 0.0
        self.record: dict[str, Any] | None = None
        self.highest = 0
        self.holder: tuple[int, tuple[str, str, int]] | None = None
        self.ends: float = 0.0
        self.awaited = False  # the holder has rebooted the box, and not reached it since
        self.believers: dict[int, tuple[str, str, int]] = {}

    @property
    def now(self) -> Now:
        return Now(str(self.boot), self.time, self.time)

    @property
    def live(self) -> bool:
        return self.holder is not None and self.time < self.ends

    @rule(who=WHO, epoch=st.integers(1, 12), takeover=st.none() | st.integers(0, 12))
    def take(self, who: tuple[str, str, int], epoch: int, takeover: int | None) -> None:
        user, host, pid = who
        by = {"user": user, "host": host, "pid": pid, "started": 0}
        wanted = {"epoch": epoch, "verb": "deploy", "target": None, "config": "", "by": by, "takeover": takeover}
        may = not self.live or (takeover == self.highest and self.holder is not None and self.holder[1][:2] == who[:2])
        try:
            self.record = lease.take(self.record, wanted, self.now)
        except HeldError:
            assert not may
        except RefusedError:
            assert may
            assert epoch <= self.highest
        else:
            assert may
            assert epoch > self.highest
            self.highest, self.holder, self.ends = epoch, (epoch, who), self.time + lease.LEASE
            self.believers[epoch], self.awaited = who, False

    @precondition(lambda self: self.believers)
    @rule(data=st.data())
    def renew(self, data: st.DataObject) -> None:
        """Anybody who ever held the box may wake up and go on: only the holder of now is let through."""
        epoch = data.draw(st.sampled_from(sorted(self.believers)))
        try:
            self.record = lease.renewed(lease.held(self.record, epoch, self.now), self.now)
        except (HeldError, RefusedError):
            assert not (self.live and self.holder is not None and self.holder[0] == epoch)
        else:
            assert self.live
            assert self.holder is not None
            assert self.holder[0] == epoch
            self.ends, self.awaited = self.time + lease.LEASE, False

    @precondition(lambda self: self.believers)
    @rule(data=st.data(), state=st.sampled_from(lease.ENDS))
    def release(self, data: st.DataObject, state: str) -> None:
        epoch = data.draw(st.sampled_from(sorted(self.believers)))
        try:
            self.record = lease.ended(lease.held(self.record, epoch, self.now), state)
        except (HeldError, RefusedError):
            assert not (self.live and self.holder is not None and self.holder[0] == epoch)
        else:
            assert self.holder is not None
            assert self.holder[0] == epoch
            self.holder, self.awaited = None, False

    @rule(seconds=st.floats(0, 200))
    def wait(self, seconds: float) -> None:
        self.time += seconds

    @rule()
    def reboot(self) -> None:
        """A boot has a clock of its own, which begins anew."""
        self.boot, self.time = self.boot + 1, 0.0
        if self.awaited:  # the record cannot tell the first boot after the holder's word from a second
            self.ends = lease.AFTER_BOOT
        else:
            self.holder = None

    @precondition(lambda self: self.live)
    @rule(seconds=st.floats(0, 300))
    def reboot_by_the_holder(self, seconds: float) -> None:
        """It still holds the box then, for as long as it may take to reach it."""
        assert self.record is not None
        epoch = self.record["epoch"]
        held = lease.renewed(lease.held(self.record, epoch, self.now), self.now)
        self.record = lease.rebooting(held, self.now)
        self.boot, self.time, self.ends, self.awaited = self.boot + 1, 0.0, lease.AFTER_BOOT, True
        self.wait(seconds)

    @invariant()
    def record_and_model_agree(self) -> None:
        assert lease.live(self.record, self.now) == self.live
        assert (self.record["epoch"] if self.record else 0) == self.highest


Box.TestCase.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
TestBox = Box.TestCase
