# make run    opens the browser (ARGS="--root DIR" and the like are passed on)
# make test   runs the quick tests (ARGS="-k word"); make check runs all
# Each makes .venv and installs what it needs; make setup does only that.

.DELETE_ON_ERROR:
.PHONY: remake run setup test coverage check format lint types stress package release interop windows bench docs screenshots recording fuzz clean

VENV := .venv
BIN := $(VENV)/bin
PY := $(BIN)/python
PIP := $(PY) -m pip --quiet --disable-pip-version-check

# The first Python that is new enough; PYTHON=… chooses another.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo "$$p"; break; }; done)

# "remake" where the environment's Python no longer runs, as after an upgrade of the system's.
BROKEN := $(shell $(PY) -c '' 2>/dev/null || echo remake)

run: $(VENV)/.run
	@$(PY) -m sessionbrowse $(ARGS)

setup: $(VENV)/.dev

# Tests in terminals wait as much as they work: two workers more than there are cores. What Python and pytest compile is
# kept, also where the environment says otherwise: each worker, and each program that a test starts, would do it again.
WORKERS = $$($(PY) -c 'import os; print((os.cpu_count() or 1) + 2)')
PYTEST = PYTHONDONTWRITEBYTECODE= $(PY) -m pytest -q -n "$(WORKERS)" --dist worksteal

# The tests of single behaviours: all that the usual run has but those marked `slow`. They wait even more.
test: WORKERS = $$($(PY) -c 'import os; print((os.cpu_count() or 1) * 3)')
test: $(VENV)/.dev
	@$(PYTEST) -m "not slow and not stress and not interop and not package" $(ARGS)

# The floors below the interfaces, by their own tests and those of the command line.
FLOORS := format model store services manager
FLOOR_TESTS := tests/agents tests/agreement tests/cli tests/faults tests/test_properties.py $(FLOORS:%=tests/%)
COVERED_PERCENT := 95
# Whole percents: programs that a test kills at a random moment count a little more or less each time.

coverage: $(VENV)/.dev
	@rm -f .coverage.*
	@$(PYTEST) $(FLOOR_TESTS) --cov --cov-report=
	@rm -f .coverage.*  # A program that a test killed may leave a file that cannot be read.
	@for floor in $(FLOORS); do printf "coverage of $$floor in %%: " && $(PY) -m coverage report --format=total \
		--include="sessionbrowse/$$floor/*" --fail-under=$(COVERED_PERCENT) || exit 1; done

# Every test once: those of the floors while they are measured, then the others.
check: lint types coverage
	@$(PYTEST) $(FLOOR_TESTS:%=--ignore=%)

format: $(VENV)/.dev
	@$(BIN)/ruff format --quiet .
	@$(BIN)/ruff check --quiet --fix .

lint: $(VENV)/.dev
	@$(BIN)/ruff format --quiet --check .
	@$(BIN)/ruff check --quiet .
	@$(BIN)/deptry --no-ansi sessionbrowse >.venv/deptry.log 2>&1 || { cat .venv/deptry.log; exit 1; }

types: $(VENV)/.dev
	@$(PY) -m mypy --no-error-summary

stress: $(VENV)/.dev
	@$(PY) -m pytest -q -m stress $(ARGS)

package: $(VENV)/.dev
	@$(PY) -m pytest -q -m package $(ARGS)

release: $(VENV)/.dev
	@$(PY) -m tests.release $(VERSION)

interop: $(VENV)/.dev
	@$(PY) -m tests.interop $(ARGS)
	@$(PY) -m pytest -q -m interop

windows: $(VENV)/.dev
	@$(PY) -m tests.interop.windows

bench: $(VENV)/.dev
	@$(PY) -m tests.bench $(ARGS)

# Coverage-guided; FUZZ_SECONDS are shared by four targets. Not on Windows, where the fuzzer does not run.
FUZZ_SECONDS ?= 1800
fuzz: $(VENV)/.dev
	@$(PIP) install 'atheris>=3'
	@$(PY) -m tests.fuzz $(FUZZ_SECONDS)

docs: $(VENV)/.dev
	@$(PY) -m tests.documentation.make_docs

screenshots: $(VENV)/.dev
	@$(PY) -m tests.pictures.screenshots $(ARGS)

recording: $(VENV)/.dev
	@$(PY) -m tests.pictures.recording

clean:
	@rm -rf $(VENV) .coverage* .mypy_cache .pytest_cache .ruff_cache

# An environment that is missing, half made, or of a Python that is gone is made anew.
define need_venv
	@if ! $(PY) -c 'import pip' 2>/dev/null; then \
		if [ -z "$(PYTHON)" ]; then echo "sessionbrowse needs Python 3.11 or newer; none was found." >&2; exit 1; fi; \
		$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
			echo "$(PYTHON) does not run, or is older than Python 3.11, which sessionbrowse needs." >&2; exit 1; }; \
		echo "Making $(VENV) …" >&2; \
		$(PYTHON) -m venv --clear $(VENV) || { \
			echo "$(PYTHON) cannot make environments; on Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }; \
	fi
endef

$(VENV)/.run: pyproject.toml $(BROKEN)
	$(need_venv)
	@echo "Installing sessionbrowse into $(VENV); the first time takes a minute or two …" >&2
	@$(PIP) install -e . >&2
	@touch $@

$(VENV)/.dev: pyproject.toml $(BROKEN)
	$(need_venv)
	@echo "Installing sessionbrowse and its test tools into $(VENV); the first time takes a minute or two …" >&2
	@$(PIP) install -e '.[dev]' >&2
	@touch $@ $(VENV)/.run
