# Needs Python 3.11 or newer and make; everything else goes into .venv.
#   make test PYTHON=python3.13      another interpreter (after make clean)
#   make test ARGS='-k deflation'    options for pytest, or for rspca demo
#   make paper ARGS='table1 convex'  some of the experiments

PYTHON ?= python3
ARGS ?=

BIN := .venv/bin
READY := .venv/.ready
DOCS_READY := .venv/.docs-ready
RIVALS_READY := .venv/.rivals-ready

# Two workers share the cores, so each gets one BLAS and one OpenMP thread.
ONE_THREAD := OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 VECLIB_MAXIMUM_THREADS=1 OMP_NUM_THREADS=1
# Compiled tests and modules are kept, whatever the environment says: many tests start Python again.
KEEP_COMPILED := PYTHONDONTWRITEBYTECODE=

.DEFAULT_GOAL := help
.PHONY: help demo test lint docs paper pages clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  %-6s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(READY) ## Run the demonstration
	$(BIN)/rspca demo $(ARGS)

test: $(READY) ## Run the tests
	$(ONE_THREAD) $(KEEP_COMPILED) $(BIN)/python -m pytest -n 2 --dist worksteal $(ARGS)

lint: $(READY) ## Check style, format, types and security
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy src
	$(BIN)/bandit -q -c pyproject.toml -r src

docs: $(DOCS_READY) ## Build the pages in docs/_build/html and run their examples
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	$(BIN)/python -m sphinx -W --keep-going -q -b doctest docs docs/_build/doctest

paper: $(READY) ## Run the paper's experiments and build their pages
	$(ONE_THREAD) $(BIN)/python experiments/run.py $(ARGS)

pages: $(RIVALS_READY) ## Make all results, figures and pages again that are older than the code; hours, resumable
	$(BIN)/python tools/pages.py $(ARGS)

clean: ## Remove the environment and everything built
	rm -rf .venv build dist docs/_build docs/generated docs/gallery .coverage .coverage.* htmlcov
	rm -rf .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "rspca needs Python 3.11 or newer; try make PYTHON=python3.12" >&2; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --editable '.[plot]' --group dev
	@touch $@

$(DOCS_READY): $(READY)
	$(BIN)/python -m pip install --quiet --group docs
	@touch $@

$(RIVALS_READY): $(READY)
	$(BIN)/python -m pip install --quiet --group rivals
	@touch $@
