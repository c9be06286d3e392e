"""example.yaml documents every option, with its default and with the model's own words; examples/ are whole fleets."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from floor.config import example, load, parse, shape
from floor.config.load import examine
from floor.config.model import Config
from floor.config.models import Copy, Runtime
from floor.config.problem import KeyPath

ROOT = Path(__file__).parents[3]
FLEETS = sorted((ROOT / "examples").glob("*.yaml"))
OPTIONS = {path: (field, owner) for path, field, owner in shape.fields()}
# the runtime and the fetch of a copy and of a split have the keys of the model's, which stand there
AGAIN = [("models", "*", *place, part) for place in (("replicas", "*"), ("split",)) for part in ("runtime", "fetch")]
PLACES = [path for path in OPTIONS if path[:-1] not in AGAIN]


def _name(path: KeyPath) -> str:
    return ".".join(map(str, path))


def _uncommented() -> str:
    return re.sub(r"(?m)^( *)#(?=[a-z_]+:)", r"\1", example.read())


def test_the_example_is_a_good_file() -> None:
    _, warnings = examine(example.read(), "example.yaml")
    assert warnings == ()


def test_it_is_a_good_file_with_every_option_taken_in() -> None:
    _, warnings = examine(_uncommented(), "example.yaml")
    assert warnings == ()


@pytest.mark.parametrize("path", PLACES, ids=_name)
def test_it_holds_every_option(path: KeyPath) -> None:
    assert path in {option.path for option in example.options()}


def test_it_holds_nothing_else() -> None:
    names = {("boxes", "*"), ("models", "*")}
    assert {option.path for option in example.options()} - set(OPTIONS) == names


@pytest.mark.parametrize(
    "option", [one for one in example.options() if one.path in OPTIONS], ids=lambda one: _name(one.path)
)
def test_its_comments_are_the_models_words(option: example.Option) -> None:
    _, owner = OPTIONS[option.path]
    said = shape.sayings(owner).get(str(option.path[-1]))
    if said is None:
        assert owner is Copy  # the model's options, which a copy may have too
    else:
        assert " ".join(option.comment) == said


def _value(data: Any, path: KeyPath) -> list[Any]:
    """All values at a path with `*` in it."""
    if not path:
        return [data]
    items = data.values() if isinstance(data, dict) else data if isinstance(data, list) else []
    inner = list(items) if path[0] == "*" else [data[path[0]]] if isinstance(data, dict) and path[0] in data else []
    return [value for one in inner for value in _value(one, path[1:])]


@pytest.mark.parametrize("path", [path for path in PLACES if not OPTIONS[path][0].is_required()], ids=_name)
def test_every_default_is_told(path: KeyPath) -> None:
    field, owner = OPTIONS[path]
    default = field.get_default(call_default_factory=True)
    said = shape.sayings(owner).get(str(path[-1]), "")
    if default is None or "Default: " in said:
        assert "Default: " in said or owner is Copy
        return
    config = parse(_uncommented()).model_dump()
    default = default.model_dump() if hasattr(default, "model_dump") else default
    beside = (
        "image",
        "command",
        "volumes",
        "options",
        "replicas",
        "health",
        "metrics",
        "args",
        "env",
        "parts",
        "guard",
        "notify",
    )  # empty by default
    assert default in _value(config, path) or path[-1] in beside


@pytest.mark.parametrize("owner", sorted({owner for _, owner in OPTIONS.values()}, key=lambda owner: owner.__name__))
def test_every_option_has_words(owner: type[Any]) -> None:
    silent = set(owner.model_fields) - set(shape.sayings(owner))
    assert silent <= (
        set(Config.model_fields["models"].annotation.__args__[1].model_fields) if owner is Copy else set()
    )
    assert all(text.endswith(".") for text in shape.sayings(owner).values())


def test_the_runtimes_of_both_kinds_are_there() -> None:
    config = parse(example.read())
    kinds = {model.runtime.kind for model in config.models.values() if isinstance(model.runtime, Runtime)}
    assert kinds == {"docker", "native"}


def test_the_fleets_are_there() -> None:
    assert {path.stem for path in FLEETS} >= {"one-box", "two-boxes", "mixed-fleet"}


@pytest.mark.parametrize("path", FLEETS, ids=lambda path: path.stem)
def test_each_fleet_is_a_good_file(path: Path) -> None:
    loaded = load(path)
    assert loaded.warnings == ()
    assert all(loaded.config.copies(model) for model in loaded.config.models)


@pytest.mark.parametrize("path", [*FLEETS, ROOT / "floor" / "config" / "example.yaml"], ids=lambda path: path.stem)
def test_no_real_host_is_named(path: Path) -> None:
    text = path.read_text()
    assert set(re.findall(r"[\w-]+(?:\.[\w-]+)*/vllm", text)) <= {"registry.example/vllm", "opt/vllm", "bin/vllm"}
    for address in re.findall(r"\b\d+\.\d+\.\d+\.\d+\b", text):
        assert address.startswith(("192.0.2.", "198.51.100.", "203.0.113."))


def test_the_gb10_pair_has_its_launch_settings() -> None:
    config = load(ROOT / "examples" / "two-boxes.yaml").config
    first, second = config.copies("flagship")
    assert first.runtime is not None
    assert first.runtime.options == ["--ulimit=stack=67108864"]
    assert (first.kv_cache, first.context, first.max_requests) == ("fp8", 262144, 12)
    assert (first.utilization, second.utilization) == (0.8, 0.74)
    assert all(box.fabric and len(box.fabric.hca) == 2 for box in config.boxes.values())
