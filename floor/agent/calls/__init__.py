"""What the agent can be asked: one file per noun, found by `floor.agent.registry`."""
