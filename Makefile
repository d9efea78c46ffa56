# SPDX-License-Identifier: Apache-2.0
# Needs git, make and python3 (3.11 or newer) with venv; everything else is set up in .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Validators of other projects, used by tests only; two are LGPL packages or depend on them.
VALIDATORS := .venv-validators
SITE := build/site
PAPERS := build/papers
DIFFICULTY := build/difficulty
EXAMPLE := build/example
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

# Additional arguments:  make run RUN="my-configuration.yml"   make test TEST="-k friend"
# Only  make test-all  runs wide tests (tests/costs.py) and those that need servers or a browser.
RUN ?=
TEST ?=
BENCH ?=
FUZZ_SECONDS ?= 300
ATTACKS ?=
RATES ?=
DATA ?=
YASGUI := kgbench/serve/static/yasgui
# Two worker processes. All tests of a file run in one process, so its fixtures are prepared once.
WORKERS ?= 2

.DEFAULT_GOAL := help
# The tests start hundreds of processes, which share compiled bytecode.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder
COVERED := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m coverage
# Coverage.py has no option for a minimum of branches alone (95 %).
BRANCHES := import json, sys; \
	part = json.load(open("build/coverage.json"))["totals"]["percent_branches_covered"]; \
	print(f"{part:.1f} % of branches"); sys.exit(part < 95)

.PHONY: help run example test test-all costs coverage lint format golden readme site papers difficulty answer-rates bench bench-check attacks fuzz mutant-rates yasgui clean distclean

help:  ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

run: $(VENV)/.installed  ## the quick start: a benchmark run, recorded; ends with the leaderboard
	$(strip $(BIN)/kgbench run $(RUN))

example: $(VENV)/.installed-dev  ## measure a small real model here and publish the results, in build/example (minutes)
	rm -rf $(EXAMPLE)
	$(BIN)/kgbench models install smollm2
	$(BIN)/kgbench run -m local:smollm2 -m baseline:guess -m baseline:oracle -t 'RdfFriendCount-*-1' -n 2 \
		--store $(EXAMPLE)/store
	$(BIN)/kgbench publish --store $(EXAMPLE)/store --out $(EXAMPLE)/site --base https://example.org/small/ \
		--title 'A small model' --description 'SmolLM2 looks for persons in graphs, beside random and right answers.' \
		--licence CC-BY-4.0 --creator 'Ada Example'
	$(BIN)/kgbench publish --check $(EXAMPLE)/site

test: $(VENV)/.installed-dev $(VALIDATORS)/.installed  ## the quick tests, of every room (minutes)
	$(strip $(PYTEST) $(TEST))

test-all: $(VENV)/.installed-dev $(VALIDATORS)/.installed  ## all tests, with servers and browser (hours)
	$(strip $(PYTEST) --tier all $(TEST))

costs:  ## move tests between quick and wide by the processor time that the last run measured
	$(BIN)/python -m tests.costs

coverage: $(VENV)/.installed-dev $(VALIDATORS)/.installed  ## branch coverage of all tests (hours)
	$(COVERED) erase
	$(strip $(COVERED) run -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder --tier all $(TEST))
	$(COVERED) combine --quiet
	$(COVERED) report
	$(COVERED) json --quiet -o build/coverage.json
	@$(BIN)/python -c '$(BRANCHES)'

lint: $(VENV)/.installed-dev  ## the linters and the type checker
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.installed-dev  ## format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

golden: $(VENV)/.installed-dev  ## write the golden files of the tests anew (minutes); explain each change in the commit
	RENEW_GOLDEN=1 $(strip $(BIN)/python -m pytest -q --tier all tests/golden $(TEST))

readme: $(VENV)/.installed-dev  ## update the outputs in README.md
	$(BIN)/python -m tests.readme

site: $(VENV)/.installed-dev  ## the documentation as a site, in build/site
	$(BIN)/python -m mkdocs build --strict --quiet --site-dir $(SITE)
	@echo "$(SITE)/index.html"

papers: $(VENV)/.installed-dev  ## tables and figures of four papers, from DATA=folder, in build/papers
	@test -n "$(DATA)" || { echo "the folder with published results is missing: make papers DATA=..." >&2; exit 1; }
	rm -rf $(PAPERS)
	$(BIN)/kgbench import llm-kg-bench $(DATA)/llm-kg-bench-v1/*.json $(DATA)/llm-kg-bench-v3/*.zip \
		--store $(PAPERS)/store
	$(BIN)/kgbench import text2kgbench $(DATA)/text2kgbench --store $(PAPERS)/store
	$(BIN)/kgbench reproduce --store $(PAPERS)/store --out $(PAPERS)

difficulty: $(VENV)/.installed-dev  ## run baselines on all generated families, for figures of the site (minutes)
	rm -rf $(DIFFICULTY)
	$(BIN)/kgbench run -m baseline:oracle -m 'baseline:noisy?rate=0.8&seed=1' -m baseline:silent \
		-t '*World-*' -n 10 --store $(DIFFICULTY)
	$(BIN)/kgbench analyze difficulty --store $(DIFFICULTY) --format csv --out docs/difficulty.csv

answer-rates: $(VENV)/.installed-dev  ## how many changed answers keep the full score, for the site (minutes; RATES="family ...")
	$(strip $(BIN)/python -m tests.answer_rates $(RATES))

bench: $(VENV)/.installed-dev  ## time kgbench itself (minutes)
	$(strip $(BIN)/python -m bench $(BENCH))

bench-check: $(VENV)/.installed-dev  ## fail if a hot path takes a third longer than declared (a minute)
	$(BIN)/python -m bench.check

attacks: $(VENV)/.installed-dev  ## attack kgbench and print a table (a quarter of an hour; ATTACKS=part)
	$(strip $(BIN)/python -m tests.attacks $(ATTACKS))

fuzz: $(VENV)/.installed-dev  ## fuzz the parsers of foreign text (FUZZ_SECONDS, 300)
	$(strip FUZZ_SECONDS=$(FUZZ_SECONDS) $(PYTEST) --tier all tests/fuzz/test_fuzz.py $(TEST))

mutant-rates: $(VENV)/.installed-dev $(VALIDATORS)/.installed  ## how many changes of each room its quick tests notice (an hour)
	$(strip $(BIN)/python -m tests.mutant_rates $(RATES))

yasgui:  ## add the query editor YASGUI to the pages (needs npm; the alternative is a plain form)
	@mkdir -p $(YASGUI)
	@npm pack --silent --pack-destination $(YASGUI) @zazuko/yasgui@4.6.2 > /dev/null
	@tar -xzf $(YASGUI)/zazuko-yasgui-4.6.2.tgz -C $(YASGUI) --strip-components 2 \
		package/build/yasgui.min.js package/build/yasgui.min.css
	@tar -xzf $(YASGUI)/zazuko-yasgui-4.6.2.tgz -C $(YASGUI) --strip-components 1 package/package.json
	@rm $(YASGUI)/zazuko-yasgui-4.6.2.tgz
	@ls $(YASGUI)

clean:  ## remove files of builds and checks; keep results and .venv
	rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage .coverage.*
	find . -path ./$(VENV) -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean  ## also remove .venv and other environments; keep results
	rm -rf $(VENV) $(VALIDATORS)

# A stamp is written after a successful installation, so a failed one is repeated.
$(VENV)/.installed: pyproject.toml hatch_build.py | $(BIN)/python
	@echo "Installing kgbench into $(VENV)"
	@$(PIP) install --editable .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml hatch_build.py | $(BIN)/python
	@echo "Installing kgbench with its extras and the development tools into $(VENV)"
	@$(PIP) install --editable '.[all,dev]'
	@touch $(VENV)/.installed $@

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "kgbench needs Python 3.11 or newer: make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

$(VALIDATORS)/.installed:
	$(PYTHON) -m venv $(VALIDATORS)
	$(VALIDATORS)/bin/python -m pip --disable-pip-version-check --quiet install \
		'roc-validator>=0.13,<0.14' 'mlcroissant>=1.1.1,<2' 'rocrate>=0.16' \
		'pyrudof>=0.3.35,<0.4' 'pyshacl>=0.40' 'PyLD>=3' 'nanopub>=2.0.1' \
		'owlready2>=0.51,<0.52' 'datacite>=1.4.1,<2'
	touch $@

# Debian's Jena, unpacked but not installed. Debian moved the message files of its Xerces classes; this restores them.
JENA_PACKAGES := libapache-jena-java libcommons-cli-java libcommons-codec-java libcommons-compress-java \
	libcommons-csv-java libcommons-io-java libcommons-lang3-java libdexx-java libgoogle-gson-java libguava-java \
	libhttpclient-java libhttpcore-java libjackson2-annotations-java libjackson2-core-java libjackson2-databind-java \
	libjsonld-java libjsonp2-java libprotobuf-java libslf4j-java libthrift-java libtitanium-json-ld-java libcaffeine-java
build/jena/.installed:
	mkdir -p build/jena/classes
	cd build/jena && apt-get download $(JENA_PACKAGES) && for file in *.deb; do dpkg -x "$$file" . || exit 1; done
	cd build/jena/classes && $(CURDIR)/$(BIN)/python -m zipfile -e ../usr/share/java/jena-core.jar unpacked && \
		cp -r unpacked/org/apache/jena/ext/xerces . && rm -r unpacked ../*.deb
	touch $@
