# Needs only Python >= 3.10 and make: every target creates .venv itself, a second run is quick.
#
#   make demo        modellint on a small real project with defects, and on its corrected twin
#   make test        the tests
#   make lint        ruff, mypy, import-linter, modellint on itself
#   make docs        regenerate docs/rules/ and the rule table in README.md; DEMO=1: the demo's output too
#   make clean       remove .venv and everything that was generated

.DEFAULT_GOAL := help
.PHONY: help install demo test lint docs clean
.DELETE_ON_ERROR:

VENV ?= .venv
TORCH ?= --constraint constraints.txt torch
PYTEST_ARGS ?=
# The first interpreter that is new enough; PYTHON=... overrides the choice.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python3.10 python; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null && echo "$$p" && break; done)

BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

help:
	@sed -n '3,9s/^#   //p' Makefile

install: $(STAMP)

# The stamp is written last: an interrupted installation is taken up again. torch comes first and alone, so
# that TORCH decides its build; the rest finds it installed and leaves it.
$(STAMP): pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "modellint needs Python >= 3.10 (make PYTHON=/path/to/python)" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet $(TORCH)
	grep -v '^torch' constraints.txt > $(VENV)/constraints.txt
	$(BIN)/python -m pip install --quiet --constraint $(VENV)/constraints.txt --editable ".[trace]" --group dev
	@touch $@

demo: $(STAMP)
	@$(BIN)/python examples/demo.py

# Each worker imports torch (about 300 MB), hence the limit; workers are the parallelism, hence one thread each.
test: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --maxprocesses 8 --dist loadgroup $(PYTEST_ARGS)

lint: $(STAMP)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy --strict modellint
	$(BIN)/lint-imports
	$(BIN)/modellint check .

docs: $(STAMP)
	$(BIN)/python docs/generate.py $(if $(DEMO),--demo)

clean:
	rm -rf $(VENV) .demo build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .modellint_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
