"""The simulated engine: vLLM, llama.cpp or Ollama without a GPU, able to break in every way a real one does.

`run(argv)` is what `floor sim` and `python -m floor.sim` call.
`floor.sim.process.SimulatedEngine` starts one for a test.
"""

from __future__ import annotations

from collections.abc import Sequence


def run(argv: Sequence[str]) -> int:
    """Serve until stopped. `argv` is the engine's own command line plus `--sim-…` flags, without a program name.

    Returns the process's exit code: 0 stopped as asked, 1 could not start, 2 the command line cannot be meant.
    """
    from floor.sim.__main__ import main

    return main(argv)
