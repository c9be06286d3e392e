"""Simulated boxes whose records lie in real folders: leases, drains and the kept file by the agent's own calls."""

from __future__ import annotations

import json
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from floor.agent.call import Call
from floor.agent.params import Params
from floor.agent.registry import find
from floor.box import drains, paths
from floor.box.observe import document, text
from floor.box.operation import Operation
from tests.simulated.box import SimulatedBox
from tests.simulated.calls import Calls

REAL = {"operation.take", "operation.renew", "operation.release", "drain.add", "drain.remove", "config.put"}


class Folder:
    """The root of a box's files; a copy of the box gets a copy of it."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="floor-model-", dir=_fast()))
        paths.under(self.path, paths.OPERATION).parent.mkdir(parents=True)

    def __deepcopy__(self, _memo: object) -> Folder:
        copied = Folder()
        shutil.copytree(self.path, copied.path, dirs_exist_ok=True)
        return copied

    def __del__(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)


@dataclass
class AgentCall(Call):
    """A call of the agent with the simulated box's clock for its record."""

    box: SimulatedBox = field(kw_only=True)

    @property
    def operation(self) -> Operation:
        return _operation(self.root, self.box)


class CallsOnDisk(Calls):
    """What the simulated box has in memory of these records is what lies in the folder."""

    def __init__(self, box: SimulatedBox) -> None:
        super().__init__(box)
        self._folder = Folder()

    def answer(self, name: str, params: dict[str, Any]) -> Any:
        root = self._folder.path
        self._store(root)
        try:
            if name in REAL:
                world = self._box.world
                given = Params(name, params)
                call = AgentCall(given, root, clock=world.clock, wall=world.clock, sleep=world.sleep, box=self._box)
                return find(name)(call)
            if params.get("epoch") is not None:
                with _operation(root, self._box).work(params["epoch"]):
                    pass
                self._load(root)
            return super().answer(name, params)
        finally:
            self._load(root)

    def _store(self, root: Path) -> None:
        """What the pools know now, and what others than the agent have changed."""
        place = paths.under(root, paths.POOL_STATE)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps(self._box.pools.state()))
        paths.under(root, paths.DRAINS).write_text(json.dumps(drains.as_json(self._box.recorded)))
        record = paths.under(root, paths.OPERATION)
        if self._box.record is None:
            record.unlink(missing_ok=True)
        else:
            record.write_text(json.dumps(self._box.record))

    def _load(self, root: Path) -> None:
        record = document(paths.OPERATION, root)
        self._box.record = record
        self._box.recorded = dict(drains.read(root))
        if self._box.release is not None:
            self._box.config = text(str(paths.CONFIG), root)
            self._box.configs = document(paths.CONFIG_HISTORY, root) or []


def _operation(root: Path, box: SimulatedBox) -> Operation:
    return Operation(root, box.moment, box.world.sleep)


def _fast() -> str | None:
    return "/dev/shm" if Path("/dev/shm").is_dir() else None
