# Every target sets itself up: python3.11, make and the package registry are all it needs.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
RUN := $(VENV)/bin/python

.PHONY: setup demo test test-slow lint bench report clean

setup: $(VENV)/.ready

$(VENV)/.ready: pyproject.toml requirements-test.txt
	@command -v $(PYTHON) >/dev/null || { echo "Python 3.11 is needed: set PYTHON=/path/to/python3.11"; exit 1; }
	@echo "Setting up $(VENV): a minute or two, once."
	$(PYTHON) -m venv $(VENV)
	$(RUN) -m pip install --quiet --disable-pip-version-check --constraint requirements-test.txt --editable ".[plots,cluster,test]"
	@touch $@

demo: setup
	$(RUN) examples/demo.py

# Tests that watch the clock run alone: two at a time on two cores they would time each other. Those with clusters of
# processes mostly wait, and run one file beside another. What fails of both is run once more, alone, since another
# program may have had the core.
CLOCK := tests/test_never_hangs.py tests/test_solve.py tests/test_minimize_limits.py tests/test_block_limits.py \
	tests/test_budgets.py tests/test_diagnosis.py tests/test_sigint.py
CLUSTERS := tests/test_distributed.py tests/test_distributed_fits.py
RUN_QUICK := $(RUN) -m pytest -m "not slow"

test: setup lint
	$(RUN_QUICK) -n 2 $(addprefix --ignore=,$(CLOCK) $(CLUSTERS))
	$(RUN_QUICK) $(CLOCK) || $(RUN_QUICK) --last-failed $(CLOCK)
	$(RUN_QUICK) -n 2 --dist loadfile $(CLUSTERS) || $(RUN_QUICK) --last-failed $(CLUSTERS)

# atheris looks for bytes that break the parser of LIBSVM text; where it cannot be installed that test is skipped.
test-slow: setup
	@$(RUN) -m pip install --quiet --disable-pip-version-check --constraint requirements-test.txt --only-binary atheris \
		"atheris>=3" || echo "atheris cannot be installed here; the slow tests go on without it."
	$(RUN) -m pytest -n 2 -m slow

lint: setup
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .

# make bench, make bench SETS="a9a usps", make bench DATA=/folder, make bench BENCH="growth memory", make bench LIMIT=60.
# Each peer is installed on its own: one that cannot be is left out, and the table says so.
LIST_PEERS := import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["bench"])

bench: setup
	@for peer in $$($(RUN) -c '$(LIST_PEERS)'); do \
		$(RUN) -m pip install --quiet --disable-pip-version-check --constraint requirements-test.txt "$$peer" \
		|| echo "$$peer cannot be installed here; the benchmark goes on without it."; \
	done
	$(RUN) -m benchmarks $(BENCH)

# make report, make report QUICK=1, make report OUT=/folder, make report ONLY="tables findings".
report: setup
	$(RUN) -m experiments $(if $(QUICK),--quick) $(if $(OUT),--out "$(OUT)") $(if $(ONLY),--only $(ONLY))

clean:
	rm -rf $(VENV) build dist src/*.egg-info
