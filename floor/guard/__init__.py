"""Watches the memory of this box, and takes one engine down before the box freezes."""
