# Everything is made on first use and quick when run again.
PYTHON ?= $(or $(shell command -v python3.11 || command -v python3.12 || command -v python3),python3.11)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
JARS := .jars/.resolved
BROKER_JARS := .jars/broker/.resolved
DEMO := .demo

.DEFAULT_GOAL := help
.PHONY: faults help setup demo test lint format clean days days-large package cluster account check-public-logs oracle differential assignor-differential mutate bench-engine bench-assignors bench-assign-job bench-decode bench-scale bench-herd bench-simulation simulation-truth what-if-twins bench-what-if

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 24

setup: $(READY) $(JARS)  ## .venv with regroup in it, and the jars Spark needs

$(READY): requirements.lock pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "Regroup needs Python 3.11: install it (Debian: apt install python3.11 python3.11-venv), or name one: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] not in ((3, 11), (3, 12)))' || { echo "Regroup needs Python 3.11 or 3.12, and $(PYTHON) is another: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install --quiet --disable-pip-version-check --requirement requirements.lock
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@$(BIN)/python -c "import jobs.bulk.kernel"  # compiled now, and kept
	@touch $@

$(JARS): tools/fetch_jars.py $(READY)
	@{ command -v java >/dev/null || test -x "$${JAVA_HOME:-/nowhere}/bin/java"; } || { echo "Regroup needs Java 17: install a JRE (Debian: apt install openjdk-17-jre-headless), or set JAVA_HOME" >&2; exit 1; }
	@$(BIN)/python tools/fetch_jars.py
	@touch $@

$(BROKER_JARS): tools/fetch_jars.py $(JARS)
	@$(BIN)/python tools/fetch_jars.py broker
	@touch $@

demo: setup  ## the main job on two real incidents, on a lake under .demo/, and what it found
	@$(BIN)/python -m jobs.nightly_run.demo --lake $(DEMO)/lake

test: setup $(BROKER_JARS)  ## all tests, one of them against a Kafka broker
	@$(BIN)/python -m pytest -q -rs -n 2 --dist loadfile

lint: setup  ## ruff and mypy
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

format: setup  ## rewrite the sources in the project's format
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

days: setup  ## a month night after night (late, again, at once, killed) beside a backfill and one run: equal?
	@$(BIN)/python -m tools.days $(ARGS)

days-large: setup  ## the same for two dates of a size at which runs go another way
	@rm -rf build/over-midnight
	@$(BIN)/regroup simulate --spec tools/days/over_midnight.toml --groups $(or $(GROUPS),80) \
		--lake build/over-midnight --cluster-id c --conf conf/large.toml
	@$(BIN)/python -m tools.days.large build/over-midnight --cluster-id c

package: setup  ## the project's packages as build/regroup.zip, for spark-submit --py-files
	@mkdir -p build
	@$(BIN)/python -m tools.package build/regroup.zip

cluster: setup  ## the nightly run by spark-submit on a standalone cluster on loopback, equal to the local one?
	@$(BIN)/python -m tools.standalone_cluster $(INCIDENT)

account: setup  ## every record and coordinator line below DIR=... read or in quarantine, with counts
	@$(BIN)/python -m tools.account_for $(or $(DIR),examples)

check-public-logs: setup  ## the log reader against labelled lines of strangers' brokers in DIR=...
	@$(BIN)/python -m tools.check_public_logs $(or $(DIR),$(error give the folder: make check-public-logs DIR=...))

oracle:  ## build the runner around Kafka's own coordinator classes (4.1, 3.9, 2.5) with Maven, under build/
	@mvn -q -B -f tools/differential/runner/pom.xml package

SEED ?= 1
COUNT ?= 500
ERAS ?= 4.1,3.9,2.5
differential: setup  ## COUNT random scenarios of SEED through Kafka and the engine; the first difference shrunk
	@$(BIN)/python -m tools.differential --seed $(SEED) --count $(COUNT) --eras $(ERAS)

assignor-differential: setup  ## random assignor cases through Kafka's own classes and ours
	@mvn -q -B -f tools/assignor_differential/kafka/pom.xml package
	@$(BIN)/python -m tools.assignor_differential --seed $(SEED) --count $(COUNT)

mutate: setup  ## change the grid cell by cell: which changes does no recorded scenario notice?
	@$(BIN)/python tools/mutate_grid.py $(or $(ERA),4.1) $(or $(CASES),$(error give CASES="SCENARIOS TRACES"))

bench-engine: setup  ## the engine beside Kafka's own classes (make oracle first)
	@$(BIN)/python -m bench.engine

bench-assignors: setup  ## the assignors beside Java, franz-go and kafka-python (Maven, Go)
	@$(BIN)/python -m bench.assignors --build
	@$(BIN)/python -m bench.assignors --peers

bench-decode: setup $(BROKER_JARS)  ## decoding beside Kafka's own readers and beside passing records on untouched
	@$(BIN)/python -m bench.decode

bench-assign-job: setup  ## the re-run through Spark: 10,000 small groups; 100,000 generations, even and skewed
	@$(BIN)/python -m bench.assign_job
	@$(BIN)/python -m bench.assign_job --large

SIZES ?= 0.01 0.04 0.16
SKEWED ?= 0.04
bench-scale: setup  ## time and memory of each job as the day grows; size 1 is 250,000 generations
	@$(BIN)/python -m bench.scale --sizes $(SIZES) --skewed $(SKEWED) --without $(WITHOUT)

bench-herd: setup  ## the consumer of ZooKeeper's days beside the coordinator, as a group grows; writes docs/herd.svg
	@$(BIN)/python -m bench.herd --plot docs/herd.svg

simulation-truth: setup  ## 100 simulated fleets through one nightly: do the tables say what the simulations know?
	@$(BIN)/python -m bench.simulation.against_truth --fleets $(or $(FLEETS),100)

bench-simulation: setup  ## group-days a second, in one process and by Spark
	@$(BIN)/python -m bench.simulation --groups $(or $(GROUPS),500)

bench-what-if: setup  ## replay and sweep of GROUPS simulated groups by Spark, from simulating them on
	@$(BIN)/python -m bench.what_if --groups $(or $(GROUPS),1000)

what-if-twins: setup  ## what-if's predictions beside what came true: real groups, one setting changed at a time
	@$(BIN)/python -m bench.twins

KIND ?=
faults: setup  ## every fault tried and counted: KIND="kill worker executor disk lake", ARGS="--tries N --seed S"
	@$(BIN)/python -m tools.faults $(KIND) $(ARGS)

clean:  ## forget the demo's lake and the caches; .venv and .jars stay
	@rm -rf $(DEMO) .pytest_cache .mypy_cache .ruff_cache .hypothesis spark-warehouse
