"""Whether the rules give the tokens of a cache that an engine has logged."""

from __future__ import annotations

from floor.config.model import ResolvedCopy
from floor.engines.log import Start
from floor.engines.share import cache
from floor.errors import FloorError
from floor.layout.fit import constants
from floor.layout.known import tokens
from floor.layout.ledger import Books
from floor.operations import layout_look
from floor.operations.site import Site


def computed_cache(site: Site, copy: ResolvedCopy, start: Start) -> tuple[int | None, str]:
    """Given a backend and what its start has logged, return the tokens that the rules give for the bytes that its cache
    has, in the meaning of the engine's release; or None and why."""
    if copy.engine != "vllm":
        return None, f"{copy.engine} does not log its cache"
    model = site.loaded.config.models[copy.model]
    group = "+" in copy.backend.rpartition("@")[2]
    if group and model.split and model.split.pipeline:
        return None, "of a pipeline each stretch has a cache of its own"
    given = cache(start) or layout_look.given(copy)
    if given is None:
        return None, "its log tells no bytes of the cache"
    try:
        told = layout_look.look(site, {copy.box: [copy.source]}, [copy.box])[copy.box]
        want = layout_look.model(copy.model, told["sources"].get(copy.source) or {"error": "not read"}, copy.source)
        want = layout_look.configured(want, copy, critical=False)
        tp = (model.split.tensor_parallel or 1) if group and model.split else copy.args.get("tensor-parallel-size", 1)
        return tokens(Books(want, constants()).ledger(int(tp)), given, start, copy.context or want.context), ""
    except FloorError as error:
        return None, str(error)
