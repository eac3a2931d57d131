# Every target does its own set-up: a virtual environment in .venv, dependencies from PyPI.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help demo test tools bounds fuzz kill soak lint types bench docs clean

help:
	@echo "make demo   map 60 cars from 7,097 answers of people (writes demo/)"
	@echo "make test   run the test suite"
	@echo "make tools  tests of the benchmarks, the experiments and of what makes random cases"
	@echo "make bounds kernels with every index checked: compiled with checks, and as plain Python"
	@echo "make fuzz   random calls and damaged files for MINUTES (2); make kill: KILLS (100) at random moments;"
	@echo "            make soak: the same work again and again for MINUTES, memory must stay flat"
	@echo "make lint   ruff and spelling; make types: mypy"
	@echo "make bench  race rival software, measure growth, fill benchmarks/RESULTS.md (takes a while);"
	@echo "            also: python -m benchmarks.large | growth | ablation | sensitivity | regression [--quick]"
	@echo "make docs   build the documentation site, warnings as errors, and run what its pages show"

# uv installs in a quarter of the time; where it does not reach the index that pip is told of, pip does it, which needs
# seconds to get into the environment.
install = { { test -x $(BIN)/uv || $(PYTHON) -m pip --python $(BIN)/python install --quiet uv; } && \
  $(BIN)/uv pip install --quiet --python $(BIN)/python --editable '$(1)'; } || \
  { $(BIN)/python -m ensurepip > /dev/null && $(BIN)/python -m pip install --quiet --editable '$(1)'; }

$(STAMP): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv --without-pip $(VENV)
	$(call install,.[test])
	touch $@

LINT_STAMP := $(VENV)/.installed-lint

$(LINT_STAMP): pyproject.toml $(STAMP)
	$(call install,.[lint])
	touch $@

demo: $(STAMP)
	$(BIN)/nearer demo --out demo --force

# The processes of the tests would each compile the same: the tests themselves, whose assertions pytest writes anew,
# bytecode of the libraries that they import, and kernels. Here it is done once, and side by side.
COMPILED := $(VENV)/.compiled
$(COMPILED): export PYTHONDONTWRITEBYTECODE :=
$(COMPILED): $(STAMP) src/nearer/kernels.py tests/compiled.py
	$(BIN)/python -m pytest --collect-only -q > /dev/null & $(BIN)/python tests/compiled.py > $@.txt; wait
	mv $@.txt $@

# A file stays with one of the processes, so that what it prepares is prepared once. Three of them, since many tests
# wait for processes of their own; with one BLAS thread each, or these would wait for each other. Bytecode is written,
# because hundreds of processes would each compile anew.
test: export PYTHONDONTWRITEBYTECODE :=
test: export OPENBLAS_NUM_THREADS := 1
test: $(STAMP) $(COMPILED)
	$(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder -m "not pages and not tools" $(PYTEST_ARGS)

# Of benchmarks, experiments and the largest of the server: what no user runs.
tools: $(STAMP) $(COMPILED)
	$(BIN)/python -m pytest -q -n 2 -m tools benchmarks experiments fuzz tests/collect tests/distributed \
	  tests/reports

# Two tests tell bits or NaN apart, which compiled code without checks alone gets right. With checks everything is
# compiled anew, once: its code must not end up among that of every day.
KERNEL_TESTS := tests/test_bounds.py tests/test_kernels.py tests/objective
bounds: $(STAMP)
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -q -W ignore::RuntimeWarning $(KERNEL_TESTS) \
	  -k "bounds or oracle or coincidence or satisfied or scalar_and_array or depends_on_seed" & plain=$$!; \
	cache=$$(mktemp -d) && NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$$cache $(BIN)/python -m pytest -q $(KERNEL_TESTS) \
	  -k "not common_anchor" && rm -r $$cache && wait $$plain

MINUTES ?= 2
KILLS ?= 100
FUZZ_STAMP := $(VENV)/.installed-fuzz

# There is no atheris for every version of Python: without it the random cases run alone, and say so.
$(FUZZ_STAMP): pyproject.toml $(STAMP)
	-$(call install,.[fuzz])
	touch $@

fuzz: $(FUZZ_STAMP)
	$(BIN)/python -m fuzz.run --minutes $(MINUTES)

kill: $(STAMP)
	$(BIN)/python -m fuzz.kill --kills $(KILLS)

soak: $(STAMP)
	$(BIN)/python -m fuzz.soak --minutes $(MINUTES)

lint: $(LINT_STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell

types: $(LINT_STAMP)
	$(BIN)/mypy

bench: $(STAMP)
	$(BIN)/python -m benchmarks.run
	$(BIN)/python -m benchmarks.growth --only time
	$(BIN)/python -m benchmarks.figures

DOCS_STAMP := $(VENV)/.installed-docs

$(DOCS_STAMP): pyproject.toml $(STAMP)
	$(call install,.[docs])
	touch $@

docs: $(DOCS_STAMP)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	$(BIN)/python -m pytest -q -n 2 -m pages tests/test_docs.py

clean:
	rm -rf $(VENV) demo build dist site .pytest_cache .mypy_cache .ruff_cache
