"""`models`: what is served, how it is started, and where its copies are."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from floor.config.values import (
    Count,
    Duration,
    Flag,
    Folder,
    Name,
    Part,
    Port,
    Share,
    Size,
    Text,
    Url,
    Write,
    one_or_more,
)

Engine = Annotated[
    Literal["vllm", "llamacpp", "ollama"], Write("vllm (llamacpp or ollama on boxes with managed: false)")
]
CacheType = Annotated[
    str, Field(pattern=r"^[a-z0-9][a-z0-9_]{0,31}$"), Write("a type that the engine knows, such as auto or fp8")
]
ArgName = Annotated[
    str,
    Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9-]*(\.[A-Za-z0-9_-]+)*\+?$", max_length=128),
    Write("the flag without its leading dashes and with `-` for `_`, such as max-num-batched-tokens"),
]
EnvName = Annotated[
    str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=128), Write("a name such as VLLM_LOGGING_LEVEL")
]
EnvValue = Annotated[str, Field(max_length=32768), Write("a text in quotes")]
Args = dict[ArgName, Any]
Env = dict[EnvName, EnvValue]


class Runtime(Part):
    """How an engine is started: in a container, or as a program of the box."""

    kind: Annotated[Literal["docker", "native"], Write("docker or native")]
    """docker (a container) or native (a program that is installed on the box)."""
    image: Annotated[
        str,
        Field(pattern=r"^$|^[a-z0-9][A-Za-z0-9./_:-]*(@sha256:[0-9a-f]{64})?$", max_length=512),
        Write("an image with its digest or tag, such as registry.example/vllm:v0.11.0"),
    ] = ""
    """docker: image of the engine, best with its digest."""
    volumes: list[
        Annotated[
            str,
            Field(pattern=r"^/[^:\x00-\x1f\x7f]*:/[^:\x00-\x1f\x7f]*(:ro|:rw)?$"),
            Write("/folder/on/the/box:/folder/inside, with :ro behind it where it is only read"),
        ]
    ] = Field(default_factory=list)
    """docker: more folders of the box that the container sees."""
    gpus: Annotated[
        str | None,
        Field(pattern=r"^(all|[0-9]+|device=[A-Za-z0-9-]+(,[A-Za-z0-9-]+)*)$"),
        Write("all, none, a number of GPUs in quotes, or device=0,1"),
        BeforeValidator(lambda value: None if value == "none" else value),
    ] = "all"
    """docker: all, none, a number, or device=0,1."""
    options: list[Text] = Field(default_factory=list)
    """docker: more words for `docker run`."""
    entrypoint: list[Text] | None = None
    """docker: words that replace the image's entrypoint; `serve` follows them."""
    command: Annotated[
        list[Text],
        BeforeValidator(one_or_more),
        WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
    ] = Field(default_factory=list)
    """native: program, or the list of words before `serve`."""
    user: Annotated[str, Field(pattern=r"^[a-z_][a-z0-9_-]{0,31}$"), Write("a user of the box, such as floor")] = (
        "floor"
    )
    """native: user that the engine runs as."""
    drains: Flag = True
    """The engine knows --shutdown-timeout; false for releases that do not."""


class Copy(Part):
    """A whole model on one box. What is left out is the model's."""

    box: Name
    """Box that runs it."""
    weight: Annotated[int, Field(ge=1, le=1000), Write("a whole number from 1 to 1000")] = 1
    """Share of the requests beside the other copies."""
    engine: Engine | None = None
    source: Folder | None = None
    context: Count | None = None
    max_requests: Count | None = None
    kv_cache: CacheType | None = None
    utilization: Share | None = None
    cache_memory: Size | None = None
    port: Port | None = None
    runtime: Runtime | None = None
    """Replaces the model's runtime as a whole."""
    args: Args = Field(default_factory=dict)
    """Laid over the model's args; null takes a flag away."""
    env: Env = Field(default_factory=dict)
    """Laid over the model's env."""
    url: Url | None = None
    """managed: false: where it answers; http://HOST:PORT where it is left out."""
    key: Annotated[Literal["none", "engine"], Write("none or engine")] | None = None
    """managed: false: none, or engine where it asks for the engines' common key."""


class Split(Part):
    """One model over several boxes. Checked; this version deploys replicas only."""

    boxes: list[Name]
    """Head first, then the workers."""
    tensor_parallel: Count | None = None
    """Cards that share each layer."""
    pipeline: list[Count] | None = None
    """Layers of each stage, first stage first."""


def _copy(value: object) -> object:
    return {"box": value} if isinstance(value, str) else value


class Model(Part):
    """A served name."""

    engine: Engine = "vllm"
    """vllm; llamacpp or ollama where every copy is on a box with managed: false."""
    source: Folder | None = None
    """Folder with the weights, the same on each box."""
    context: Count | None = None
    """Longest request in tokens; null: the model's own."""
    max_requests: Count | None = 12
    """Requests at once in a copy; null: the engine's default."""
    kv_cache: CacheType = "auto"
    """Type of the KV cache."""
    utilization: Share | None = None
    """Share of the box's memory that the engine may take."""
    cache_memory: Size | None = None
    """Size of the KV cache, instead of what is left of the share."""
    port: Port = 8000
    """Port of the engine on its box."""
    listen: Port | None = None
    """The proxy's port for this model; proxy.listen where it is left out."""
    request_time: Duration = 1800.0
    """Longest time a request may take: proxy timeout, drain deadline and stop timeout follow from it."""
    start_time: Duration = 2400.0
    """Longest start, warm-up included."""
    runtime: Runtime | None = None
    """How the engine is started."""
    args: Args = Field(default_factory=dict)
    """More flags of the engine, without dashes. true: bare flag; false: its --no- form; mapping: JSON; list: several
    values."""
    env: Env = Field(default_factory=dict)
    """Environment of the engine."""
    replicas: list[Annotated[Copy, BeforeValidator(_copy)]] = Field(default_factory=list)
    """Boxes that hold a copy; a mapping where something differs there."""
    split: Split | None = None
    """The model over several boxes, for mode split."""
