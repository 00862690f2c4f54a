# What people, the README and CI call. Each target first installs whatever is missing; see scripts/setup.

SETUP := @scripts/setup
BIN := .venv/bin
PIN = $(BIN)/uv pip compile $(UP) --quiet --universal --python-version 3.11 --generate-hashes \
    --custom-compile-command "make requirements"

.DEFAULT_GOAL := help
.PHONY: help setup demo lint unit check oracle test test-often test-s3 second-judge requirements nemesis-table mutants bench bench-checker study backends-table kraft applications releases bench-backends bench-compare configurations runner nightly nightly-kraft nightly-summary evidence test-workflows image harness-image wheel

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "make %-14s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

setup: ## only install what is missing
	$(SETUP)

demo: ## run scenario study-1: acks=1, the leader is killed, acked records are lost
	$(SETUP)
	@$(BIN)/kafka-harness run study-1

lint: ## what reads the code: ruff, mypy --strict, layers (import-linter), unused code (vulture), taste
	$(SETUP) --only-python
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/vulture
	$(BIN)/python -m scripts.taste

unit: ## the tests without a JVM, a browser or a cluster
	$(SETUP) --only-python
	@$(BIN)/python -m pytest -m "not jvm and not browser and not cluster" -n 3 --dist loadfile

check: ## what every change must pass: lint, and the tests that need no cluster, in parts
	$(SETUP)
	@$(BIN)/python -m scripts.test_parts lint unit stories checker

test: ## every test, in parts (WITH="unit local": these)
	$(SETUP) --tests
	@$(BIN)/python -m scripts.test_parts $(WITH)

test-often: ## the tests on clusters five times: how often each of them failed
	$(SETUP) --tests
	@$(BIN)/python -m scripts.test_parts --live --times 5

test-s3: ## the test of a Spark cluster whose runs lie in a store, on S3 too (fetches 690 MB of jars once)
	$(SETUP) --tests
	@$(BIN)/python -m harness.distribution.jars_for_tests minicluster s3
	@TEST_S3=1 $(BIN)/python -m pytest tests/live/remote

oracle: ## anomalies, and what permits a record, against their second opinions: N=10000 random histories of each (SEED=1)
	$(SETUP)
	@HISTORIES=$(or $(N),10000) ORACLE_STORIES=$(or $(N),10000) ORACLE_SEED=$(or $(SEED),1) \
	    $(BIN)/python -m pytest tests/unit/analysis/test_oracle.py tests/unit/analysis/test_permission_oracle.py \
	    tests/unit/analysis/test_backwards_oracle.py tests/unit/analysis/stored/transactions/test_circles.py \
	    tests/unit/analysis/stored/test_group_life.py

nemesis-table: ## try every verb at every target, with ZooKeeper and with KRaft (two hours), then write the table in docs/faults.md
	$(SETUP) --tests
	@$(BIN)/python -m bench.fault_table

mutants: ## try small changes of the code that a test must notice (hours, goes on where it was; WITH="--only workloads"), then write docs/mutants.md
	$(SETUP)
	@$(BIN)/python -m bench.mutants $(WITH)

bench: ## what recording costs: a recorded producer beside an unrecorded one
	$(SETUP)
	@$(BIN)/python -m bench

bench-checker: ## what checking costs beside DuckDB, and whether it is within its bars (an hour; WITH="--sizes 1M --shapes clean")
	$(SETUP)
	@$(BIN)/python -m bench.checker $(WITH)

runner: ## what Ubuntu's CI machines need first: ordinary users may make namespaces
	@if [ "$$(sysctl -n kernel.apparmor_restrict_unprivileged_userns 2>/dev/null)" = 1 ]; then \
	    sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0; fi

# Where a night is kept: by its backend, or by a name of its own.
NIGHT = $(or $(NIGHTS),$(BACKEND),local)

nightly: ## tonight's campaign on one backend (BACKEND=local), held against the nights before in nights/ (every release: CAMPAIGN=docs/releases.toml NIGHTS=releases)
	$(SETUP)
	@$(BIN)/kafka-harness campaign $(or $(CAMPAIGN),docs/nightly.toml) --backends $(or $(BACKEND),local) \
	    --nights nights/$(NIGHT) --results results/nightly/$(NIGHT)

nightly-kraft: ## the same with KRaft, in a folder of that backend's
	@$(MAKE) --no-print-directory nightly CAMPAIGN=$(or $(CAMPAIGN),docs/nightly-kraft.toml) NIGHTS=$(NIGHT)/kraft

nightly-summary: ## tonight's pages, into the summary of a GitHub job where there is one
	@find nights/$(NIGHT) -name "$$(date -u +%F).md" -exec cat {} + | tee -a "$${GITHUB_STEP_SUMMARY:-/dev/null}"

test-workflows: ## the steps of .github/workflows in a clean clone, with a campaign of one cell (an hour with WITH=--all)
	$(SETUP) --tests
	@$(BIN)/python -m scripts.run_workflows $(WITH)

bench-compare: ## how often `compare` calls runs different that are not, and finds what is there
	$(SETUP)
	@$(BIN)/python -m bench.alarms docs/data/study.jsonl docs/data/configurations.jsonl

configurations: ## make the matrix' runs that are still missing (hours), then write docs/configurations.md
	$(SETUP)
	@$(BIN)/kafka-harness campaign docs/configurations.toml --resume; code=$$?; \
	    $(BIN)/python -m analysis.studies.configurations docs/configurations.toml && \
	    $(BIN)/python -m analysis.studies.readme docs/configurations.toml && exit $$code

study: ## make the study's runs that are still missing (hours), then write docs/study.md, study-older.md and faq.md
	$(SETUP)
	@$(BIN)/kafka-harness campaign docs/study.toml --resume; code=$$?; \
	    $(BIN)/python -m analysis.studies.study docs/study.toml && \
	    $(BIN)/python -m analysis.studies.faq docs/study.toml && exit $$code

backends-table: ## make the missing runs of the same scenarios on each backend (hours; ON="--backends local"), then write docs/backends.md
	$(SETUP)
	@$(BIN)/kafka-harness campaign docs/backends.toml --resume $(ON); code=$$?; \
	    $(BIN)/python -m analysis.studies.backends docs/backends.toml && exit $$code

kraft: ## make the missing runs of KRaft's scenarios (hours), then write docs/kraft.md
	$(SETUP)
	@$(BIN)/kafka-harness campaign docs/kraft.toml --resume; code=$$?; \
	    $(BIN)/python -m analysis.studies.kraft docs/kraft.toml && exit $$code

applications: ## make the missing runs of the application under fault (an hour), then write the tables of docs/applications.md
	$(SETUP)
	@$(BIN)/kafka-harness campaign docs/applications.toml --resume; code=$$?; \
	    $(BIN)/python -m analysis.studies.applications docs/applications.toml && exit $$code

releases: ## make the missing runs of every pinned Kafka in each mode (an hour), then write docs/releases.md
	$(SETUP)
	@$(BIN)/kafka-harness campaign docs/releases.toml --resume; code=$$?; \
	    $(BIN)/python -m analysis.studies.releases docs/releases.toml && exit $$code

bench-backends: ## start, cut and failover on local, docker and kubernetes side by side; then what KRaft costs a start beside ZooKeeper
	$(SETUP)
	@code=0; $(BIN)/python -m bench.backends $(ON) || code=$$?; $(BIN)/python -m bench.starts && exit $$code

second-judge: ## ask Jepsen's own checker about a run: RUN=RUN JEPSEN=CHECKOUT, and Leiningen
	$(SETUP)
	@$(BIN)/python -m scripts.second_judge "$(RUN)" "$(JEPSEN)"

requirements: ## pin and hash anew what set-up installs (UP=--upgrade: the newest that fits)
	$(SETUP)
	@$(PIN) pyproject.toml --all-extras --output-file requirements/packages.txt
	@$(PIN) requirements/build.in --constraint requirements/packages.txt --output-file requirements/build.txt
	@$(PIN) requirements/s3.in --output-file requirements/s3.txt

evidence: ## judge the whole runs of docs/evidence again, make their pages, compare them with the ledgers
	$(SETUP)
	@$(BIN)/python -m scripts.evidence

image: ## the docker backend's image from Debian packages and Kafka's jars, without a registry (KAFKA=4.4)
	$(SETUP)
	@$(BIN)/kafka-harness image $(if $(KAFKA),--kafka $(KAFKA))

harness-image: ## the harness's own image, for k8s/nightly.yaml, made in the same way
	$(SETUP)
	@$(BIN)/kafka-harness harness-image

# A wheel needs one package alone, and no set-up.
HATCHLING := $(firstword $(wildcard $(BIN)/hatchling) build/wheel/bin/hatchling)
build/wheel/bin/hatchling:
	@for python in python3.13 python3.12 python3.11 python3; do \
	    "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && \
	    exec "$$python" -m venv build/wheel; done; exit 1
	@build/wheel/bin/python -m pip install --quiet --disable-pip-version-check hatchling

wheel: $(HATCHLING) ## the wheel file in dist/, from which the harness is installed without a checkout
	@$(HATCHLING) build --target wheel
