# Targets for users and contributors; bench/Makefile and tools/Makefile have the rest.
PYTHON ?= $(or $(shell command -v python3.11 || command -v python3.12 || command -v python3),python3.11)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
BROKER_JARS := .jars/broker/.resolved
DEMO := .demo
# The charts' JavaScript, which takes seconds to make; without this file, each page makes it again.
VEGA := jobs/report/static/vega.js
HAS_JAVA := { command -v java >/dev/null || test -x "$${JAVA_HOME:-/nowhere}/bin/java"; }

# Each process that the tests start imports the same modules, so Python keeps them compiled even where
# the environment forbids this.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-fast lint docs format package clean jars

help:  ## this list; `make -C tools` and `make -C bench` list the other targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: $(READY) jars  ## create .venv with regroup; if there is Java, fetch the jars that Spark needs into .jars

$(READY): requirements-dev.lock pyproject.toml setup.py
	@command -v $(PYTHON) >/dev/null || { echo "Regroup needs Python 3.11: install it (Debian: apt install python3.11 python3.11-venv), or name one: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] not in ((3, 11), (3, 12)))' || { echo "Regroup needs Python 3.11 or 3.12; $(PYTHON) is another version: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@# The lock has all packages, so pip need not resolve any; Python compiles a module when it is first imported.
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-compile --no-deps --require-hashes --requirement requirements-dev.lock
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-compile --no-deps --no-build-isolation --editable .
	@$(BIN)/python -c "import jobs.bulk.kernel"  # Compile the decoder once.
	@$(BIN)/python -c "import pathlib, vl_convert as vl; pathlib.Path('$(VEGA)').write_text(vl.javascript_bundle(), 'utf-8')"
	@touch $@

# Without Java there is only the embedded engine, and no need for Spark's jars.
jars: $(READY)
	@if $(HAS_JAVA); then $(MAKE) --no-print-directory .jars/.resolved; \
	else echo "no Java: only the embedded engine can run; for Spark, install Java 17 (Debian: apt install openjdk-17-jre-headless), or set JAVA_HOME" >&2; fi

.jars/.resolved: jobs/engine/jars.py jobs/nightly_run/class_archive.py $(READY)
	@$(HAS_JAVA) || { echo "Spark needs Java 17: install a JRE (Debian: apt install openjdk-17-jre-headless), or set JAVA_HOME" >&2; exit 1; }
	@REGROUP_JARS= $(BIN)/regroup jars
	@touch $@

$(BROKER_JARS): tools/fetch_jars.py tools/object_store.py tools/broker_jars.sha256 .jars/.resolved
	@$(BIN)/python -m tools.fetch_jars
	@touch $@

demo: setup  ## run nightly on two real incidents, one per engine, into the lake .demo/lake, and print the rebalances
	@$(BIN)/regroup demo --lake $(DEMO)/lake

test: setup $(BROKER_JARS)  ## the tests, with Spark and a Kafka broker; `make -C tools test-spark` runs the remaining ones
	@$(BIN)/python -m pytest -q -rs -n 2 --dist loadgroup --no-loadscope-reorder

test-fast: setup  ## the tests that need neither Spark nor a broker: a minute or two
	@$(BIN)/python -m pytest -q -n 2 --dist loadfile -m "not spark and not broker and not slow"

lint: setup  ## check with ruff, mypy and the list of ruled-out words
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/python -m tools.language

docs: setup  ## build the manual from docs/ into build/manual; a broken link or anchor fails
	@$(BIN)/python -m tools.manual

format: setup  ## rewrite the sources in the project's format
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

package: setup  ## build the wheels regroup and regroup-embedded, and build/regroup.zip for spark-submit; PURE=1: no compiled modules
	@$(BIN)/python -m tools.package build $(if $(PURE),--pure)

clean:  ## delete the demo's lake, packages and caches; .venv and .jars stay
	@rm -rf $(DEMO) build/lib build/wheels build/*.whl build/regroup.zip .pytest_cache .mypy_cache .ruff_cache .hypothesis spark-warehouse
