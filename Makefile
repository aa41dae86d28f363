# Two commands matter: `make serve` runs the product, `make test` passes its tests. `make help` lists the rest.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
DATA ?= $(or $(TOOLSEARCH_DATA),../shared/data)
PIP := $(BIN)/python -m pip --disable-pip-version-check -q

.DEFAULT_GOAL := help
.PHONY: help setup servers serve demo test test-all lint types docs bench bench-quick bench-peers encoder clean

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit("toolsearch needs Python 3.11 or newer; set PYTHON=") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)

# A stamp for each set of extras, so that a second run starts at once.
$(VENV)/.serve: $(VENV)/bin/python pyproject.toml
	$(PIP) install -e '.[serve]'
	@touch $@

$(VENV)/.test: $(VENV)/.serve
	$(PIP) install -e '.[serve,test]'
	@touch $@

$(VENV)/.bench: $(VENV)/.test
	$(PIP) install -e '.[serve,test,bench]'
	@touch $@

$(VENV)/.lint: $(VENV)/.test
	$(PIP) install -e '.[serve,test,lint]'
	@touch $@

# torch first and pinned: left to the resolver it would be the newest build, several times the size.
$(VENV)/.all: $(VENV)/.lint
	$(PIP) install torch==2.13.0
	$(PIP) install -e '.[serve,test,test-all,bench,lint,st]'
	@touch $@

# Real MCP servers for the tests, apart from ours: they pin packages of their own.
SERVERS := .venv-servers
$(SERVERS)/.ready: tests/servers/requirements.txt tests/servers/package.json
	$(PYTHON) -m venv $(SERVERS)
	$(SERVERS)/bin/python -m pip --disable-pip-version-check -q install -r tests/servers/requirements.txt
	cp tests/servers/package.json $(SERVERS)/package.json
	npm install --prefix $(SERVERS) --no-audit --no-fund --ignore-scripts --loglevel=error
	@touch $@

# What the TypeScript example needs, where its users have it too.
AI_SDK := examples/vercel-ai-sdk
$(AI_SDK)/node_modules/.ready: $(AI_SDK)/package.json
	npm install --prefix $(AI_SDK) --no-package-lock --no-audit --no-fund --ignore-scripts --loglevel=error
	@touch $@

indexes/starter/registry.duckdb: | $(VENV)/.serve
	$(BIN)/toolsearch index indexes/starter

servers: $(SERVERS)/.ready $(AI_SDK)/node_modules/.ready ## Install what tests talk to: real MCP servers, the AI SDK (pip and npm)

setup: $(VENV)/.serve ## Make the virtual environment

serve: $(VENV)/.serve indexes/starter/registry.duckdb ## Build the starter index if need be and serve it on 127.0.0.1:8765
	$(BIN)/toolsearch serve indexes/starter --config indexes/starter/serve.toml

demo: $(VENV)/.serve indexes/starter/registry.duckdb ## Three searches with their reasons
	@$(BIN)/python -m benchmarks.demo

test: $(VENV)/.test ## Run the fast tests (no torch)
	$(BIN)/python -m pytest -m "not slow and not st and not extras" -n 2 $(PYTEST_FLAGS)

test-all: $(VENV)/.all $(SERVERS)/.ready $(AI_SDK)/node_modules/.ready ## Run every test with every extra, as CI does
	$(BIN)/python -m pytest -n 2 $(PYTEST_FLAGS)

lint: $(VENV)/.lint ## Check style and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.all ## Check types, those of every extra included
	$(BIN)/mypy

docs: $(VENV)/.test ## Run the checks of README and docs
	$(BIN)/python -m pytest tests/docs tests/surface/test_docs_cli.py -q

bench: $(VENV)/.bench ## Measure quality, guarantees and speed on the data sets in DATA, write benchmarks/RESULTS.md and report.html
	$(BIN)/python -m benchmarks.run --data $(DATA)

bench-quick: $(VENV)/.bench ## The same on a sample, in a few minutes
	$(BIN)/python -m benchmarks.run --data $(DATA) --quick

bench-peers: $(VENV)/.test ## Run other tool searches on the same data, in a virtual environment of their own
	$(BIN)/python -m benchmarks.peers --data $(DATA)

encoder: $(VENV)/.all ## Fit the bundled encoder again from installed packages and the data in DATA (hours)
	$(PIP) install -e '.[train]'
	$(BIN)/python -m benchmarks.encoder.encoder --data $(DATA) --out build/encoder

clean: ## Remove built indexes and virtual environments
	rm -rf $(VENV) $(SERVERS) $(AI_SDK)/node_modules .venv-peers indexes/*/registry.duckdb* indexes/*/snapshots
