# Every target sets itself up: Python 3.11 to 3.13, make and the package registry are all it needs.
FIND_PYTHON = for name in python3.11 python3.12 python3.13 python3; do \
	$$name -c 'import ensurepip, sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null && command -v $$name && break; done
PYTHON ?= $(shell $(FIND_PYTHON))
VENV := .venv
RUN := $(VENV)/bin/python
INSTALL := $(RUN) -m pip install --quiet --disable-pip-version-check --constraint requirements-test.txt

# The tests start Python hundreds of times: it compiles each module once, also where the shell says otherwise.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup demo test test-slow test-processors test-versions test-downstream lint bench report notebooks docs clean

setup: $(VENV)/.ready

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "Python 3.11 to 3.13 is needed: install it, or say where it is by PYTHON=/path/to/python3."; exit 1; }
	$(PYTHON) -m venv $(VENV)

# The demo needs the package and matplotlib; the tests need those and much more.
$(VENV)/.demo: pyproject.toml requirements-test.txt | $(VENV)/bin/python
	@echo "Installing maxmargin into $(VENV): a minute, once."
	$(INSTALL) --editable ".[plots]"
	@touch $@

$(VENV)/.ready: $(VENV)/.demo
	@echo "Installing what the tests need into $(VENV): a minute or two, once."
	$(INSTALL) --editable ".[plots,cluster,test]"
	@echo "Compiling the loops and the tests: a minute or two, once."
	$(RUN) -m maxmargin compile
	$(RUN) tests/compilation.py
	@$(RUN) -m pytest --collect-only > /dev/null
	@touch $@

demo: $(VENV)/.demo
	$(RUN) examples/demo.py

# Two workers start with a half of the tests each, and the one that is done first takes over from the other: files stay
# together, and with them what their tests share.
test: setup lint
	$(RUN) -m pytest -n 2 --dist worksteal -m "not slow"

# Whole cross products, long fits, and FUZZ_RUNS inputs by which atheris tries to break the parser of LIBSVM text; where
# atheris cannot be installed that test is skipped. make test-slow FUZZ_RUNS=1000000 looks for longer.
FUZZ_RUNS ?= 150000

test-slow: setup
	@$(INSTALL) --only-binary atheris "atheris>=3" || echo "atheris cannot be installed here; the slow tests go on without it."
	FUZZ_RUNS=$(FUZZ_RUNS) $(RUN) -m pytest -n 2 --dist worksteal -m slow

# make test-processors, make test-processors PROCESSORS="nehalem haswell", make test-processors TESTS=tests.
test-processors: setup
	$(RUN) tests/processors.py $(PROCESSORS) $(if $(TESTS),--tests $(TESTS))

# make test-versions, make test-versions VERSIONS="lowest newest-3.13": the rows of the table in tests/version_matrix.py.
test-versions: $(VENV)/bin/python
	$(RUN) tests/version_matrix.py $(VERSIONS)

# make test-downstream, make test-downstream LIBRARIES="pyriemann skl2onnx": other projects' tests with our classes.
test-downstream: setup
	$(RUN) tests/downstream.py $(LIBRARIES)

lint: setup
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy

# make bench, make bench SETS="a9a usps", make bench DATA=/folder, make bench BENCH="growth memory", make bench LIMIT=60.
# Each peer is installed on its own: one that cannot be is left out, and the table says so.
LIST_PEERS := import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["bench"])

bench: setup
	@for peer in $$($(RUN) -c '$(LIST_PEERS)'); do \
		$(INSTALL) "$$peer" \
		|| echo "$$peer cannot be installed here; the benchmark goes on without it."; \
	done
	$(RUN) -m benchmarks $(BENCH)

# make report, make report QUICK=1, make report OUT=/folder, make report ONLY="tables findings".
report: setup
	@$(INSTALL) --editable ".[report]" || echo "CVXPY cannot be installed here; the page goes on without it."
	$(RUN) -m experiments $(if $(QUICK),--quick) $(if $(OUT),--out "$(OUT)") $(if $(ONLY),--only $(ONLY))

# make notebooks, make notebooks NOTEBOOKS=bundle_methods: runs them, and writes docs/notebooks/*.md and build/notebooks/*.html.
notebooks: setup
	$(INSTALL) --editable ".[docs]"
	$(RUN) tests/notebook_pages.py $(NOTEBOOKS)

# make docs, make docs GALLERY=0: the site, in build/site/html; without GALLERY=0 the examples of the gallery are run.
docs: $(VENV)/.demo
	$(INSTALL) --editable ".[docs]"
	$(RUN) -m website $(if $(filter 0,$(GALLERY)),--no-gallery)

clean:
	rm -rf $(VENV) .venv-versions .venv-downstream build dist src/*.egg-info
