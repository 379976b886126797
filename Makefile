.PHONY: help demo test check e2e bench fuzz setup clean
.DEFAULT_GOAL := help
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

help:  ## this list
	@grep -E '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 10

demo: .venv/.core  ## an investigation of a recorded incident: no key, no cluster, no network
	@$(BIN)/holmes demo

test: .venv/.dev  ## the unit tests, on all cores
	@$(BIN)/pytest tests --ignore tests/e2e -n auto --dist loadfile $(ARGS)

check: .venv/.dev  ## lint, types, layers, sizes
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/python scripts/check_sizes.py src tests

e2e: .venv/.dev  ## tests on a real cluster: HOLMES_E2E_CLUSTER names a folder with up, down and faults/
	@$(BIN)/pytest tests/e2e $(ARGS)

bench: .venv/.dev  ## speed and size, as ratios to a floor in the same run
	@$(BIN)/python scripts/bench.py

fuzz: .venv/.dev  ## 100,000 disguises of risky commands, none may be allowed
	HOLMES_FUZZ=100000 $(BIN)/pytest tests/policy/test_fuzz.py --timeout 0

setup: .venv/.dev  ## the development environment, in .venv

clean:  ## remove what the targets above made
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache build dist

.venv/.made:
	@command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) is not there; name a Python 3.11 or later: make PYTHON=python3.12 ..."; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Holmes needs Python 3.11 or later; name one: make PYTHON=python3.12 ..."; exit 1; }
	@$(PYTHON) -m venv .venv
	@touch $@

.venv/.core: .venv/.made pyproject.toml constraints.txt
	@echo "Installing into .venv ..."
	@$(PIP) -e .
	@touch $@

.venv/.dev: .venv/.core
	@$(PIP) -e '.[dev]'
	@touch $@
