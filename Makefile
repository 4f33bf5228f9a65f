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

# Stamps in one environment: the demo needs less than lint and tests do, `make bench` something else.
DEMO_READY := $(VENV)/.demo-ready
DEV_READY := $(VENV)/.dev-ready
BENCH_READY := $(VENV)/.bench-ready
SPARK_READY := $(VENV)/.spark-ready

.PHONY: help venv demo test test-fast test-faults test-pure test-spark test-spark-long test-spark-oldest spark-matrix search dropin differential test-aiokafka bench bench-groups lint format docs lock clean spark-sieve spark-demo

help: ## say what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

venv: $(DEV_READY) ## build .venv from the lock, once

demo: $(DEMO_READY) ## run a group of consumers on a Kafka and audit it; ARGS="--seconds 30"
	@$(BIN)/python -m kgroup.cli demo $(ARGS)

# Each test belongs to one command: tests/combinations.py says how. Tests on real brokers come first,
# share two processes and their clusters, and mostly wait; two more run what needs no broker.
PYTEST := $(TESTING) -m pytest -q -n 3
DEALT := -n 4 --dist loadscope --no-loadscope-reorder

test: $(DEV_READY) ## run what a contributor needs, on real brokers too (12 minutes); ARGS="-k name"
	@$(PYTEST) $(DEALT) -m "not faults and not search and not spark" --ignore=tests/house $(ARGS)

test-fast: $(DEV_READY) ## run what needs no broker and no patience, on asyncio (under a minute)
	@$(PYTEST) --dist loadfile -m "not real and not docker and not slow and not search and not spark" -k "not trio" \
		--hypothesis-profile fast --ignore=tests/house --ignore=tests/real $(ARGS)

test-faults: $(DEV_READY) ## run long deaths, storms, migrations, and all further combinations (25 minutes)
	@$(PYTEST) $(DEALT) -m "faults and not spark" tests $(ARGS)

search: $(DEV_READY) ## search for bugs: a fixed share (6 minutes); ARGS="simulate --schedules 10000"
	@$(if $(ARGS),$(BIN)/python -m tests.search $(ARGS),$(PYTEST) --dist worksteal -m "search and not faults" tests)

differential: $(DEV_READY) ## compare the in-process broker with real ones; ARGS="--scripts 1000 --version 4.3.1 --seed 1"
	@$(BIN)/python -m tests.testing.differential $(ARGS)

# The peers' source trees, each with its tests; `make dropin` says how they are had.
AIOKAFKA_SRC ?=
KAFKA_PYTHON_SRC ?=

# The loops over records run compiled where a compiler was; these run them in Python.
test-pure: $(DEV_READY) ## run what reads records without the compiled module
	@KGROUP_PURE=1 $(PYTEST) --dist loadfile -m "not real and not docker and not slow and not search and not spark" -k "not trio" \
		--hypothesis-profile fast tests/wire tests/consumer tests/sync tests/compat $(ARGS)

# Two processes, each with a Spark and a broker: a query mostly waits.
SPARK_PYTEST := $(TESTING) -m pytest -q -n 2 --dist loadfile --no-loadscope-reorder -m "spark and not long" tests/spark

test-spark: $(SPARK_READY) ## run what needs a Spark, on real brokers (9 minutes)
	@$(SPARK_PYTEST) $(ARGS)

test-spark-long: $(SPARK_READY) ## run the demo with a Spark, also damaged, and the pipeline (4 minutes)
	@$(TESTING) -m pytest -q -m "spark and long" tests/spark $(ARGS)

# The oldest Spark that calls all that the source answers; requirements/spark.txt has the newest.
SPARK_OLDEST := 4.2.0

test-spark-oldest: $(SPARK_READY) ## run the tests of Spark on the oldest that is supported
	@folder=$$(mktemp -d); trap 'rm -r "$$folder"' EXIT; \
		$(BIN)/pip install -q --no-deps --target "$$folder" "pyspark==$(SPARK_OLDEST)"; \
		ls "$$folder" | grep dist-info; \
		PYTHONPATH="$$folder" $(SPARK_PYTEST) $(ARGS)

spark-matrix: $(SPARK_READY) ## kill each part of a query at each moment (hours); ARGS="CELL ..." or "soak --minutes 60"
	@$(TESTING) -m tests.spark.matrix $(ARGS)

spark-demo: $(SPARK_READY) ## a group and a Spark query are disturbed and judged, with tables and a report; ARGS=--damage
	@$(BIN)/python -m kgroup.cli spark demo $(ARGS)

spark-sieve: $(SPARK_READY) ## show the sieve of a fleet 10,000 groups, each planted bug, a million lines (an hour); ARGS="kept --lines 100000000 --partitions 64"
	@$(TESTING) -m tests.spark.sieving $(ARGS)

dropin: $(DEV_READY) ## run the peers' own tests on the facades; AIOKAFKA_SRC=... KAFKA_PYTHON_SRC=... ARGS="--class original"
	@$(TESTING) -m tests.dropin --aiokafka "$(AIOKAFKA_SRC)" \
		--kafka-python "$(KAFKA_PYTHON_SRC)" $(ARGS)

# The core takes any aiokafka from 0.13 on: the tests of the wire on the oldest and the newest.
test-aiokafka: $(DEV_READY) ## run the tests of the wire with the oldest and the newest aiokafka
	@for wanted in aiokafka==0.13.0 aiokafka; do \
		folder=$$(mktemp -d); $(BIN)/pip install -q --no-deps --target "$$folder" "$$wanted"; \
		ls "$$folder" | grep dist-info; \
		PYTHONPATH="$$folder" $(TESTING) -m pytest -q -n 2 tests/wire; rm -r "$$folder"; done

bench: $(BENCH_READY) ## measure reading next to other clients (an hour); ARGS="--quick --json FILE"
	@$(TESTING) -m benchmarks.consume $(ARGS)

bench-groups: $(BENCH_READY) ## measure what rebalances cost next to other clients (45 minutes); ARGS="--resume"
	@$(TESTING) -m kgroup.cli bench run --full --out bench-results $(ARGS)

lint: $(DEV_READY) ## check format, rules, types, imports, sizes and the documented API
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python -m pytest -q tests/house
	@$(BIN)/python -m tests.house.figures

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
	@cd requirements && $(PIP_COMPILE) $(ARGS) --output-file bench.txt bench.in
	@cd requirements && $(PIP_COMPILE) $(ARGS) --output-file spark.txt spark.in

clean: ## remove the environment and all caches of the checkout
	@rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache *.egg-info

# -- the environment --------------------------------------------------------------------------

$(BIN)/python:
	@if [ -z "$(PYTHON)" ]; then echo "kgroup needs Python 3.11 or newer on the path" >&2; exit 1; fi
	@echo "environment: $$("$(PYTHON)" --version) in $(VENV)"
	@"$(PYTHON)" -m venv $(VENV)

BUILT_FROM := pyproject.toml setup.py kgroup/wire/records/_compiled.c
PIP_INSTALL := $(BIN)/python -m pip --disable-pip-version-check install --quiet
INSTALL_PROJECT := PYTHONWARNINGS=ignore $(PIP_INSTALL) --no-deps --no-build-isolation --editable .

$(DEMO_READY): requirements/demo.txt $(BUILT_FROM) | $(BIN)/python
	@echo "environment: installing requirements/demo.txt"
	@$(PIP_INSTALL) --require-hashes --requirement requirements/demo.txt
	@$(INSTALL_PROJECT)
	@touch $@

$(DEV_READY): requirements/dev.txt $(BUILT_FROM) | $(BIN)/python
	@echo "environment: installing requirements/dev.txt"
	@$(PIP_INSTALL) --require-hashes --requirement requirements/dev.txt
	@$(INSTALL_PROJECT)
	@touch $@ $(DEMO_READY)

$(SPARK_READY): requirements/spark.txt $(BUILT_FROM) | $(BIN)/python
	@echo "environment: installing requirements/spark.txt"
	@$(PIP_INSTALL) --require-hashes --requirement requirements/spark.txt
	@$(INSTALL_PROJECT)
	@touch $@ $(DEV_READY) $(DEMO_READY)

$(BENCH_READY): requirements/bench.txt $(BUILT_FROM) | $(BIN)/python
	@echo "environment: installing requirements/bench.txt"
	@$(PIP_INSTALL) --require-hashes --requirement requirements/bench.txt
	@$(INSTALL_PROJECT)
	@touch $@ $(DEMO_READY)
