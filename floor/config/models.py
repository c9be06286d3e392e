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
    Says,
    Share,
    Size,
    Text,
    Url,
    Write,
    one_or_more,
)

Engine = Annotated[Literal["vllm", "llamacpp", "ollama"], Write("vllm, llamacpp or ollama")]
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
IMAGE = r"^$|^[a-z0-9][A-Za-z0-9./_:-]*(@sha256:[0-9a-f]{64})?$"
Args = dict[ArgName, Any]
Env = dict[EnvName, EnvValue]


class Runtime(Part):
    """How an engine is started: in a container, or as a program of the box."""

    kind: Annotated[Literal["docker", "native"], Write("docker or native")]
    """docker (a container) or native (a program that is installed on the box)."""
    image: Annotated[
        str,
        Field(pattern=IMAGE, max_length=512),
        Write("an image with its digest or tag, such as registry.example/vllm:v0.11.0"),
    ] = ""
    """docker: the engine's image, best with its digest."""
    volumes: list[
        Annotated[
            str,
            Field(pattern=r"^/[^:\x00-\x1f\x7f]*:/[^:\x00-\x1f\x7f]*(:ro|:rw)?$"),
            Write("/folder/on/the/box:/folder/inside, with :ro behind it where it is only read"),
        ]
    ] = Field(default_factory=list)
    """docker: more folders of the box that the container sees, as /on/the/box:/inside or with :ro behind it."""
    gpus: Annotated[
        str | None,
        Field(pattern=r"^(all|[0-9]+|device=[A-Za-z0-9-]+(,[A-Za-z0-9-]+)*)$"),
        Write("all, none, a number of GPUs in quotes, or device=0,1"),
        BeforeValidator(lambda value: None if value == "none" else value),
    ] = "all"
    """docker: which GPUs it gets: all, none, a number in quotes, or device=0,1."""
    options: list[Text] = Field(default_factory=list)
    """docker: more words for `docker run`, such as --shm-size=16g."""
    entrypoint: list[Text] | None = None
    """docker: the engine's program in the image, as a list of words. Default: that of its makers' image."""
    command: Annotated[
        list[Text],
        BeforeValidator(one_or_more),
        WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
    ] = Field(default_factory=list)
    """native: the engine's program with its whole path, or the list of words before its arguments."""
    user: Annotated[str, Field(pattern=r"^[a-z_][a-z0-9_-]{0,31}$"), Write("a user of the box, such as floor")] = (
        "floor"
    )
    """native: the user that the engine runs as."""
    drains: Flag = True
    """false for releases of vLLM that do not know --shutdown-timeout. Other engines cannot finish what they have."""


class Fetch(Part):
    """Where `floor fetch` gets the weights from: a repository of a Hugging Face hub, at one commit."""

    repo: Annotated[
        str,
        Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=200),
        Write("a repository as ORG/NAME"),
    ]
    """Repository as ORG/NAME."""
    revision: Annotated[
        str,
        Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._/-]*$", max_length=200),
        Write("a commit, 40 hex digits in quotes"),
    ]
    """Commit, 40 hex digits: a branch or a tag is other weights tomorrow. `floor fetch --pin` writes it."""
    include: list[
        Annotated[
            str,
            Field(pattern=r"^[^/\s\x00-\x1f\x7f][^\x00-\x1f\x7f]*$", max_length=200),
            Write("a pattern such as *.safetensors"),
        ]
    ] = Field(default_factory=list)
    """Patterns of the files to get; `*` stands for `/` too. Default: all of them."""


class Copy(Part):
    """A whole model on one box. What is left out is the model's."""

    box: Name
    """Box that holds the copy."""
    weight: Annotated[int, Field(ge=1, le=1000), Write("a whole number from 1 to 1000")] = 1
    """Its share of the requests, beside the weights of the other copies."""
    engine: Engine | None = None
    """Where it is another than the model's, source, fetch, kv_cache, utilization, cache_memory, runtime, args and env
    of the model do not count for this copy. Default: the model's."""
    source: Folder | None = None
    fetch: Fetch | None = None
    """In place of the model's fetch, as a whole. Default: the model's, none where the copy has a source of its own."""
    context: Count | None = None
    max_requests: Count | None = None
    kv_cache: CacheType | None = None
    utilization: Share | None = None
    cache_memory: Size | None = None
    port: Port | None = None
    runtime: Runtime | None = None
    """In place of the model's runtime, as a whole. Default: the model's."""
    args: Args = Field(default_factory=dict)
    """Laid over the model's args, key by key; null takes a flag away."""
    env: Env = Field(default_factory=dict)
    """Laid over the model's env, key by key."""
    url: Url | None = None
    """managed: false: where it answers. Default: http://HOST:PORT."""
    key: Annotated[Literal["none", "engine"], Write("none or engine")] | None = None
    """managed: false: engine where it asks for the key that floor's engines have. Default: none."""


class SplitPart(Part):
    """One box of a split model, where something differs there. What is left out is the split's."""

    box: Name
    """One of the split's boxes."""
    utilization: Share | None = None
    """Share of that box's memory. Default: that of the split."""
    cache_memory: Size | None = None
    """Size of the KV cache on that box; the smallest one decides. Default: that of the split."""


class Split(Part):
    """One model over several boxes, as one group. What is left out is the model's."""

    boxes: list[Name]
    """Its boxes, the head first: that one answers. Each needs a `fabric`."""
    tensor_parallel: Count | None = None
    """Cards that share each layer. Default: 1."""
    pipeline: list[Count] | None = None
    """Layers of each stage, the first stage first. Default: one stage."""
    master_port: Port = 29501
    """Port of the head's fabric address where the ranks meet."""
    source: Folder | None = None
    """Where the split serves other weights than the copies. Default: the model's."""
    fetch: Fetch | None = None
    """In place of the model's fetch, as a whole. Default: the model's, none where the split has a source of its own."""
    context: Count | None = None
    """Longest request, in tokens. Default: the model's."""
    max_requests: Count | None = None
    """Requests at once in the group. Default: the model's."""
    kv_cache: CacheType | None = None
    """Type of the KV cache. Default: the model's."""
    utilization: Share | None = None
    """Share of each box's memory that its part takes. Default: the model's."""
    cache_memory: Size | None = None
    """Size of the KV cache on each box. Default: the model's."""
    runtime: Runtime | None = None
    """In place of the model's runtime, as a whole. Default: the model's."""
    args: Args = Field(default_factory=dict)
    """Laid over the model's args, key by key; null takes a flag away."""
    env: Env = Field(default_factory=dict)
    """Laid over the model's env, key by key."""
    parts: list[SplitPart] = Field(default_factory=list)
    """Boxes where something differs."""

    @property
    def ranks(self) -> int:
        """How many cards it takes in all, a rank each."""
        return (self.tensor_parallel or 1) * len(self.pipeline or (0,))

    def part(self, box: str) -> Copy:
        """Given one of its boxes, return what is there as a copy of the model would say it."""
        own = next((part for part in self.parts if part.box == box), SplitPart(box=box))
        said = {key: getattr(self, key) for key in self.model_fields_set & OF_A_PART}
        return Copy(**{**said, **{key: getattr(own, key) for key in own.model_fields_set}})


# what a split may have in place of its model, as a copy may
OF_A_PART = frozenset(Split.model_fields) & frozenset(Copy.model_fields)


def _copy(value: object) -> object:
    return {"box": value} if isinstance(value, str) else value


class Model(Part):
    """A served name."""

    engine: Engine = "vllm"
    """vllm, llamacpp (llama.cpp's server) or ollama."""
    task: Annotated[Literal["generate", "embed"], Write("generate or embed")] = "generate"
    """generate (answers in words) or embed (a model for embeddings)."""
    critical: Flag = False
    """true where the model is to survive the loss of any one box: `floor check` warns of fewer than two copies, and
    `floor layout` keeps room for two."""
    source: Folder | None = None
    """Folder with the weights, on every box that holds a copy. llamacpp: the .gguf file. ollama: the folder with its
    models, of which one has the name of this model. Nothing is fetched while serving. Default: none, where floor starts
    no copy."""
    fetch: Fetch | None = None
    """Where `floor fetch` gets the weights from, into source. Default: none, you put them there yourself."""
    context: Count | None = None
    """Longest request, in tokens. Default: what the model allows."""
    max_requests: Count | None = 12
    """Requests at once in each copy; null leaves it to the engine. Find it with your own traffic: more is not always
    faster. llamacpp: memory for this many times `context` is taken at the start."""
    kv_cache: CacheType = "auto"
    """Type of the KV cache, such as fp8; with llamacpp and ollama q8_0."""
    utilization: Share | None = None
    """Share of the box's memory that the engine takes. Above 0.90 a box with shared memory freezes. Default: the
    engine's."""
    cache_memory: Size | None = None
    """Size of the KV cache. On a box with shared memory set it beside a small share. Default: what the share leaves."""
    port: Port = 8000
    """Port of the engine on its box."""
    listen: Port | None = None
    """The proxy's port for this model; each model needs its own. Default: proxy.listen."""
    request_time: Duration = 1800.0
    """Longest time that a request may take. The proxy's timeout, drains and the stop of an engine follow from it."""
    start_time: Duration = 2400.0
    """Longest time that a start may take, warm-up included."""
    runtime: Runtime | None = None
    """How the engine is started. Default: none, where floor starts no copy."""
    args: Args = Field(default_factory=dict)
    """More flags of the engine, without dashes. true is a bare flag, false its --no- form, a mapping JSON, a list
    several values. Ollama has none."""
    env: Env = Field(default_factory=dict)
    """Environment of the engine. No secrets: this file is copied to every box."""
    replicas: list[Annotated[Copy, Says("the name of a box, or {box: NAME, …}"), BeforeValidator(_copy)]] = Field(
        default_factory=list
    )
    """Boxes that hold a copy: a name, or a mapping where something differs there."""
    split: Split | None = None
    """The model over several boxes: what `floor switch split` deploys in place of its copies. Default: none."""
