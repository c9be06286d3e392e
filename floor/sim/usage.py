"""What `floor sim --help` prints."""

from __future__ import annotations

from floor.sim import faults

HELP = """\
usage: floor sim [serve] MODEL [vLLM flags] [--sim-… flags]
       floor sim --sim-dialect llamacpp --model FILE [llama-server flags] [--sim-… flags]
       OLLAMA_MODELS=FOLDER floor sim --sim-dialect=ollama [--sim-…=… flags] serve

A simulated engine: its endpoints, metrics, scheduling and failures, without a GPU. vLLM's flags are
accepted; those that matter here are --host --port --served-model-name --max-model-len --max-num-seqs
--api-key (or VLLM_API_KEY) --block-size --gpu-memory-utilization --enable-auto-tool-choice
--shutdown-timeout --disable-uvicorn-access-log. --runner pooling serves embeddings. With --nnodes
--node-rank --master-addr --master-port (--headless) it is one rank of a group, and waits for the others.

llama.cpp's answers are those of a real server, captured; Ollama's are those of its documentation.
llama-server's flags that matter: --model --alias --host --port --ctx-size --parallel --metrics --jinja
--embeddings --api-key (or LLAMA_API_KEY). Ollama: OLLAMA_HOST, OLLAMA_MODELS, OLLAMA_NUM_PARALLEL,
OLLAMA_CONTEXT_LENGTH; and --task embed, which no real one has.

`floor sim check …` reads all that, opens the device, and ends.

Each --sim-NAME is also FLOOR_SIM_NAME in the environment (dashes become underscores) or NAME in the
JSON file that FLOOR_SIM_CONFIG names; a flag wins over the environment, that over the file.

  --sim-dialect NAME       vllm, llamacpp or ollama (vllm)
  --sim-load-time S        seconds until it serves (0); Ollama loads at the first request
  --sim-load-mode MODE     refuse, or 503: the port answers 503 while loading (503 as llamacpp)
  --sim-preset NAME        throughput by requests at once: short or long prompts (short)
  --sim-curve N:R,N:R      a curve of your own: requests at once, total tok/s
  --sim-speed-factor F     everything is F times as fast (1)
  --sim-prefill-rate R     prompt tokens a second (4000)
  --sim-kv-tokens N        cache size in tokens (262144, or the context if that is more)
  --sim-kv-gib G, --sim-model-gib G     what the start log says (24, 71)
  --sim-graphs-gib G       and estimates for CUDA graphs (0.55)
  --sim-answer-tokens A-B  length of an answer that ends by itself (40-160)
  --sim-reasoning-tokens N the first N tokens are reasoning, not content (0)
  --sim-seed N             the same request gets the same answer from every engine with this seed (0)
  --sim-fault FAULT        KIND or KIND:name=value,…; may be given again; see below
  --sim-control-port P     /sim/state and /sim/faults on a port of their own, open from the start
  --sim-control-host H     where that port listens (127.0.0.1)
  --sim-control-token T    with it in X-Sim-Token, other machines may use /sim/… on the engine's port
  --sim-device-lock PATH   the device: an engine that cannot lock this file fails as on a full GPU
  --sim-answers PATH       an answer book: what `python -m floor.tooltest answers` prints
  --sim-admin-routes       serve vLLM's development routes (/pause, /sleep, …) too

Faults (all also take for=SECONDS and times=REQUESTS):
"""


def help_text() -> str:
    """What `--help` prints: flags, then each fault with its settings and their defaults."""
    lines = []
    for kind, options in faults.KINDS.items():
        settings = ", ".join(f"{name}={value}" for name, value in options.items())
        lines.append(f"  {kind:<14} {settings}".rstrip())
    return HELP + "\n".join(lines) + "\n"
