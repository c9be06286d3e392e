"""Runs self-hosted LLM inference on one, two or more boxes."""

__version__ = "0.1.0"
