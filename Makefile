# Needs a Python 3.11 or newer with venv, and make. Everything else goes into $(VENV).
#   make demo                    another Python:  make demo PYTHON=python3.13 VENV=.venv-3.13
#   make test ARGS='-k image -x'

VENV ?= .venv
BIN := $(VENV)/bin
PYTHON ?=
ARGS ?=

# An environment that is there is used as it is; say so where it is not the one that was asked for.
VERSION := -c 'import sys; print("%d.%d" % sys.version_info[:2])'
ifneq ($(and $(PYTHON),$(wildcard $(BIN)/python)),)
ifneq ($(shell $(PYTHON) $(VERSION)),$(shell $(BIN)/python $(VERSION)))
$(error $(VENV) has Python $(shell $(BIN)/python $(VERSION)), not that of $(PYTHON): add VENV=another-folder, or remove $(VENV))
endif
endif

.DEFAULT_GOAL := help
.PHONY: help demo test test-fast lint format image image-pins clean distclean

help:  ## what there is to make
	@sed -n 's/^\([a-z][a-z-]*\):.*  ## \(.*\)/  make \1|\2/p' Makefile | awk -F'|' '{ printf "%-18s %s\n", $$1, $$2 }'

demo: $(VENV)/.installed  ## attempts of three small papers and a null agent, with a table of verdicts
	$(BIN)/reclaim demo $(ARGS)

test: $(VENV)/.installed-dev  ## all tests; those that need a container engine skip without one
	$(BIN)/python -m pytest $(ARGS)

test-fast: $(VENV)/.installed-dev  ## the tests that need no container and take no time
	$(BIN)/python -m pytest -m "not docker and not slow" $(ARGS)

lint: $(VENV)/.installed-dev  ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.installed-dev  ## put the code into its format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

image: $(VENV)/.installed  ## the image that container kernels run in
	$(BIN)/reclaim image build $(ARGS)

docs/criteria.md: $(VENV)/.installed $(wildcard papers/neurips2025/*.yaml)  ## the table of published and strict criteria
	$(BIN)/python -m reclaim_nb.papers.overview $@

docs/rebuild-selftest.md: $(VENV)/.installed-dev $(wildcard papers/neurips2025/*.yaml)  ## the published hundred under the rules of a rebuild
	$(BIN)/python -m reclaim_nb.rebuild.published $@

PINS := templates/containers/constraints.txt

image-pins: $(VENV)/.installed  ## take the newest versions that the image's requirements allow, and pin them
	cp $(PINS) $(PINS).before
	echo '# What the requirements resolve to, so that the same file builds the same image later. Written by `make image-pins`.' > $(PINS)
	{ $(BIN)/reclaim image build --tag reclaim-pins:latest $(ARGS) \
	  && docker run --rm --network none reclaim-pins:latest python -m pip freeze > $(PINS).after \
	  && LC_ALL=C sort -f $(PINS).after >> $(PINS) && rm $(PINS).before $(PINS).after; } \
	|| { mv $(PINS).before $(PINS); rm -f $(PINS).after; exit 1; }

# An editable install: only what pyproject.toml says of packages and commands calls for another one.
$(VENV)/.installed: pyproject.toml | $(BIN)/python
	@if [ $(VENV)/.installed-dev -nt pyproject.toml ]; then :; else \
	    echo "installing reclaim-nb and what the small papers import (a minute or two, once)" \
	    && $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[small]'; fi
	@touch $@

$(VENV)/.installed-dev: pyproject.toml | $(BIN)/python
	@echo "installing reclaim-nb and its development tools (a minute or two, once)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

# The first Python that is new enough, or the one that was asked for.
$(BIN)/python:
	@for python in $(or $(PYTHON),python3 python3.13 python3.12 python3.11 python); do \
	    if $$python -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	        echo "making $(VENV) with $$($$python --version)"; \
	        $$python -m venv $(VENV) && echo '*' > $(VENV)/.gitignore && exit 0; \
	        rm -rf $(VENV); exit 1; \
	    fi; \
	done; \
	echo "found no Python >= 3.11 with venv among: $(or $(PYTHON),python3 python3.13 python3.12 python3.11 python)" >&2; \
	echo "install one (Debian and Ubuntu: apt install python3-venv), or name it: make ... PYTHON=/path/to/python" >&2; \
	exit 1

clean:  ## remove what tools leave behind; environment and attempts stay
	rm -rf build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find $(wildcard reclaim_nb tests benchmarks) -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean  ## and the environment; attempts stay
	rm -rf $(VENV)
