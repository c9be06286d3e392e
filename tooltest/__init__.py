"""Does this build still call tools? For now: the one tool call that a warm-up makes."""
