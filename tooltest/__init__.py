"""Does this build still call tools? Scenarios, the contract of the wire, a score, and a gate between two builds.

Usable alone: `python -m floor.tooltest run URL`. `warmup` is the one tool call of a copy's warm-up.
"""
