"""What the memory guard of this box knows, and letting go what it keeps down."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from floor.agent.call import Call
from floor.box import calibrations, events, holds, paths, systemctl
from floor.box.observe import document, text

SERVICE = "floor-guard.service"


def state(call: Call) -> dict[str, Any]:
    """{} → {state: its last report or null, age: seconds since then or null, unit: the state of its service as systemd
    says, mode: of the box, or null, holds: {unit: hold}, calibrated: {backend: the last of what `floor calibrate`
    found}}."""
    found = document(paths.GUARD_STATE, call.root)
    age = None if found is None else max(0.0, round(call.wall() - found["at"], 1))
    kept = {unit: asdict(one) for unit, one in holds.read(call.root).items()}
    mode = (text(str(paths.MODE), call.root) or "").strip() or None
    runs = systemctl.show([SERVICE], call.run)[SERVICE].active
    known = {name: entries[-1] for name, entries in calibrations.read(call.root).items() if entries}
    return {"state": found, "age": age, "unit": runs, "mode": mode, "holds": kept, "calibrated": known}


def release(call: Call) -> dict[str, Any]:
    """{unit, epoch|null} → {released: whether it was kept down}. Nothing is started. With an epoch that must hold the
    box, and says itself why it lets the unit go."""
    unit = call.params.text("unit")
    if call.params.maybe_whole("epoch") is not None:
        with call.work():
            return {"released": holds.drop(unit, call.root)}
    released = holds.drop(unit, call.root)
    if released:
        said = f"{unit} was let go by somebody; it may start again"
        events.append("guard", said, {"unit": unit}, at=call.wall(), root=call.root)
    return {"released": released}
