"""`floor sim`: an engine that speaks the dialect of vLLM, llama.cpp or Ollama and needs no GPU."""

from __future__ import annotations

import typer


def sim(context: typer.Context) -> None:
    """Run a simulated engine: `floor sim serve MODEL --port 8000`, and any other flag of vLLM."""
    from floor.sim.__main__ import main

    raise typer.Exit(main(context.args))
