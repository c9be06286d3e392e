"""This box as a whole: rebooted, and waited for after it."""

from __future__ import annotations

from typing import Any

from floor.agent.call import Call
from floor.box import systemctl
from floor.box.operation import now
from floor.errors import FloorError

DELAY = 2  # seconds from the answer to the reboot: the answer must get through
TIMER = "reboot-by-floor"  # the transient unit; not floor-…, which are the units that a deployment looks after
BOOTING = ("initializing", "starting")


def reboot(call: Call) -> dict[str, Any]:
    """{epoch, boot: the id of the boot to end} → {boot: the id of the present one}. Answers before the box goes.

    A box that has another boot already is left alone: asked again after a lost answer, it reboots once.
    """
    boot = call.params.text("boot")
    with call.work():
        present = now().boot
        if present == boot:
            call.operation.reboots(call.params.whole("epoch", 1))
            _in_a_moment(call)
    return {"boot": present}


def _in_a_moment(call: Call) -> None:
    if call.run(["systemctl", "is-active", "--quiet", f"{TIMER}.timer"]).ok:
        return
    timer = [f"--unit={TIMER}", f"--on-active={DELAY}", "--timer-property=AccuracySec=100ms", "--collect"]
    result = call.run(["systemd-run", "--quiet", *timer, "systemctl", "reboot"])
    if not result.ok:
        raise FloorError(f"the box does not reboot: systemd-run: {result.said or 'failed without a word'}")


def back(call: Call) -> dict[str, Any]:
    """{boot, units, timeout, epoch} → {back, boot, reason}: back when it is another boot, and systemd has come to these
    units, or to the end of what it starts."""
    params = call.params
    boot, units = params.text("boot"), params.texts("units")
    if params.maybe_whole("epoch") is not None:
        call.operation.renew(params.whole("epoch", 1))
    return dict(call.until(lambda: _back(call, boot, units)))


def _back(call: Call, boot: str, units: list[str]) -> tuple[bool, dict[str, Any]]:
    present = now().boot
    reason = ""
    if present == boot:
        reason = "it has not gone down yet"
    elif queued := [name for name, unit in systemctl.show(units, call.run).items() if unit.active == "inactive"]:
        state = call.run(["systemctl", "show", "--property=SystemState", "--value"]).out.strip()
        reason = f"boots, and has not come to {', '.join(queued)}" if state in BOOTING else ""
    return not reason, {"back": not reason, "boot": present, "reason": reason}
