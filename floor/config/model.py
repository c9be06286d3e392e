"""floor.yaml as one frozen model, and a copy as it comes out once the defaults are laid under it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

from pydantic import Field

from floor.config import hosts
from floor.config.boxes import Box, Fabric
from floor.config.metrics import Metrics
from floor.config.models import Copy, Fetch, Model, Runtime, Split
from floor.config.proxy import Health, Proxy, Tls
from floor.config.values import Name, Part
from floor.config.watch import Guard, Notify, Watchdog

__all__ = [
    "Box",
    "Config",
    "Copy",
    "Fabric",
    "Fetch",
    "Health",
    "Model",
    "Proxy",
    "ResolvedCopy",
    "Runtime",
    "Split",
    "Tls",
]


KEYLESS = ("ollama",)  # engines that ask nobody for a key
SHARED = ("context", "max_requests")  # options of a model that its copies with another engine take over, too


@dataclass(frozen=True)
class ResolvedCopy:
    """A copy with every option it has, its own or the model's.

    `url` is None for a managed copy: it answers on its box's address and `port`. `key` tells whether it wants the
    engine key. Times are seconds, `cache_memory` bytes.
    `runtime` is None and `source` empty on an unmanaged box. `task` is generate or embed.
    """

    backend: str
    model: str
    box: str
    managed: bool
    engine: str
    source: str
    context: int | None
    max_requests: int | None
    kv_cache: str
    utilization: float | None
    cache_memory: int | None
    port: int
    weight: int
    url: str | None
    runtime: Runtime | None
    request_time: float
    start_time: float
    key: bool
    task: str = "generate"
    args: dict[str, Any] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)
    fetch: Fetch | None = None


class Config(Part):
    """All of floor.yaml."""

    boxes: dict[Name, Box]
    """The machines, each under the name that every command knows it by."""
    models: dict[Name, Model]
    """The models, each under the name that clients ask for."""
    proxy: Proxy
    """nginx in front of the copies."""
    health: Health = Field(default_factory=Health)
    """How a copy is judged."""
    guard: Guard = Field(default_factory=Guard)
    """The memory guard of each box with a copy."""
    watchdog: Watchdog = Field(default_factory=Watchdog)
    """What starts a copy again that hangs or stays down."""
    notify: Notify = Field(default_factory=Notify)
    """Who is told of what needs a person: nobody, unless there is a command or a webhook."""
    metrics: Metrics = Field(default_factory=Metrics)
    """A page for Prometheus on each box, and one for people."""

    @cached_property
    def _resolved(self) -> dict[str, tuple[ResolvedCopy, ...]]:
        """What `copies` has worked out: each box of a fleet asks for all of them."""
        return {}

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """As pydantic's, without what was worked out from the values of before."""
        made = super().model_copy(update=update, deep=deep)
        made.__dict__.pop("_resolved", None)
        return made

    def copies(self, model: str) -> list[ResolvedCopy]:
        """Given a model's name, return its copies in the file's order. Raise KeyError for a name that is not there."""
        if model not in self._resolved:
            self._resolved[model] = tuple(self.resolve(model, copy) for copy in self.models[model].replicas)
        return list(self._resolved[model])

    def parts(self, model: str) -> list[ResolvedCopy]:
        """Given a model's name, return the parts of its group, the head first; none where it has no split.

        All have the group's name as `backend`, `MODEL@HEAD+BOX`, and are one backend: the head's url is the group's.
        Raise KeyError for a name that is not there.
        """
        split = self.models[model].split
        if split is None:
            return []
        group = f"{model}@{'+'.join(split.boxes)}"
        return [replace(self.resolve(model, split.part(box)), backend=group) for box in split.boxes]

    def backends(self, model: str, mode: str | None) -> list[ResolvedCopy]:
        """Given a model's name and a mode, return who answers for it then, a group by its head; for None whoever does
        in any mode.

        A model without `split` has its copies in both modes. So have servers that floor does not manage: a switch
        leaves them as they are.
        """
        copies, parts = self.copies(model), self.parts(model)
        if mode is None:
            return [*copies, *parts[:1]]
        if mode == "replicas" or not parts:
            return copies
        return [parts[0], *(copy for copy in copies if not copy.managed)]

    @property
    def splits(self) -> bool:
        """Whether any model has a `split`: only then is there something to switch."""
        return any(model.split is not None for model in self.models.values())

    def listen(self, model: str) -> int:
        """Given a model's name, return the proxy's port for it."""
        return self.models[model].listen or self.proxy.listen

    def destination(self, box: str) -> str:
        """Given a box's name, return its ssh destination; `local` is this machine."""
        return self.boxes[box].ssh or box

    def resolve(self, name: str, copy: Copy) -> ResolvedCopy:
        """Given a model's name and one of its copies, return the copy with every option it has."""
        model = self.models[name]
        box = self.boxes[copy.box]

        engine = copy.engine or model.engine
        # What the model says for its own engine means nothing to another one: other weights, other flags.
        base = model if engine == model.engine else Model(**{key: getattr(model, key) for key in SHARED})

        def own(key: str) -> Any:
            # null in a copy is a choice (the engine's default), not an omission
            return getattr(copy if key in copy.model_fields_set else base, key)

        url = None if box.managed else copy.url or f"http://{hosts.netloc(box.host, copy.port or model.port)}"
        args = {**base.args, **copy.args}
        return ResolvedCopy(
            backend=f"{name}@{copy.box}",
            model=name,
            box=copy.box,
            managed=box.managed,
            engine=engine,
            source=copy.source or base.source or "",
            context=own("context"),
            max_requests=own("max_requests"),
            kv_cache=copy.kv_cache or base.kv_cache,
            utilization=own("utilization"),
            cache_memory=own("cache_memory"),
            port=hosts.split_url(url)[1] if url else copy.port or model.port,
            weight=copy.weight,
            url=url,
            runtime=(copy.runtime or base.runtime) if box.managed else None,
            request_time=model.request_time,
            start_time=model.start_time,
            key=copy.key == "engine" if not box.managed else engine not in KEYLESS,
            task=model.task,
            args={flag: value for flag, value in args.items() if value is not None},
            env={**base.env, **copy.env},
            fetch=_fetch(base, copy) if box.managed else None,
        )


def _fetch(model: Model, copy: Copy) -> Fetch | None:
    """What comes into the folder of a copy: another folder than the model's holds other weights."""
    if copy.fetch is not None:
        return copy.fetch
    return model.fetch if copy.source in (None, model.source) else None
