"""Looks after the copies of this box, on a timer: starts again what hangs or stays down, rationed, and says why."""
