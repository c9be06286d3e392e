"""Groups: one model over several boxes. What each box of one holds: its part, and the service that watches over it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from floor.box import paths
from floor.box.parts import HEAD, WORKER
from floor.config.hosts import netloc
from floor.config.model import Config, ResolvedCopy, Split
from floor.desired import copies, engine_unit, services
from floor.desired.engine_unit import Seat
from floor.desired.state import BoxFacts, File, Kind, Unit
from floor.desired.times import PART_RESTART_SECONDS
from floor.engines import environment
from floor.engines.serve import Ranks

MODE = "split"
SERVICE = "floor-group"
# Where RDMA devices are opened; a container sees none of it by itself.
RDMA = "/dev/infiniband"
Made = tuple[Unit, list[File]]


def unit_name(model: str) -> str:
    """Given a model's name, return that of the unit of its group's part; a box holds one part of a model at most."""
    return f"floor-group-{model}.service"


def settings_path(model: str) -> str:
    """Given a model's name, return where the settings of its group's part lie on a box."""
    return str(paths.GROUPS / f"{model}.json")


def parts(config: Config, boxes: Mapping[str, BoxFacts], release: str) -> dict[str, list[Made]]:
    """Given the config, what is known of the boxes and floor's release, return by box the units and files of groups.

    Raises ConfigError naming the group where something of it cannot be written down.
    """
    made: dict[str, list[Made]] = {}
    for model, split in _splits(config):
        for rank, part in enumerate(config.parts(model)):
            made.setdefault(part.box, []).append(_part(config, split, part, rank, boxes))
    return {box: [*found, _service(config, box, release)] for box, found in made.items()}


def told(config: Config, box: str, listen: str) -> dict[str, Any]:
    """Given the config, a box and where its status port listens, return what that port is told of groups: the address
    on the fabric where it listens too, and the parts on the box. Nothing where there are none."""
    found = [
        {"model": model, "part": _which(split, box), "unit": unit_name(model)}
        for model, split in _splits(config)
        if box in split.boxes
    ]
    if not found:
        return {}
    address = _fabric(config, box)
    return {"groups": found, **({} if address == listen else {"fabric": address})}


def _splits(config: Config) -> Sequence[tuple[str, Split]]:
    return [(name, model.split) for name, model in config.models.items() if model.split is not None]


def _which(split: Split, box: str) -> str:
    return HEAD if box == split.boxes[0] else WORKER


def _fabric(config: Config, box: str) -> str:
    """A box of a split has a fabric, which the config's checks see to; without one it is asked on its host."""
    fabric = config.boxes[box].fabric
    return fabric.address if fabric is not None else config.boxes[box].host


def _part(config: Config, split: Split, part: ResolvedCopy, rank: int, boxes: Mapping[str, BoxFacts]) -> Made:
    name, head = unit_name(part.model), split.boxes[0]
    # Everybody is told of the head: its address is the group's.
    ip = boxes.get(head, BoxFacts(None)).address or config.boxes[head].host
    fabric = config.boxes[part.box].fabric
    along = environment.fabric(fabric.address, fabric.interface, fabric.hca) if fabric is not None else {}
    seat = Seat(
        unit=name,
        settings=settings_path(part.model),
        modes=(MODE,),
        description=f"floor: {part.model}, the group's {_which(split, part.box)} on {part.box}",
        template="group.service.j2",
        restart=PART_RESTART_SECONDS,
        guarded=config.guard.mode != "none",
        ranks=Ranks(
            rank=rank,
            nodes=len(split.boxes),
            address=_fabric(config, head),
            port=split.master_port,
            tensor=split.tensor_parallel or 1,
            stages=len(split.pipeline or (0,)),
        ),
        env={**along, **environment.stretches(split.pipeline)},
        devices=(RDMA,) if fabric is not None and fabric.hca else (),
        gate=(str(paths.PYTHON), "-I", "-m", "floor.agent.gate", part.model),
        warms=rank == 0,
    )
    launch, text = engine_unit.unit(part, ip, seat)
    files = [
        File(str(paths.UNITS / name), text),
        File(seat.settings, copies.settings(part, ip, config.health)),
    ]
    return Unit(name, Kind.GROUP, launch, part.backend, modes=seat.modes), files


def _service(config: Config, box: str, release: str) -> Made:
    found = {
        "status_key_file": str(paths.STATUS_KEY),
        "groups": [_group(config, model, split, box) for model, split in _splits(config) if box in split.boxes],
    }
    settings = File(str(paths.GROUP_SETTINGS), json.dumps(found, indent=1, sort_keys=True) + "\n")
    return services.service(SERVICE, Kind.GROUPS, "floor.group", settings, release, records=str(paths.LIB))


def _group(config: Config, model: str, split: Split, box: str) -> dict[str, Any]:
    own = next(part for part in config.parts(model) if part.box == box)
    contained = own.runtime is not None and own.runtime.kind == "docker"
    return {
        "model": model,
        "part": _which(split, box),
        "unit": unit_name(model),
        "container": PurePosixPath(unit_name(model)).stem if contained else None,
        "others": [{"box": name, "status_url": _url(config, name)} for name in split.boxes if name != box],
    }


def _url(config: Config, box: str) -> str:
    return f"http://{netloc(_fabric(config, box), config.boxes[box].status_port)}/status"
