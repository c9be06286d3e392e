"""Verbs that touch boxes: observe, change, check."""
