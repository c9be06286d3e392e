"""`floor init --adopt`: look at machines that run engines already, and write the floor.yaml that would reproduce
them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from floor.apply.reach import Reach
from floor.apply.transport import UnreachableError, open_to
from floor.config.adopt.write import Adopted, Look, write
from floor.config.load import parse
from floor.errors import BoxError, ConfigError, FloorError, RefusedError
from floor.operations import own_file
from floor.operations.together import in_threads

Say = Callable[[str], None]


@dataclass(frozen=True)
class Written:
    """What to do next, and the lines that the person must look over: what was left out, what `floor check` will say."""

    next: str
    lost: tuple[str, ...]


def adopt(path: Path, destinations: Sequence[str], *, force: bool, see: Callable[[str], Look] | None = None) -> Written:
    """Given where to write it and the machines (`local`, or what ssh takes), write a floor.yaml of what runs on them.

    Raise RefusedError where a file is there already and `force` is not given, BoxError for a machine that cannot be
    looked at, FloorError where the file cannot be written, or where no engine runs anywhere.
    """
    if path.exists() and not force:
        raise RefusedError(f"{path} is there already; write another one (--config OTHER.yaml), or add --force")
    looks: list[Look] = []
    for answer in in_threads([partial(see or _see, one) for one in dict.fromkeys(destinations or ("local",))]):
        if isinstance(answer, BaseException):
            raise answer
        looks.append(answer)
    adopted = write(looks)
    if not adopted.engines:
        where = ", ".join(dict.fromkeys(destinations or ("local",)))
        raise FloorError(f"no vLLM, llama.cpp or Ollama runs on {where}; start from `floor init` instead")
    own_file.write(path, adopted.text)
    what = f"wrote {path} from {adopted.engines} running engine{'s' * (adopted.engines != 1)}"
    following = "look it over, then: floor check, floor setup BOX for each box, floor deploy --dry-run"
    return Written(f"{what}; {following}", (*adopted.lost, *_wrong(adopted, path)))


def _wrong(adopted: Adopted, path: Path) -> tuple[str, ...]:
    try:
        parse(adopted.text, str(path))
    except ConfigError as error:
        return tuple(error.problems)
    return ()


def _see(destination: str) -> Look:
    box = "this machine" if destination == "local" else destination
    try:
        told = open_to(box, destination).call("foreign.look", {})
    except UnreachableError:
        raise
    except BoxError:  # floor is not on it, or another release of it
        told = Reach(box, destination).see("floor.box.foreign.look")
    return Look(destination, told)
