# Two commands for a newcomer: `make verify` and `make test`. Both set themselves up.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

# Tests share nothing but the machine; more than four at once would only wait for its disk.
SIDE_BY_SIDE := --numprocesses auto --maxprocesses 4 --dist worksteal

# Containers often say that nothing compiled shall be kept. Here hundreds of processes import the
# same modules: to compile them in each is a fifth of its start.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: verify test museum examples lint types contracts check clean

verify: $(READY)
	@$(BIN)/onecharge verify

test: $(READY)
	@$(BIN)/pytest $(SIDE_BY_SIDE)

# Every mutant on show, judged by the invariant that its file names: some ten minutes.
museum: $(READY)
	@$(BIN)/pytest -m museum $(SIDE_BY_SIDE)

# Other people's services, each made of what its community uses.
examples: $(READY)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[examples]'
	@if command -v npm >/dev/null; then cd examples && npm install --no-audit --no-fund --no-package-lock --silent; fi
	@$(BIN)/pytest -m examples $(SIDE_BY_SIDE)

lint: $(READY)
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check

types: $(READY)
	@$(BIN)/mypy

contracts: $(READY)
	@$(BIN)/lint-imports

check: test lint types contracts

clean:
	rm -rf $(VENV) .onecharge .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

# The environment is made anew whenever what it is made from has changed.
$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "onecharge needs Python 3.11 or newer, found " + sys.version.split()[0])'
	@echo "onecharge: making $(VENV) (once; about a minute)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $@
