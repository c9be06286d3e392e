"""This machine: its facts, files, units, operation record and drains."""
