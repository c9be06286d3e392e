"""How one simulated engine is to behave: what vLLM's flags say, and what only a simulation has."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from floor.sim.curve import PRESETS, Curve
from floor.sim.faults import Fault
from floor.sim.scheduler import Limits

GENERATE, EMBED = "generate", "embed"
VERSION = "0.32.0"  # the vLLM release whose answers were captured


@dataclass(frozen=True)
class Simulation:
    """What no vLLM flag can say. Seconds are wall seconds; rates are before `speed_factor`."""

    load_time: float = 0.0
    load_mode: str | None = None
    dialect: str = "vllm"
    preset: str = "short"
    curve: Curve | None = None
    speed_factor: float = 1.0
    prefill_rate: float = 4000.0
    kv_tokens: int | None = None
    kv_gib: float = 24.0
    model_gib: float = 71.0
    graphs_gib: float = 0.55
    answer_tokens: tuple[int, int] = (40, 160)
    reasoning_tokens: int = 0
    seed: int = 0
    fault: tuple[Fault, ...] = ()
    control_host: str = "127.0.0.1"
    control_port: int | None = None
    control_token: str | None = None
    device_lock: str | None = None
    admin_routes: bool = False
    answers: str | None = None


@dataclass(frozen=True)
class Settings:
    """One engine's launch. The first half is vLLM's own; names are tried in order of `served_names`."""

    model: str = "simulated"
    host: str = ""
    port: int = 8000
    served_names: tuple[str, ...] = ("simulated",)
    max_model_len: int = 32768
    max_num_seqs: int = 256
    api_keys: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()
    gpu_memory_utilization: float = 0.92
    kv_cache_dtype: str = "auto"
    block_size: int = 16
    shutdown_timeout: float = 0.0
    auto_tools: bool = False
    track_load: bool = False
    headless: bool = False
    nnodes: int = 1
    node_rank: int = 0
    master_addr: str = "127.0.0.1"
    master_port: int = 29501
    metrics: bool = True
    task: str = GENERATE
    access_log: bool = True
    simulation: Simulation = Simulation()

    @property
    def kv_tokens(self) -> int:
        """Cache size in tokens, whole blocks: as asked, or 262144 and at least one whole context."""
        asked = self.simulation.kv_tokens
        if asked is not None:
            return asked // self.block_size * self.block_size
        return ceil(max(262_144, self.max_model_len) / self.block_size) * self.block_size

    @property
    def limits(self) -> Limits:
        """What the scheduler holds to, in wall seconds: rates carry the speed factor."""
        factor = self.simulation.speed_factor
        curve = self.simulation.curve or PRESETS[self.simulation.preset]
        return Limits(
            max_running=self.max_num_seqs,
            cache_tokens=self.kv_tokens,
            prefill_rate=self.simulation.prefill_rate * factor,
            curve=curve.times(factor),
            block=self.block_size,
        )

    @property
    def loads_open(self) -> bool:
        """Whether it answers while it loads: 503, as llama.cpp; or, as Ollama, everything but what needs the model."""
        mode = self.simulation.load_mode
        return self.simulation.dialect != "vllm" if mode is None else mode == "503"

    @property
    def start_time(self) -> float:
        """Seconds until it serves; Ollama loads when it is first asked."""
        return 0.0 if self.simulation.dialect == "ollama" else self.load_time

    @property
    def load_time(self) -> float:
        return self.simulation.load_time / self.simulation.speed_factor
