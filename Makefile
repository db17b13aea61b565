# Each target does all of its own set-up: a machine needs Python 3.11 or later, pip and make.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
LIGHT  := $(VENV)/.installed-demo
STAMP  := $(VENV)/.installed
PIP    := $(BIN)/python -m pip --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint format bench peers axe mariadb experiments gallery pictures notebooks docs soak lock rehearsal clean

help: ## what there is to make
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

# One environment in two stages: what the demo needs, and on top of it what tests, linters and pages need.
# The versions are the same, so the second stage changes nothing of the first. Each is redone only when its
# lock or the project file changes; a half-made one leaves no stamp.
# No bytecode ahead for the demo: Python compiles the modules that are imported, a small part of them.
$(LIGHT): requirements-demo.lock pyproject.toml
	@echo "Installing what the demo needs into $(VENV), once: a minute or so ..."
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo "Sfumato needs Python 3.11 or later: make PYTHON=/path/to/python3 ..." >&2; exit 1; }
	@rm -f $(LIGHT) $(STAMP)
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV) >/dev/null 2>&1 || \
	    { $(PYTHON) -m venv --clear --without-pip $(VENV) && \
	      $(PYTHON) -m pip --quiet --python $(BIN)/python install pip; }  # some systems part pip from venv
	@$(PIP) install --no-compile --require-hashes -r requirements-demo.lock
	@$(PIP) install --no-compile --no-deps --no-build-isolation -e .
	@touch $@

$(STAMP): requirements.lock $(LIGHT)
	@echo "Installing what tests, linters and pages need into $(VENV), once: a few minutes ..."
	@rm -f $(STAMP)
	@$(PIP) install --require-hashes -r requirements.lock
	@$(BIN)/python -m compileall -q -j 0 $(VENV)/lib >/dev/null 2>&1 || true  # some packages bring templates that are no Python
	@touch $@

# Tests run side by side; those that share Spark or PostgreSQL stay with one worker (tests/conftest.py).
# A worker waits for Spark, PostgreSQL, a browser or another process a third of its time: two more than there are cores.
# Hundreds of tests start a process of their own: what is compiled is kept, whatever the shell says.
unexport PYTHONDONTWRITEBYTECODE
export PYTEST_XDIST_AUTO_NUM_WORKERS ?= $(shell echo $$(($$(nproc 2>/dev/null || echo 1) + 2)))
SIDE_BY_SIDE := -n auto --maxprocesses 8 --dist loadgroup

setup: $(STAMP) ## the environment in .venv, pinned versions

demo: $(LIGHT) ## show what Sfumato does, on simulated data; its files and reports stay in sfumato-demo/
	@rm -rf sfumato-demo
	@$(BIN)/sfumato demo --out sfumato-demo

test: $(STAMP) ## every test but the long ones
	@$(BIN)/python -m pytest $(SIDE_BY_SIDE)

lint: $(STAMP) ## rules, format, types, layers
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check --quiet || { echo "Not formatted; 'make format' does it." >&2; exit 1; }
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo

format: $(STAMP) ## put the code in the common form
	@$(BIN)/ruff check --fix --quiet || true
	@$(BIN)/ruff format

bench: $(STAMP) ## measure: each benchmark prints ratios
	@set -e; for script in benchmarks/*.py; do \
	    test -e "$$script" || continue; echo "== $$script"; $(BIN)/python "$$script"; done

# Judges and generators of others, each in an environment of its own: make peers PEERS="pycanon anonymeter anjana intoto"
# Nothing but what the lock lists: SDV's lists no torch, which its copulas do not need.
PEERS ?= $(basename $(notdir $(wildcard peers/*.lock)))

peers: $(PEERS:%=.peers/%/.installed) ## the environments of the peers, in .peers/

.peers/%/.installed: peers/%.lock
	@$(PYTHON) -m venv --clear .peers/$*
	@.peers/$*/bin/python -m pip --quiet --disable-pip-version-check install --no-deps --require-hashes -r $<
	@touch $@

# The checker of accessibility, from its lock; the tests run it inside a browser, and skip where it is missing.
axe: .peers/axe/.installed ## axe-core, for the tests of accessibility (needs npm)

.peers/axe/.installed: peers/axe/package-lock.json
	@mkdir -p .peers/axe && cp peers/axe/package.json peers/axe/package-lock.json .peers/axe/
	@cd .peers/axe && npm ci --silent --ignore-scripts --no-audit --no-fund
	@touch $@

# Ibis' driver of MariaDB and MySQL comes as source: where its headers are (libmariadb-dev), it is compiled. Nothing else needs it.
mariadb: $(STAMP) ## the driver of MariaDB, into .venv, for its tests
	@$(BIN)/python -c "import MySQLdb" 2>/dev/null || $(PIP) install --no-deps --require-hashes -r requirements-mariadb.lock

# The figures and tables of the papers, into experiments/results/; docs/papers.md says what came out.
experiments: $(STAMP) ## the papers' figures and tables again (hours; QUICK=--quick to see that they run)
	@set -e; for script in $$(grep -l __main__ experiments/*.py | grep -v gallery.py); do \
	    echo "== $$script"; $(BIN)/python "$$script" $(QUICK); done

gallery: $(STAMP) ## the pictures of docs/gallery.md, from the tables in experiments/results/
	@$(BIN)/python experiments/gallery.py

pictures: $(STAMP) ## the pictures of README, quickstarts and studio, from what their commands give
	@SFUMATO_PICTURES=1 $(BIN)/python -m pytest -q -m "soak or not soak" tests/test_quickstarts.py tests/studio/test_pictures.py

notebooks: $(STAMP) ## run docs/notebooks/ anew and keep their outputs
	@$(BIN)/python docs/notebooks.py

docs: $(STAMP) ## the pages, into site/
	@$(BIN)/mkdocs build --strict --quiet --clean
	@$(BIN)/python docs/check_offline.py site

# PART=3/20 runs the third twentieth of the long ones, and nothing else; .ci/run takes another with each commit.
soak: $(STAMP) ## every test, the long ones too, with more draws and examples (PART=3/20: a part of the long ones)
	@SFUMATO_SOAK=1 SFUMATO_PART=$(PART) $(BIN)/python -m pytest $(SIDE_BY_SIDE) \
	    -m $(if $(PART),soak,"soak or not soak")

# The demo's lock is a part of the other: the light core, the service, and what puts this folder in place. The service's
# has FHIR and telemetry on top: deploy/Containerfile installs it.
COMPILE = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header

lock: $(STAMP) ## pin the versions anew
	@$(COMPILE) --extra dev --upgrade -o requirements.lock pyproject.toml
	@$(COMPILE) --extra service --group build --upgrade -c requirements.lock -o requirements-demo.lock pyproject.toml
	@$(COMPILE) --extra service --extra fhir --extra telemetry --group build --upgrade -c requirements.lock \
	    -o requirements-service.lock pyproject.toml

# What docs/releasing.md says, up to the upload: RESOLUTION=lowest-direct for the lowest versions, TRY=python3.13 for another Python.
RESOLUTION ?= highest
TRY        ?= $(BIN)/python

rehearsal: $(STAMP) ## build this package as for a release, into dist/, and try it in an empty environment
	@rm -rf dist
	@$(BIN)/python -m releasing.rehearsal --out dist --python "$$(command -v $(TRY))" --resolution $(RESOLUTION)

clean: ## remove what was made, the environment too
	rm -rf $(VENV) .peers sfumato-demo site build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .benchmarks
	find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +
