"""`floor render`: every file of every box, written to a folder."""

from __future__ import annotations

from pathlib import Path

from floor.apply.wheels import release_id
from floor.config.model import Config
from floor.desired.build import build
from floor.desired.state import BoxFacts
from floor.errors import FloorError
from floor.operations.site import Resolve, resolve


def write(config: Config, mode: str, out: Path, resolve: Resolve = resolve) -> list[str]:
    """Given a config and a mode, write OUT/BOX/path for each file; return a line for each box.

    Facts of the boxes are assumed: IPv4 only, nginx as www-data. A host without an address now is in no pool, and a
    line says so. Raise FloorError where one cannot be written.
    """
    facts = {name: BoxFacts(resolve(box.host)) for name, box in config.boxes.items()}
    lines = []
    for name, state in build(config, mode, facts, release_id()).items():
        for file in state.files:
            target = out / name / file.path.lstrip("/")
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(file.text.encode())
                target.chmod(file.mode)
            except OSError as error:
                raise FloorError(f"{target}: cannot be written: {error.strerror}; choose another --out") from error
        lines.append(f"{out / name}: {len(state.files)} files")
    lost = [name for name, fact in facts.items() if fact.address is None]
    return lines + [f"{name}: {config.boxes[name].host} has no address now; it is in no pool here" for name in lost]
