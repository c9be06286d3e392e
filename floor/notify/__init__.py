"""Tells a person what needs one: a command or a web hook, at most so often."""
