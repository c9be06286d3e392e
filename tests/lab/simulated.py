"""Two models of simulated engines on the lab's boxes, and orders to each engine over its control port."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from tests.integration.nginx.client import Client
from tests.lab.box import Box
from tests.lab.boxes import Lab
from tests.lab.sites import NATIVE, tests


@dataclass(frozen=True)
class Served:
    """A model of `two_models`: where the proxy listens for it, where its engines do, and where they take orders."""

    name: str
    listen: int
    port: int
    control: int

    @property
    def unit(self) -> str:
        return f"floor-copy-{self.name}.service"


FLAGSHIP = Served("flagship", 8080, 8000, 9000)
SECOND = Served("second", 8081, 8001, 9001)
MODELS = (FLAGSHIP, SECOND)


def two_models(lab: Lab) -> str:
    """floor.yaml: a copy of both models on each box, a port of the proxy for each, prompts of a million tokens."""
    boxes = "\n".join(f"  {box.name}: {{host: {box.address}}}" for box in lab.boxes.values())
    return f"boxes:\n{boxes}\nmodels:\n" + "".join(_model(lab, model) for model in MODELS) + _rest(lab)


def _model(lab: Lab, model: Served) -> str:
    return f"""\
  {model.name}:
    source: /srv/tiny
    context: 1000000
    max_requests: 4
    utilization: 0.1
    request_time: 90
    start_time: 120
    port: {model.port}
    listen: {model.listen}
    runtime: {NATIVE}
    args:
      sim-control-port: {model.control}
      sim-admin-routes: true
      sim-kv-tokens: 4000000
      sim-prefill-rate: 200000
      sim-speed-factor: 4
    replicas: [{", ".join(lab.boxes)}]
"""


def _rest(lab: Lab) -> str:
    return f"proxy: {{boxes: [{', '.join(lab.boxes)}], allow: [{tests(lab)}]}}\nhealth: {{stall: 60}}\n"


class Engine:
    """The simulated engine of one copy."""

    def __init__(self, box: Box, model: Served) -> None:
        self.box, self.model = box, model

    def state(self) -> dict[str, Any]:
        """What it runs and what it was asked: see floor.sim.control."""
        return dict(json.loads(self._control("GET", "/sim/state")))

    def fault(self, kind: str, **options: object) -> None:
        """Make something go wrong, until `clear`."""
        self._control("POST", "/sim/faults", json.dumps({"fault": kind, **options}))

    def clear(self) -> None:
        self._control("DELETE", "/sim/faults")

    def _control(self, method: str, path: str, body: str = "") -> str:
        words = ["curl", "-sS", "--fail-with-body", "-m", "20", "-X", method, "-d", body]
        return self.box.run([*words, f"http://127.0.0.1:{self.model.control}{path}"]).stdout

    def metric(self, family: str) -> float:
        """A number of its /metrics page, asked for over the network."""
        with Client(self.model.port, host=self.box.address) as client:
            page = client.ask("/metrics", method="GET").body.decode()
        found = re.search(rf"^{re.escape(family)}(\{{[^}}]*\}})? (\S+)$", page, re.MULTILINE)
        assert found, f"{family} is not in\n{page}"
        return float(found[2])
