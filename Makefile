# The two commands of the README are `make demo` and `make test`; `make help` lists the rest.
BUILD ?= build
JOBS ?= $(shell nproc)
export CCACHE_DIR ?= $(HOME)/.cache/warploom-ccache
export CCACHE_BASEDIR ?= $(CURDIR)
export CCACHE_NOHASHDIR ?= 1
export NINJA_STATUS ?= [%f/%t %p] 
CONFIGURE = tools/configure

.PHONY: help setup all demo test judge bench publish format bless fuzz sanitize tsan clean
help: ## list the commands
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

setup: ## install the Debian packages that are missing
	@tools/setup

all: setup ## build libraries, tools, examples, tests and the Python package
	@$(CONFIGURE) $(BUILD) --python
	@ninja -C $(BUILD) -j $(JOBS)

demo: setup ## build, then explain the matmul ladder
	@$(CONFIGURE) $(BUILD)
	@ninja -C $(BUILD) -j $(JOBS) warploom_cli example_02_matmul_ladder
	@$(BUILD)/bin/warploom explain $(BUILD)/bin/examples/02_matmul_ladder

SANITIZED = build-asan:address,undefined
# In continuous integration (CI set) the host code also runs under sanitizers.
test: setup ## build everything and run every test
	@tools/test -j $(JOBS) $(BUILD) $(if $(CI),$(SANITIZED))

judge: all ## run all of numba-cuda's own tests on the Python package
	@ninja -C $(BUILD) judge

bench: setup ## build and run the benchmarks
	@$(CONFIGURE) $(BUILD) -DWARPLOOM_BENCHMARKS=ON
	@ninja -C $(BUILD) -j $(JOBS)
	@tools/bench $(BUILD)

publish: setup ## run the benchmark of the CPU device, and write its tables into the documentation
	@$(CONFIGURE) $(BUILD) -DWARPLOOM_BENCHMARKS=ON
	@ninja -C $(BUILD) -j $(JOBS) cpu_bench
	@tools/bench_docs $(BUILD)

format: setup ## format every C++ file
	@git ls-files '*.cpp' '*.hpp' '*.cu' '*.cl' | grep -v '^tests/.*/data/' | xargs -r clang-format-22 -i

bless: all ## rewrite generated files and expected outputs, for review with git diff
	@WARPLOOM_BLESS=1 ctest --test-dir $(BUILD) --output-on-failure -j $(JOBS)
	@tools/docs_check --bless

sanitize: setup ## host code and tests under address and undefined behaviour sanitizers
	@tools/test -j $(JOBS) $(SANITIZED)

tsan: setup ## host code and tests under the thread sanitizer
	@tools/test -j $(JOBS) build-tsan:thread

fuzz: setup ## fuzz the PTX parser and the reader of programs; FUZZ_SECONDS=600 for longer
	@tests/fuzz/run all $(or $(FUZZ_SECONDS),60)

clean: ## remove the build folders
	@rm -rf $(BUILD) build-asan build-tsan build-fuzz
