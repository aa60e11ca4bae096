# Every command of the project. `make help` lists them.
#
# PYTHON chooses the interpreter (and with it the torch): a named one, else the active python3 when
# it has torch, else the one of .venv, which `make setup` fills with the newest torch.
.DEFAULT_GOAL := help
SHELL := /bin/bash

HAS_TORCH = import importlib.util, sys; sys.exit(importlib.util.find_spec("torch") is None)
ifndef PYTHON
PYTHON := $(shell python3 -c '$(HAS_TORCH)' 2>/dev/null && command -v python3 || \
                  echo $(CURDIR)/.venv/bin/python)
endif
export PYTHON

VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
BUILD := build
# Compilers at the same time; each takes up to 1 GB.
JOBS := $(shell nproc)
# V=1 shows the compiler's command lines.
Q := $(if $(V),,@)
PACKAGE := pyhook/peakline
NATIVE := $(PACKAGE)/_native

CXX ?= g++
WARNINGS := -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror
# -g1: lines and functions. Variables, too (EXTRA_CXXFLAGS=-g), take a fifth more time to build.
CXXFLAGS := -std=c++20 -O2 -g1 -fPIC -fvisibility=hidden $(WARNINGS) -I. \
            -DPEAKLINE_VERSION='"$(VERSION)"' $(EXTRA_CXXFLAGS)
NO_EXCEPTIONS := -fno-exceptions
# The recorder is optimised as one: an event goes through many files, and between two events of a
# whole step the processor forgets their code. Fat objects, so that tests link the same ones fast.
# LTO= leaves it off.
LTO := -flto=auto -flto-partition=one
LTO_OBJECTS = $(if $(LTO),-flto -ffat-lto-objects)
# Two counters side by side are added to in fewer instructions than it takes to make them a vector.
NO_PAIRS := -fno-tree-slp-vectorize
PYTHON_INCLUDE = $(shell $(PYTHON) -c 'import sysconfig; print(sysconfig.get_paths()["include"])')

# For a wheel that runs on old systems: a folder that .ci/wheel filled with link stubs and a libunwind.
OLD :=
OLD_C := $(OLD:%=@%/link_c.txt)
OLD_CXX := $(OLD:%=@%/link_cxx.txt)
OLD_ARCHIVE := $(OLD:%=@%/link_archive.txt)

# The answered functions of the driver stand in both libraries.
DRIVER_SOURCES := $(filter-out preload/driver/exported_dlsym.cpp,$(wildcard preload/driver/*.cpp))
BOOTSTRAP_SOURCES := preload/bootstrap.cpp preload/bus_errors.cpp preload/standard_error.cpp \
                     preload/regions/early_regions.cpp preload/driver/exported_dlsym.cpp
# A room's own sources and those of its folders.
sources = $(foreach room,$(1),$(wildcard $(room)/*.cpp $(room)/*/*.cpp $(room)/*/*/*.cpp))
# Becomes libraries of its own.
SEPARATE := preload/simulate/%
RECORDER_SOURCES := $(call sources,allocator/record allocator/capture) \
                    $(filter-out pyhook/module/% pyhook/holders/%,$(call sources,pyhook)) \
                    $(filter-out $(BOOTSTRAP_SOURCES) $(SEPARATE),$(call sources,preload))
REPORT_SOURCES := $(call sources,$(addprefix report/,trace replay symbols attribute views render reports))
UNIT_TEST_SOURCES := $(wildcard tests/unit/*.cpp) \
    $(foreach room,record capture preload report,$(wildcard tests/unit/$(room)/*.cpp))

object = $(patsubst %.cpp,$(BUILD)/%.o,$(1))
RECORDER_OBJECTS := $(call object,$(RECORDER_SOURCES))
GUARD_OBJECTS := $(call object,$(wildcard preload/simulate/guard/*.cpp) \
                   $(addprefix allocator/record/files/,own_descriptors.cpp small_files.cpp))
REPORT_OBJECTS := $(call object,$(REPORT_SOURCES))

TORTURE := $(addprefix $(BUILD)/,kill_test file_test soak_test steady_test storm_test replay_corpus)

comma := ,

LIBRARIES := $(NATIVE)/libpeakline.so $(NATIVE)/libpeakline_preload.so $(NATIVE)/libpkunwind.so \
             $(NATIVE)/libpeakline_guard.so \
             $(PACKAGE)/_recorder.abi3.so $(PACKAGE)/_report.abi3.so $(PACKAGE)/page/page.js

.PHONY: help setup build native demo test test-long test-simulated unit soak fuzz sanitize mutants check format bench bench-shapes bench-instructions bench-samples test-gpu bench-gpu gpu-bundle families fidelity plan-proof whatif-proof calibrate pictures docs man wheel release clean

help: ## list the commands
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# The only command that installs anything, with `test`, which begins with it, and `demo`, which needs
# less. (`check`, `format`, `docs` and `wheel` keep their tools in build/.)
setup: ## install what is missing: compiler, libraries, a .venv with torch, the command `peakline`
	@.ci/setup

build: ## compile everything, and check it; installs nothing
	@.ci/setup --check
	@$(MAKE) --no-print-directory -j$(JOBS) native
	@PYTHONPATH=$(CURDIR)/pyhook $(PYTHON) -m peakline doctor --build

native: $(LIBRARIES)

demo: ## run a real training script under peakline and show the table
	@.ci/setup --demo
	@$(MAKE) --no-print-directory build
	@.ci/demo

unit: native $(BUILD)/unit_tests ## the quick C++ tests
	@$(BUILD)/unit_tests

test: setup ## build and run everything that passes or fails
	@$(MAKE) --no-print-directory build
	@$(MAKE) --no-print-directory -j$(JOBS) $(BUILD)/unit_tests $(TORTURE) $(BUILD)/instruction_driver
	@$(BUILD)/unit_tests
	@$(BUILD)/kill_test 150
	@$(BUILD)/file_test 150
	@$(BUILD)/soak_test 10000000
	@$(BUILD)/storm_test 5
	@$(BUILD)/steady_test
	@$(BUILD)/replay_corpus tests/fuzz/corpus
	@$(PYTHON) tests/fuzz/fuzz_python.py --replay tests/fuzz/corpus_python
	@$(PYTHON) -m pytest -q -n 3 --dist loadfile --no-loadscope-reorder -m "not long" tests

test-long: setup build ## the tests that `make test` leaves out: more programs, devices and settings (half an hour)
	@$(PYTHON) -m pytest -q -n 3 --dist loadfile --no-loadscope-reorder -m long tests

# PYTHON needs torch with CUDA wheels, pytest and pycparser; nothing is installed into it. What else
# it lacks (transformers, torchvision ...) skips its tests with that reason.
test-simulated: native ## the simulated GPU with the torch of another PYTHON (one of CUDA 12, say)
	@PYTHONPATH=$(CURDIR)/pyhook $(PYTHON) -m pytest -q tests/unit/simgpu
	@PYTHONPATH=$(CURDIR)/pyhook $(PYTHON) -m pytest -q tests/e2e/test_coverage.py \
	    tests/e2e/test_ranks.py tests/e2e/test_fit.py $(wildcard tests/e2e/test_simulated_*.py)

soak: $(TORTURE) ## thousands of kills, and a thousand million events (minutes)
	@$(BUILD)/kill_test 5000 1000
	@$(BUILD)/file_test 5000 1000
	@$(BUILD)/soak_test 1000000000
	@$(BUILD)/storm_test 120

# The unit tests and the storm under each sanitizer, each in a build of its own. -g1: the lines of
# a stack are enough. ThreadSanitizer is for the code that threads share: of the tests of the report
# one is built for it, and of the recorder's those with one thread ([keep]) would take an hour.
SANITIZED = $(MAKE) --no-print-directory -j$(JOBS) LTO= BUILD=$(BUILD)/$(1) $(BUILD)/$(1)/unit_tests \
    $(BUILD)/$(1)/storm_test EXTRA_LDFLAGS='$(2)' \
    EXTRA_CXXFLAGS='$(2) -O1 -g1 -Wno-error=maybe-uninitialized -Wno-tsan'
SHARED_UNIT_TESTS := $(filter-out tests/unit/report/%,$(UNIT_TEST_SOURCES)) \
    tests/unit/report/decode_ahead_test.cpp
# Not reported: threads that a forked child does not have, and a test's own signal handler that
# allocates where nothing was interrupted.
TSAN := TSAN_OPTIONS=halt_on_error=1:report_thread_leaks=0:report_signal_unsafe=0
sanitize: ## the C++ tests under AddressSanitizer, UBSan and ThreadSanitizer
	@$(call SANITIZED,asan,-fsanitize=address$(comma)undefined -fno-sanitize-recover=undefined)
	@ASAN_OPTIONS=detect_leaks=0 $(BUILD)/asan/unit_tests
	@ASAN_OPTIONS=detect_leaks=0 $(BUILD)/asan/storm_test 10
	@$(call SANITIZED,tsan,-fsanitize=thread) UNIT_TEST_SOURCES='$(SHARED_UNIT_TESTS)'
	@$(TSAN) $(BUILD)/tsan/unit_tests '~[keep]'
	@$(TSAN) $(BUILD)/tsan/storm_test 10

fuzz: $(BUILD)/fuzz_reports ## attack readers, importers and commands for FUZZ_SECONDS (600) each; new finds in build/
	@mkdir -p $(BUILD)/fuzz_found $(BUILD)/fuzz_python
	@$(PYTHON) tests/fuzz/make_seeds.py $(BUILD)/fuzz_python
	@$(PYTHON) tests/fuzz/fuzz_python.py -max_total_time=$(or $(FUZZ_SECONDS),600) -max_len=16384 \
	    -timeout=60 -rss_limit_mb=6144 -artifact_prefix=$(BUILD)/fuzz_found/python- \
	    -print_final_stats=1 $(BUILD)/fuzz_python tests/fuzz/corpus_python
	@$(BUILD)/fuzz_reports -max_total_time=$(or $(FUZZ_SECONDS),600) -max_len=16384 -timeout=20 \
	    -rss_limit_mb=4096 -artifact_prefix=$(BUILD)/fuzz_found/ -print_final_stats=1 \
	    $(BUILD)/fuzz_found tests/fuzz/corpus

# The same versions on every machine, in a folder of their own; `make clean` removes them, too.
CHECK_TOOLS := build/check-tools
DOCS_TOOLS := build/docs-tools
build/%-tools/installed: .ci/%-tools.txt
	@rm -rf $(@D) && python3 -m venv $(@D)
	@$(@D)/bin/python -m pip install -q --disable-pip-version-check --only-binary :all: -r $<
	@touch $@

mutants: ## small faults that no test notices, in the code that computes figures (UNITS=part of a name)
	@PYTHONPATH=$(CURDIR)/pyhook $(PYTHON) tests/mutants/mutants.py $(UNITS)

check: $(CHECK_TOOLS)/installed ## formatting, linters, types, header independence, include directions
	@.ci/check

format: $(CHECK_TOOLS)/installed ## put every file into the project's format
	@git ls-files '*.cpp' '*.h' | xargs $(CHECK_TOOLS)/bin/clang-format -i
	@$(CHECK_TOOLS)/bin/ruff format -q . && $(CHECK_TOOLS)/bin/ruff check -q --fix .

bench: build $(BUILD)/recorder_bench $(BUILD)/native_bench $(BUILD)/librecording_switch.so ## print the cost of recording and the speed of reading (tables, no verdict)
	@$(PYTHON) tests/bench/bench_events.py
	@$(BUILD)/native_bench
	@$(PYTHON) tests/bench/bench_reader.py

bench-shapes: build $(BUILD)/shape_trace ## how time and memory of each command grow with traces of extreme shapes (an hour)
	@$(PYTHON) tests/bench/bench_shapes.py

bench-instructions: build $(BUILD)/librecording_switch.so ## the cost of recording in instructions, counted under valgrind (minutes, no noise)
	@$(PYTHON) tests/bench/bench_instructions.py

bench-samples: build $(BUILD)/librecording_switch.so ## where the time goes that recording adds to a training step (needs perf)
	@$(PYTHON) tests/bench/bench_samples.py

test-gpu: build ## the same end-to-end tests on a real GPU
	@PEAKLINE_TEST_DEVICE=gpu $(PYTHON) -m pytest -q tests/e2e

bench-gpu: build $(BUILD)/librecording_switch.so ## the cost of recording on a real GPU
	@PEAKLINE_TEST_DEVICE=gpu $(PYTHON) tests/bench/bench_events.py

gpu-bundle: build $(BUILD)/librecording_switch.so ## a folder OUT that checks peakline on a GPU without a network
	@test -n "$(OUT)" || { echo "name the folder: make gpu-bundle OUT=dir"; exit 2; }
	@$(PYTHON) tests/gpu/bundle.py $(OUT)

families: build ## programs of the common training libraries, with recording and without
	@$(PYTHON) tests/families/families.py

plan-proof: build ## predictions of `peakline plan` against really run sets of layers
	@PYTHONPATH=$(CURDIR)/pyhook $(PYTHON) tests/fidelity/plans.py

fidelity: build ## peaks on the simulated GPU against those on the real one of this machine
	@$(PYTHON) tests/fidelity/fidelity.py

whatif-proof: build ## what `peakline whatif` predicts against second runs, on the simulated GPU (half an hour)
	@$(PYTHON) tests/allocator/proof.py

calibrate: build ## measure, on a real GPU, what the simulated one needs to know
	@$(PYTHON) preload/simulate/gpu/calibrate.py

pictures: build ## make the README's pictures anew, from a real run
	@$(PYTHON) docs/make_pictures.py

docs: native $(DOCS_TOOLS)/installed ## build the documentation site; fails on a dead link
	@$(PYTHON) docs/site/assemble.py $(BUILD)/site/pages
	@NO_MKDOCS_2_WARNING=1 $(DOCS_TOOLS)/bin/mkdocs build
	@echo "open $(BUILD)/site/html/index.html; its search needs a server:"
	@echo "  python3 -m http.server -d $(BUILD)/site/html"

man: native ## write the manual pages of all commands into build/man
	@$(PYTHON) docs/site/man_pages.py $(BUILD)/man

wheel: ## build a manylinux wheel and the source package into dist/ (TORCH="2.11 2.15": parts for these)
	@.ci/wheel/make_wheel

release: ## wheel, source package, documentation, notes and checksums of a tagged version, into dist/
	@.ci/wheel/make_release

clean: ## remove everything that was built
	rm -rf $(BUILD) dist $(NATIVE) $(PACKAGE)/*.so pyhook/*.egg-info

# ---- rules ----------------------------------------------------------------------------------

$(BUILD)/allocator/%.o: CXXFLAGS += $(NO_EXCEPTIONS) $(NO_PAIRS) $(LTO_OBJECTS)
$(BUILD)/pyhook/%.o: CXXFLAGS += $(NO_EXCEPTIONS) $(NO_PAIRS) $(LTO_OBJECTS)
$(BUILD)/preload/%.o: CXXFLAGS += $(NO_EXCEPTIONS) $(NO_PAIRS) $(LTO_OBJECTS)
# peakline_malloc has no other way to tell torch that memory ran out.
$(BUILD)/preload/exported/pluggable.o: CXXFLAGS += -fexceptions
# What a node throws passes through here.
$(BUILD)/preload/hooks/engine_hook.o: CXXFLAGS += -fexceptions

$(BUILD)/%.o: %.cpp
	@mkdir -p $(@D)
	@echo '  C++   $<'
	$(Q)$(CXX) $(CXXFLAGS) -MMD -MP -c $< -o $@

# Extension modules: the limited C API, any Python 3.10+. Python.h does not pass -Wpedantic.
LIMITED_API := -DPy_LIMITED_API=0x030A0000 -DPY_SSIZE_T_CLEAN
RECORDER_PYTHON_OBJECTS := $(call object,$(wildcard pyhook/module/*.cpp pyhook/holders/*.cpp))
REPORT_PYTHON_OBJECTS := $(call object,$(wildcard report/python/*.cpp))
$(RECORDER_PYTHON_OBJECTS) $(REPORT_PYTHON_OBJECTS): $(BUILD)/%.o: %.cpp
	@mkdir -p $(@D)
	@echo '  C++   $<'
	$(Q)$(CXX) $(filter-out -Wpedantic,$(CXXFLAGS)) $(LIMITED_API) -isystem $(PYTHON_INCLUDE) -MMD -MP -c $< -o $@

$(NATIVE)/libpeakline.so: $(RECORDER_OBJECTS) preload/exports.map $(NATIVE)/libpkunwind.so
	@mkdir -p $(@D)
	@echo '  LINK  $@'
	$(Q)$(CXX) $(LTO) -shared -Wl,-soname,libpeakline.so -Wl,--version-script=preload/exports.map \
	    -Wl,-z,defs -Wl,-rpath,'$$ORIGIN' -o $@ $(RECORDER_OBJECTS) \
	    -L$(NATIVE) -l:libpkunwind.so -ldl -lpthread $(OLD_CXX)

# Compares every native stack with libunwind's slow stepper: tests/e2e/test_native_stacks.py.
CHECKING := $(addprefix $(BUILD)/checked/allocator/capture/,native_check.o native_stack.o)
$(BUILD)/checked/%.o: %.cpp
	@mkdir -p $(@D)
	@echo '  C++   $< (checked)'
	$(Q)$(CXX) $(CXXFLAGS) $(NO_EXCEPTIONS) -DPEAKLINE_CHECK_NATIVE -MMD -MP -c $< -o $@
$(BUILD)/checked/libpeakline.so: $(CHECKING) \
        $(filter-out $(BUILD)/allocator/capture/native_check.o \
                     $(BUILD)/allocator/capture/native_stack.o,$(RECORDER_OBJECTS))
	@echo '  LINK  $@'
	$(Q)$(CXX) -fno-lto -shared -Wl,-soname,libpeakline.so -Wl,--version-script=preload/exports.map \
	    -Wl,-z,defs -Wl,-rpath,'$$ORIGIN' -o $@ $^ -lunwind -ldl -lpthread

# Assembly names what the compiler must not rename; no C++ library in the bootstrap.
$(BUILD)/preload/driver/%.o: CXXFLAGS += -fno-threadsafe-statics -fno-lto
# Its tables name its own functions, not those of a simulated driver.
$(NATIVE)/libpeakline_preload.so: $(call object,$(BOOTSTRAP_SOURCES) $(DRIVER_SOURCES))
	@mkdir -p $(@D)
	@echo '  LINK  $@'
	$(Q)$(CC) -shared -Wl,-soname,libpeakline_preload.so -Wl,-Bsymbolic-functions -Wl,-z,defs -o $@ $^ -ldl $(OLD_C)

# Needs libc only: linked by the C compiler, so that nothing else can creep in.
$(BUILD)/preload/simulate/guard/%.o: CXXFLAGS += -fno-threadsafe-statics -fno-lto
$(NATIVE)/libpeakline_guard.so: $(GUARD_OBJECTS)
	@mkdir -p $(@D)
	@echo '  LINK  $@'
	$(Q)$(CC) -shared -Wl,-soname,libpeakline_guard.so -Wl,-z,defs -o $@ $^ -ldl -lpthread \
	    $(OLD_C)

# Shipped beside the recorder: the program's machine need not have it, and must not see it.
$(NATIVE)/libpkunwind.so: allocator/capture/unwind/private_libunwind.py
	@mkdir -p $(@D)
	@rm -f $(@D)/libunwind.so.8 $(@D)/libzstd.so.1
	$(Q)$(if $(OLD),cp $(OLD)/libpkunwind.so $@,\
	    $(PYTHON) $< $$($(CXX) -print-file-name=libunwind.so.8) $@)

$(PACKAGE)/_recorder.abi3.so: $(RECORDER_PYTHON_OBJECTS) $(NATIVE)/libpeakline.so
	@echo '  LINK  $@'
	$(Q)$(CXX) -shared -Wl,-rpath,'$$ORIGIN/_native' -o $@ $(RECORDER_PYTHON_OBJECTS) \
	    -L$(NATIVE) -l:libpeakline.so $(OLD_CXX)

# The script of the HTML page: its modules joined.
$(PACKAGE)/page/page.js: report/page/join.py $(wildcard report/page/*.js report/page/*/*.js report/page/page.*)
	$(Q)$(PYTHON) $< $(@D)

$(BUILD)/libreport.a: $(REPORT_OBJECTS)
	@rm -f $@
	$(Q)ar rcs $@ $^

# zstd is in it, and unseen: a program may have another version. Lines for debuggers stay in the
# objects and in the programs of the tests: they would be nine tenths of what users download.
ZSTD := -l:libzstd.a -Wl,--exclude-libs,libzstd.a
$(PACKAGE)/_report.abi3.so: $(REPORT_PYTHON_OBJECTS) $(BUILD)/libreport.a
	@echo '  LINK  $@'
	$(Q)$(CXX) -shared -Wl,--strip-debug -Wl,-rpath,'$$ORIGIN/_native' -o $@ $^ $(ZSTD) \
	    $(OLD_ARCHIVE)

# Catch2 3 has its main in a library; see tests/unit/catching.h.
HASH := \#
CATCH = $(shell echo '$(HASH)include <catch2/catch_all.hpp>' | $(CXX) -E -x c++ - >/dev/null 2>&1 && \
                echo -lCatch2Main -lCatch2)
# Half of the time to build the tests; what they test is built as it is shipped.
QUICK_TESTS := $(foreach room,report record preload,$(BUILD)/tests/unit/$(room)/%.o)
$(QUICK_TESTS): CXXFLAGS += -O1 -g0 -Wno-error=maybe-uninitialized
$(BUILD)/unit_tests: $(call object,$(UNIT_TEST_SOURCES) preload/simulate/guard/file_states.cpp) $(RECORDER_OBJECTS) $(BUILD)/libreport.a
	@echo '  LINK  $@'
	$(Q)$(CXX) -fno-lto $(EXTRA_LDFLAGS) -o $@ $^ $(CATCH) -lunwind -lzstd -ldl -lpthread

$(BUILD)/recorder_bench: $(BUILD)/tests/bench/recorder_bench.o $(RECORDER_OBJECTS)
	@echo '  LINK  $@'
	$(Q)$(CXX) $(LTO) $(EXTRA_LDFLAGS) -o $@ $^ -lunwind -ldl -lpthread

$(BUILD)/librecording_switch.so: $(BUILD)/tests/bench/recording_switch.o $(BUILD)/allocator/capture/libraries/got_patch.o
	@echo '  LINK  $@'
	$(Q)$(CXX) -shared -fno-lto -o $@ $^ -ldl

$(BUILD)/instruction_driver: $(BUILD)/tests/bench/instruction_driver.o $(RECORDER_OBJECTS)
	@echo '  LINK  $@'
	$(Q)$(CXX) $(LTO) -o $@ $^ -lunwind -ldl -lpthread

$(BUILD)/native_bench: $(BUILD)/tests/bench/native_bench.o \
                       $(BUILD)/tests/unit/capture/call_shapes.o $(RECORDER_OBJECTS)
	@echo '  LINK  $@'
	$(Q)$(CXX) $(LTO) $(EXTRA_LDFLAGS) -o $@ $^ -lunwind -ldl -lpthread

$(BUILD)/shape_trace: $(BUILD)/tests/bench/shape_trace.o
	@echo '  LINK  $@'
	$(Q)$(CXX) -fno-lto -o $@ $^

.SECONDARY:
# Programs of tests/torture and tests/fuzz: the recorder and the reader, no torch.
$(BUILD)/%_test: $(BUILD)/tests/torture/%_test.o $(RECORDER_OBJECTS) $(BUILD)/libreport.a
	@echo '  LINK  $@'
	$(Q)$(CXX) -fno-lto $(EXTRA_LDFLAGS) -o $@ $^ -lunwind -lzstd -ldl -lpthread

$(BUILD)/replay_corpus: $(BUILD)/tests/fuzz/fuzz_reports.o $(BUILD)/tests/fuzz/replay_corpus.o $(BUILD)/libreport.a
	@echo '  LINK  $@'
	$(Q)$(CXX) -o $@ $^ -lzstd

# libFuzzer comes with clang; the report is built a second time, with its instrumentation.
FUZZ_FLAGS := -std=c++20 -O1 -g -I. -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all
FUZZ_OBJECTS := $(patsubst %.cpp,$(BUILD)/fuzz/%.o,$(REPORT_SOURCES) tests/fuzz/fuzz_reports.cpp)
$(BUILD)/fuzz/%.o: %.cpp
	@mkdir -p $(@D)
	@echo '  FUZZ  $<'
	$(Q)clang++ $(FUZZ_FLAGS) -MMD -MP -c $< -o $@
$(BUILD)/fuzz_reports: $(FUZZ_OBJECTS)
	$(Q)clang++ $(FUZZ_FLAGS) -o $@ $^ -lzstd

# Catch2 itself takes minutes to compile with a sanitizer, and is not what is tested.
$(BUILD)/tests/unit/main.o: CXXFLAGS := $(filter-out -fsanitize=% -fno-sanitize% -Wpedantic -Wconversion -Wshadow,$(CXXFLAGS))
# Catch2's own header is not ours to warn about.
$(BUILD)/tests/%.o: CXXFLAGS := $(filter-out -Wpedantic -Wconversion -Wshadow,$(CXXFLAGS))

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
