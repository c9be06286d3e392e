"""The parts of `examples/demo.py`."""
