# SPDX-License-Identifier: Apache-2.0
#
# The front door: Meson does the building, this file knows which folder a configuration lives in.
#
#   make [V=1] [CC=clang] [SAN=address,undefined] [CFLAGS=...] [PREFIX=/usr/local] [DESTDIR=...]
#   make check [TESTS="clock window"]     one configuration, all or some of its test programs
#   make check-arm [TESTS="pe ne"]        the datapath's, or these, for AArch64 under an emulator and for this machine
#
# CONTRIBUTING.md lists the targets.

ifeq ($(origin CC),default)
CC := gcc
endif
PREFIX ?= /usr/local
LIBDIR ?= lib
FUZZ_SECONDS ?= 60
SOAK_ROUNDS ?= 20
SOAK_SECONDS ?= 300
SOAK_GRAPHS ?= 20000
RACE_SECONDS ?= 120
CROWD_PROCESSES ?= 20
CROWD_SECONDS ?= 60
# Debian's own Meson comes before any wrapper of that name in PATH.
MESON ?= $(shell test -x /usr/bin/meson && echo /usr/bin/meson || echo meson)

comma := ,
flavour := $(if $(filter cc gcc,$(CC)),,-$(notdir $(firstword $(CC))))
BUILD := build$(flavour)$(if $(SAN),-$(subst $(comma),-,$(SAN)))
# Test builds are linked with lld where it is installed: two hundred programs take a minute less.
LINKER := $(if $(findstring clang,$(CC))$(SAN),$(shell command -v ld.lld >/dev/null 2>&1 && echo 'CC_LD=lld '))
# What a sanitizer checks is compiled lightly: a third less time. Fuzzers run for long, and are not.
LIGHT := $(if $(SAN),$(if $(findstring fuzzing,$(MESON_FLAGS)),,-Doptimization=1))
# What scripts/setup must have installed: clang's sanitizers are a package of their own.
NEEDS := $(if $(findstring clang,$(CC)),$(if $(SAN),fuzz,test),build)
NINJA = ninja $(if $(filter 1,$(V)),-v) -C
SUB = $(MAKE) --no-print-directory
# What computes, and the machine around it. Not what watches the host's kernel, which the emulator only imitates.
ARM_TESTS = half numerics table exact view pool kernel task cast lower runtime_model bare boot golden machine \
	$(patsubst tests/test_%.c,%,$(wildcard tests/test_pe.c tests/test_pe_*.c tests/test_ne.c tests/test_ne_*.c))
VERSION = $(shell sed -n "s/^  version: '\(.*\)',/\1/p" meson.build)
C_FILES = find src include tests bench -name '*.[ch]'

export CC CFLAGS LDFLAGS PREFIX LIBDIR SAN MESON V
# Everything that is run from here has a machine of its own, whatever service runs on this host. Tests of the service name theirs.
export ANEMONE_SERVICE := none

.PHONY: all run test check check-arm bench soak soak-suite fuzz format lint docs dist install clean setup configure setup-%

all: configure
	@$(NINJA) $(BUILD) products

run: all
	@$(BUILD)/anemone demo

# What every change has to pass: the source checks, gcc and the sanitizers complete, clang without the suite `once`, and the threaded suites under the thread sanitizer.
# A folder that cannot be configured or built is counted as a failure by run-tests, so the closing line is always printed. Without its
# tools, lint reports what it skips.
test: setup-test
	@scripts/setup lint || true
	@$(SUB) CC=gcc SAN= configure || true
	@$(SUB) CC=clang SAN= configure || true
	@$(SUB) CC=gcc SAN=address,undefined configure || true
	@$(SUB) CC=gcc SAN=thread configure || true
	@scripts/run-tests --lint build-clang build 'build-clang=!once' build-address-undefined build-thread=threads

check: configure
	@scripts/run-tests $(addprefix --only ,$(TESTS)) $(BUILD)

# Both run the same tests, so that run-tests also compares what must agree between them.
check-arm: setup-arm
	@scripts/own-build build-arm
	@scripts/arm-sysroot build-arm
	@$(SUB) CC=gcc SAN= configure
	@$(SUB) CC=aarch64-linux-gnu-gcc SAN= BUILD=build-arm SETUP_FLAGS='--cross-file build-arm/cross.ini' configure
	@scripts/run-tests --patience 4 $(addprefix --only ,$(or $(TESTS),$(ARM_TESTS))) build build-arm

# What is compared with is measured where it is installed; without it its columns stay empty. A folder that was
# configured before oneDNN was installed is configured again.
bench:
	@scripts/setup bench || true
	@$(SUB) configure
	@if grep -q peer_absent $(BUILD)/build.ninja && [ -e /usr/include/oneapi/dnnl/dnnl.h ]; then \
		$(MESON) setup --reconfigure $(BUILD); \
	fi
	@$(NINJA) $(BUILD) products meson-benchmark-prereq
	@scripts/bench $(BUILD) --docs docs/performance.md

# Load from outside: the soak in three builds, a crowd of processes at a service in two, then every race under the sanitizers. ANEMONE_TEST_SEED chooses another run. All of them are run, whatever fails.
soak:
	@$(SUB) CC=gcc SAN= configure
	@$(SUB) CC=gcc SAN=address,undefined configure
	@$(SUB) CC=gcc SAN=thread configure
	@for folder in build build-address-undefined build-thread; do \
		$(NINJA) $$folder tests/soak tests/soak_memory tests/calls tests/races || exit 1; \
	done
	@for folder in build build-address-undefined; do \
		$(NINJA) $$folder anemone tests/served_client tests/test_served_crowd tests/test_random_graphs || exit 1; \
	done
	@failed=; \
	for folder in build build-address-undefined build-thread; do \
		echo "$$folder: soak, $(SOAK_SECONDS) seconds"; \
		$$folder/tests/soak $(SOAK_SECONDS) || failed="$$failed $$folder/soak"; \
		$$folder/tests/soak_memory || failed="$$failed $$folder/soak_memory"; \
		$$folder/tests/calls 1000000 || failed="$$failed $$folder/calls"; \
	done; \
	for folder in build build-address-undefined; do \
		echo "$$folder: $(CROWD_PROCESSES) processes at a service, $(CROWD_SECONDS) seconds"; \
		$$folder/tests/test_served_crowd $(CROWD_PROCESSES) $(CROWD_SECONDS) || failed="$$failed $$folder/crowd"; \
	done; \
	for folder in build build-address-undefined; do \
		echo "$$folder: $(SOAK_GRAPHS) random graphs"; \
		ANEMONE_SERVICE=none $$folder/tests/test_random_graphs $(SOAK_GRAPHS) 1000 || failed="$$failed $$folder/random_graphs"; \
	done; \
	for folder in build-address-undefined build-thread; do \
		for race in $$($$folder/tests/races --list | cut -d' ' -f1); do \
			echo "$$folder: race $$race, $(RACE_SECONDS) seconds"; \
			$$folder/tests/races $$race $(RACE_SECONDS) || failed="$$failed $$folder/$$race"; \
		done; \
	done; \
	[ -z "$$failed" ] || { echo "failed:$$failed"; exit 1; }

# The whole suite again and again under the sanitizers, each round with a random seed of its own.
soak-suite:
	@$(SUB) CC=gcc SAN=address,undefined configure
	@scripts/run-tests --rounds $(SOAK_ROUNDS) build-address-undefined

# Each libFuzzer program for FUZZ_SECONDS, on a copy of its seeds that keeps what earlier runs found. Those that read
# messages or containers get the protocol's words as a dictionary. FUZZ="channels ring" chooses some.
FUZZ_WITH_WORDS := channels container program request ring
fuzz:
	@$(SUB) CC=clang SAN=address,undefined BUILD=build-fuzz MESON_FLAGS=-Dfuzzing=true configure
	@$(NINJA) build-fuzz fuzzers anemone
	@scripts/make-dictionary build-fuzz/anemone > build-fuzz/words.dict
	@cd build-fuzz && for noun in $(if $(FUZZ),$(FUZZ),$$(cd ../tests/fuzz/seeds && ls)); do \
		words=; case " $(FUZZ_WITH_WORDS) " in *" $$noun "*) words=-dict=words.dict;; esac; \
		mkdir -p corpus/$$noun; cp ../tests/fuzz/seeds/$$noun/* corpus/$$noun/; \
		echo "fuzz $$noun: $(FUZZ_SECONDS) seconds"; \
		tests/fuzz_$$noun -max_total_time=$(FUZZ_SECONDS) -timeout=30 -print_final_stats=1 $$words \
			-artifact_prefix=$$noun- corpus/$$noun || exit 1; \
	done

format: setup-lint
	@$(C_FILES) | xargs -r clang-format -i

# All of src, however long it takes; `make test` runs clang-tidy on changed files only.
lint: setup-lint
	@$(SUB) CC=clang SAN= configure
	@scripts/lint --all build-clang

# The tables of the reference pages, from what the command prints.
docs: all
	@scripts/render-docs $(BUILD)/anemone

# The tree of the last commit as a source archive.
dist:
	@mkdir -p build
	@git archive --format=tar.gz --prefix=anemone-$(VERSION)/ -o build/anemone-$(VERSION).tar.gz HEAD
	@echo build/anemone-$(VERSION).tar.gz

install: all
	@$(MESON) install -C $(BUILD) --no-rebuild $(if $(DESTDIR),--destdir '$(abspath $(DESTDIR))')
	@$(if $(DESTDIR),:,ldconfig 2>/dev/null || :)

clean:
	rm -rf build build-*

# Everything that building and testing need.
setup: setup-lint setup-fuzz

setup-%:
	@scripts/setup $*

# Configures a folder once, and again only when one of the variables has changed or the checkout is in another place.
configure: setup-$(NEEDS)
	@scripts/own-build $(BUILD)
	@wanted="$$CC|$$CFLAGS|$$LDFLAGS|$$PREFIX|$$LIBDIR|$$SAN|$(MESON_FLAGS)"; verb='setup $(SETUP_FLAGS)'; \
	if [ -f $(BUILD)/build.ninja ]; then \
		[ "$$(cat $(BUILD)/configured 2>/dev/null)" = "$$wanted" ] && exit 0; verb=configure; \
	fi; \
	$(LINKER)$(MESON) $$verb --prefix="$$PREFIX" --libdir="$$LIBDIR" -Dc_args="$$CFLAGS" -Dc_link_args="$$LDFLAGS" \
		$(if $(SAN),-Db_sanitize="$$SAN" -Db_lundef=false) $(LIGHT) $(MESON_FLAGS) $(BUILD) && \
	printf '%s\n' "$$wanted" >$(BUILD)/configured
