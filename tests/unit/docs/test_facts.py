"""What the documents say of paths, units, ports and exit codes is what the code has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from floor import errors
from floor.agent import fetch_serve
from floor.box import lease, paths
from floor.config.boxes import Box
from floor.config.models import Model
from floor.config.proxy import Proxy
from floor.desired import routes
from tests.unit.docs.documents import DOCUMENTS, ROOT, tables

ARCHITECTURE = ROOT / "docs" / "architecture.md"
SECURITY = ROOT / "docs" / "security.md"
OPERATIONS = ROOT / "docs" / "operations.md"

OURS = re.compile(r"/(?:opt|etc|run|var/lib|var/cache)/floor[\w./@-]*")
KNOWN = {str(value) for value in vars(paths).values() if isinstance(value, Path)}
# Made of a known folder and a name that stands for others.
PATTERNS = [r"/opt/floor/RELEASE", r"/etc/floor/(engines|groups)/MODEL\.json", r"/run/floor/parts/MODEL\.json"]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_a_path_that_is_named_is_one_that_floor_uses(document: Path) -> None:
    known = KNOWN | {str(parent) for path in KNOWN for parent in Path(path).parents}
    for found in OURS.findall(document.read_text()):
        path = found.rstrip("/.")
        assert path in known or any(re.fullmatch(one, path) for one in PATTERNS), f"{document.name}: {path}"


@pytest.mark.parametrize("document", [ARCHITECTURE, OPERATIONS], ids=lambda path: path.name)
def test_the_exit_codes_are_those_of_the_errors(document: Path) -> None:
    told = {int(row[0]) for row in tables(document) if row[0].isdigit()}
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.FloorError)]
    assert {kind.exit_code for kind in kinds} | {0, 3, 6} == told  # 3 and 6 are no errors: changes pending, HOLD


def test_the_ports_are_the_defaults() -> None:
    ports = {
        "8080": Proxy.model_fields["listen"].default,
        "8000": Model.model_fields["port"].default,
        "8099": Box.model_fields["status_port"].default,
        "8098": fetch_serve.PORT,
    }
    rows = {first for row in tables(SECURITY) if (first := re.split("[ ,]", row[0])[0]).isdigit()}
    assert {str(port) for port in ports.values()} == rows
    assert all(int(told) == port for told, port in ports.items())


def test_the_lease_is_as_long_as_is_told() -> None:
    told = re.findall(r"(\d+) seconds", OPERATIONS.read_text().split("## An operation is stuck")[1].split("##")[0])
    assert {float(seconds) for seconds in told} == {lease.LEASE}


def test_the_health_path_of_the_proxy() -> None:
    assert f"`{routes.HEALTH}`" in SECURITY.read_text()
    assert routes.HEALTH in OPERATIONS.read_text()


def test_the_packages_are_those_that_there_are() -> None:
    told = re.findall(r"^(\w+)(?:/|\.py) ", ARCHITECTURE.read_text(), re.MULTILINE)
    untold = {"__main__", "__init__"}
    folder = ROOT / "floor"
    there = {path.stem for path in folder.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert set(told) == there - untold
