# The commands of this repository. Needed beforehand: make and Python 3.11 or newer, nothing else.
# `make` alone says what there is.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.SUFFIXES:
.DEFAULT_GOAL := help

# The first Python on the path that is new enough; `make PYTHON=...` overrides it.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$p" && break; done)

VENV := .venv
BIN := $(VENV)/bin
ARGS ?=

# Thousands of tests in several processes: what is compiled is kept, whatever the environment says.
TESTING = PYTHONDONTWRITEBYTECODE= $(BIN)/python

# Two stamps in one environment: the demo needs less than lint and tests do.
DEMO_READY := $(VENV)/.demo-ready
DEV_READY := $(VENV)/.dev-ready

.PHONY: help venv demo test test-fast dropin differential stateful simulate exhaustive fuzz mutants campaign lint format docs lock clean

help: ## say what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

venv: $(DEV_READY) ## build .venv from the lock, once

demo: $(DEMO_READY) ## run a group of consumers on a Kafka and audit it; ARGS="--seconds 30"
	@$(BIN)/python -m kgroup.cli demo $(ARGS)

test: $(DEV_READY) ## run all tests, the long searches beside those on real brokers; ARGS="-k name"
	@$(TESTING) -m tests $(ARGS)

test-fast: $(DEV_READY) ## run what needs no broker and no patience, on asyncio (under a minute); house rules are in lint
	@$(TESTING) -m tests.halves $(ARGS)

differential: $(DEV_READY) ## compare the in-process broker with real ones; ARGS="--scripts 1000 --version 4.3.1 --seed 1"
	@$(BIN)/python -m tests.testing.differential $(ARGS)

simulate: $(DEV_READY) ## search groups for broken promises; ARGS="--schedules 10000 --level A --seed 1"
	@$(BIN)/python -m tests.search.simulation $(ARGS)

exhaustive: $(DEV_READY) ## walk through every state of a small group; ARGS="--mode eager --faults 1"
	@$(BIN)/python -m tests.search.exhaustive $(ARGS)

fuzz: $(DEV_READY) ## feed a decoder or the machine with nonsense; ARGS="T2 --inputs 1000000"
	@$(BIN)/python -m tests.search.fuzz $(ARGS)

mutants: $(DEV_READY) ## plant bugs, and see that simulation finds each; ARGS="--schedules 300"
	@$(BIN)/python -m tests.search.mutants $(ARGS)

campaign: $(DEV_READY) ## search on where the last sitting ended; ARGS="A --count 50000", ARGS="T2 --minutes 20"
	@$(BIN)/python -m tests.search.campaign $(ARGS)

# The peers' source trees, each with its tests; `make dropin` says how they are had.
AIOKAFKA_SRC ?=
KAFKA_PYTHON_SRC ?=

dropin: $(DEV_READY) ## run the peers' own tests on the facades; AIOKAFKA_SRC=... KAFKA_PYTHON_SRC=... ARGS="--class original"
	@$(TESTING) -m tests.dropin --aiokafka "$(AIOKAFKA_SRC)" \
		--kafka-python "$(KAFKA_PYTHON_SRC)" $(ARGS)

stateful: $(DEV_READY) ## run groups that Hypothesis chooses rule by rule; ARGS="--examples 20000 --seed 7"
	@$(BIN)/python -m tests.search.simulation.stateful $(ARGS)

lint: $(DEV_READY) ## check format, rules, types, imports, sizes and the documented API
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python -m pytest -q tests/house

format: $(DEV_READY) ## rewrite the code in the house format, apply safe fixes
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

docs: $(DEV_READY) ## write the generated pages of the documentation anew
	@$(BIN)/python -m tests.house.docs

# Hashes of every platform's files, and no trace of the index or the folders they came from.
PIP_COMPILE := ../$(BIN)/pip-compile --quiet --generate-hashes --allow-unsafe --strip-extras \
	--no-emit-index-url --no-emit-trusted-host --no-emit-find-links --no-emit-options \
	--no-header --annotation-style=line

lock: $(DEV_READY) ## resolve requirements/*.in anew; ARGS="--upgrade"
	@cd requirements && $(PIP_COMPILE) $(ARGS) --output-file demo.txt demo.in
	@cd requirements && $(PIP_COMPILE) $(ARGS) --output-file dev.txt dev.in

clean: ## remove the environment and all caches of the checkout
	@rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache *.egg-info

# -- the environment --------------------------------------------------------------------------

$(BIN)/python:
	@if [ -z "$(PYTHON)" ]; then echo "kgroup needs Python 3.11 or newer on the path" >&2; exit 1; fi
	@echo "environment: $$("$(PYTHON)" --version) in $(VENV)"
	@"$(PYTHON)" -m venv $(VENV)

PIP_INSTALL := $(BIN)/python -m pip --disable-pip-version-check install --quiet
INSTALL_PROJECT := PYTHONWARNINGS=ignore $(PIP_INSTALL) --no-deps --no-build-isolation --editable .

$(DEMO_READY): requirements/demo.txt pyproject.toml | $(BIN)/python
	@echo "environment: installing requirements/demo.txt"
	@$(PIP_INSTALL) --require-hashes --requirement requirements/demo.txt
	@$(INSTALL_PROJECT)
	@touch $@

$(DEV_READY): requirements/dev.txt pyproject.toml | $(BIN)/python
	@echo "environment: installing requirements/dev.txt"
	@$(PIP_INSTALL) --require-hashes --requirement requirements/dev.txt
	@$(INSTALL_PROJECT)
	@touch $@ $(DEMO_READY)
