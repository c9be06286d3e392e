"""Restarts what should be restarted on a box, and nothing else. Holds no code yet: systemd restarts a dead engine."""
