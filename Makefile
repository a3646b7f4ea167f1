# Every target sets itself up: python3.11, make and the package registry are all it needs.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
RUN := $(VENV)/bin/python

.PHONY: setup demo test test-slow lint bench clean

setup: $(VENV)/.ready

$(VENV)/.ready: pyproject.toml requirements-test.txt
	@command -v $(PYTHON) >/dev/null || { echo "Python 3.11 is needed: set PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(RUN) -m pip install --quiet --disable-pip-version-check --constraint requirements-test.txt --editable ".[plots,test]"
	@touch $@

demo: setup
	$(RUN) examples/demo.py

# Tests that watch the clock run alone: two at a time on two cores they would time each other. Those that fail are run
# once more, since another program may have had the core.
CLOCK := tests/test_never_hangs.py tests/test_solve.py

test: setup lint
	$(RUN) -m pytest -n 2 -m "not slow" $(addprefix --ignore=,$(CLOCK))
	$(RUN) -m pytest -m "not slow" $(CLOCK) || $(RUN) -m pytest -m "not slow" --last-failed $(CLOCK)

test-slow: setup
	$(RUN) -m pytest -n 2 -m slow

lint: setup
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .

bench: setup
	$(RUN) -m benchmarks $(BENCH)

clean:
	rm -rf $(VENV) build dist src/*.egg-info
