# Two commands: `make demo` shows floor at work on this machine, `make test` runs every test there is.
# Both set up what they need: a virtual environment in .venv, and Debian packages where they are missing (as root).

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

.PHONY: demo test check unit model integration packaging lab soak real real-llamacpp machine install clean

install: $(STAMP)

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet --editable '.[dev]'
	touch $@

# Debian packages that demo and tests run: nginx, and what boots two boxes on this machine.
machine:
	@sh tests/machine.sh

demo: install
	@command -v nginx >/dev/null || sh tests/machine.sh nginx-light
	$(BIN)/python examples/demo.py

# The model's stories only compute and the lab mostly waits, so they run side by side, the stories where time is left.
test: check unit integration packaging
	$(MAKE) --jobs=2 --output-sync=line model lab
	$(MAKE) real

check: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

unit: install
	$(BIN)/pytest -n auto tests/unit

# The real planners, leases and operations on simulated boxes, with a fault at every call of every command.
model: install
	nice -n 19 $(BIN)/pytest -n auto tests/model

integration: install machine
	$(BIN)/pytest -n 4 tests/integration

# What a person gets: the demo, and wheel and sdist installed beside another package named watchdog (network: the
# package index).
packaging: install machine
	$(BIN)/pytest tests/demo tests/packaging

# Two boxes with systemd, sshd, nginx and Docker, in network namespaces of this machine (root). Two such pairs side by
# side, a file each: they mostly wait.
lab: install machine
	$(BIN)/pytest -n 2 --dist loadfile --no-loadscope-reorder tests/lab tests/soak

# The soak alone: the same boxes in faults under load, 3 minutes or for as long as FLOOR_SOAK says (root).
soak: install machine
	$(BIN)/pytest -s tests/soak

# The same boxes with real vLLM on the CPU (root; 3.4 GB on disk the first time).
real: install machine
	$(BIN)/pytest tests/real --ignore tests/real/llamacpp

# The same boxes with llama.cpp's own server (root; the first time it is built from source, 8 minutes on two idle cores).
# Not part of `make test`.
real-llamacpp: install machine
	sh tests/machine.sh cmake g++ make
	$(BIN)/pytest tests/real/llamacpp

clean:
	rm -rf $(VENV) .demo .pytest_cache .mypy_cache .ruff_cache .hypothesis
