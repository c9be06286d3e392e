"""From trials to a verdict: scores, statistics, and the gate. Pure; randomness is an argument."""
