"""What somebody else runs on this machine: engines, what would start or stop them, and taking their place.

Standard library only: it is also carried to machines that floor is not on yet.
"""
