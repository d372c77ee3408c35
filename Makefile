# Stallkit: see `make help`.
VERSION := 0.1.0

# --- knobs -------------------------------------------------------------------------------------
CC       ?= cc
V        ?= 0
DEBUG    ?= 0
SAN      ?=
WERROR   ?= 0
comma    := ,
O        ?= build$(if $(FUZZER),/fuzzer)$(if $(SAN),/san-$(subst $(comma),+,$(SAN)))$(if $(filter 1,$(DEBUG)),/debug)
PREFIX   ?= /usr/local
BINDIR   ?= $(PREFIX)/bin
LIBDIR   ?= $(PREFIX)/lib
INCDIR   ?= $(PREFIX)/include
DATADIR  ?= $(PREFIX)/share
MANDIR   ?= $(DATADIR)/man
PKG_CONFIG ?= pkg-config
# The folder of third-party samples, which some tests use if it exists. The samples are not part of
# the project.
REAL     ?= $(wildcard ../shared/real)

.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules
.DEFAULT_GOAL := all

Q := $(if $(filter 1,$(V)),,@)
say = $(if $(filter 1,$(V)),,@printf '  %-7s %s\n' $(1) $(2))

# --- dependencies: pkg-config, and a plain fallback for libraries that ship no .pc file ------------
pkg_cflags = $(shell $(PKG_CONFIG) --cflags $(1) 2>/dev/null || echo $(2))
pkg_libs   = $(shell $(PKG_CONFIG) --libs $(1) 2>/dev/null || echo $(2))

ifeq ($(filter help clean format demo flink-demo bootstrap,$(MAKECMDGOALS)),)
# NAME=VERSION of each library that is installed. $(O)/flags records these: an object that was built
# without a library, or with another version of it, is built again.
looked_for := libdwarf libelf jansson libzstd zlib cmocka libarchive liblzma libdeflate libdebuginfod sqlite3 glib-2.0 gtk+-3.0 libunwind libunwind-generic
found := $(shell for name in $(looked_for); do version=$$($(PKG_CONFIG) --modversion $$name 2>/dev/null) && echo $$name=$$version; done)
have = $(if $(filter $(1)=%,$(found)),yes)
DWARF_CFLAGS := $(call pkg_cflags,libdwarf,$(if $(wildcard /usr/include/libdwarf/dwarf.h),-I/usr/include/libdwarf))
# Optional: dSYMs in archives (libarchive is loaded when one is met, not linked), symbols packed by xz (.gnu_debugdata), inflating
# sections in half the time, and debug files from debuginfod servers (loaded, too).
have_archive := $(call have,libarchive)
have_lzma := $(call have,liblzma)
have_deflate := $(call have,libdeflate)
have_debuginfod := $(call have,libdebuginfod)
# Optional: a history of many runs.
have_sqlite := $(call have,sqlite3)
DEP_CFLAGS := $(DWARF_CFLAGS) $(call pkg_cflags,libelf,) $(call pkg_cflags,jansson,) \
              $(if $(have_archive),$(call pkg_cflags,libarchive,)) $(if $(have_lzma),$(call pkg_cflags,liblzma,)) \
              $(if $(have_deflate),$(call pkg_cflags,libdeflate,)) $(if $(have_debuginfod),$(call pkg_cflags,libdebuginfod,)) \
              $(if $(have_sqlite),$(call pkg_cflags,sqlite3,))
DEP_LIBS   := $(call pkg_libs,libdwarf,-ldwarf) $(call pkg_libs,libelf,-lelf) \
              $(call pkg_libs,jansson,-ljansson) $(call pkg_libs,libzstd,-lzstd) \
              $(call pkg_libs,zlib,-lz) -liberty $(if $(have_archive)$(have_debuginfod),-ldl) \
              $(if $(have_lzma),$(call pkg_libs,liblzma,)) $(if $(have_deflate),$(call pkg_libs,libdeflate,)) $(if $(have_sqlite),$(call pkg_libs,sqlite3,))
endif

# The system and the processor of the host, or of a cross compiler.
linux   := $(filter Linux,$(shell uname -s))
machine := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine 2>/dev/null || uname -m)))

# --- flags -------------------------------------------------------------------------------------
WARN := -Wall -Wextra -Wshadow -Wconversion -Wvla -Wmissing-prototypes -Wstrict-prototypes \
        -Wformat=2 -Wundef -Wpointer-arith -Walloca
ifeq ($(WERROR),1)
WARN += -Werror
endif
OPT := $(if $(filter 1,$(DEBUG)),-O0,-O2)
SANFLAGS := $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer) \
            $(if $(FUZZER),-fsanitize=fuzzer-no-link) $(if $(COVERAGE),--coverage -fprofile-update=atomic)
# The optimisation of code that takes most of the time: symbolication mostly reads debug
# information, writes an index and reads names; classification mostly reads dumps and finds the keys
# of their stacks.
HOT := $(if $(SAN)$(FUZZER)$(filter 1,$(DEBUG)),,-O3)
# Options, as far as the compiler knows them, that make a memory error in the commands harder to
# exploit; HARDEN=0 leaves them out. The recorder runs in apps, whose builds choose for themselves,
# and its signal handlers call nothing that is not listed.
HARDEN   ?= 1
understands = $(shell $(CC) -Werror $(1) -E -x c /dev/null > /dev/null 2>&1 && echo '$(1)')
ifeq ($(HARDEN)$(SAN)$(FUZZER)$(filter help clean format format-check demo bootstrap,$(MAKECMDGOALS)),1)
protect := $(if $(filter x86_64 i686,$(machine)),-fcf-protection=full,$(if $(filter aarch64,$(machine)),-mbranch-protection=standard))
HARDEN_CFLAGS := $(call understands,-fPIE) $(call understands,-fstack-protector-strong) $(call understands,$(protect)) \
                 $(if $(filter 1,$(DEBUG)),,-U_FORTIFY_SOURCE $(or $(filter -D%,$(call understands,-O2 -D_FORTIFY_SOURCE=3)),-D_FORTIFY_SOURCE=2))
HARDEN_LDFLAGS := $(if $(linux),-pie -Wl$(comma)-z$(comma)relro$(comma)-z$(comma)now$(comma)-z$(comma)noexecstack)
endif
CFLAGS   ?=
BASE_CFLAGS := -std=c11 -D_POSIX_C_SOURCE=200809L -D_DEFAULT_SOURCE -D_DARWIN_C_SOURCE -D_FILE_OFFSET_BITS=64 -g $(OPT) $(WARN) \
               $(SANFLAGS) -DSTALLKIT_VERSION='"$(VERSION)"'
ALL_CFLAGS := $(BASE_CFLAGS) $(HARDEN_CFLAGS) -include lib/base/banned.h -Ilib -I$(O)/gen $(DEP_CFLAGS) $(CFLAGS)
# The recorder includes its own headers only, and none of the other modules.
REC_CFLAGS := $(BASE_CFLAGS) -include lib/base/banned.h -fPIC -fvisibility=hidden -ffunction-sections -fdata-sections -Ilib/recorder $(CFLAGS)
ALL_LDFLAGS := $(SANFLAGS) $(LDFLAGS)
BIN_LDFLAGS := $(HARDEN_LDFLAGS)

# --- sources: a module is a folder of lib/, and has at most one floor of rooms below it ----------------
MODULES := base object debug index demangle dump names symbolize classify page flame history
not_src = %_test.c %_fuzz.c %_bench.c %/failmalloc.c
absent_optional := $(if $(have_archive),%/packed_none.c,%/packed_libarchive.c %/libarchive_calls.c) $(if $(have_lzma),%/xz_section_none.c,%/xz_section.c) \
                   $(if $(have_deflate),%/deflate_zlib.c,%/deflate_libdeflate.c) \
                   $(if $(have_debuginfod),%/symbol_server_none.c,%/symbol_server_debuginfod.c) \
                   $(if $(have_sqlite),%/sql_file_none.c,%/sql_file.c)
lib_src := $(filter-out $(not_src) $(absent_optional),$(foreach m,$(MODULES),$(wildcard lib/$(m)/*.c lib/$(m)/*/*.c)))
# When compiling for another processor, the libraries of this machine are not used.
have_glib := $(if $(filter $(machine),$(shell uname -m)),$(call have,glib-2.0))
cmds    := $(filter-out $(if $(linux),,stallrec),$(patsubst cmd/%.c,%,$(wildcard cmd/stall*.c)))
# Files compiled into the library as bytes: rule files, maps of reports, and the scripts and styles of the SVG and of the page.
embeds  := $(wildcard lib/classify/rules/*.rules lib/dump/maps/*.map lib/flame/svg/*.js lib/flame/svg/*.css lib/page/*.js lib/page/*.css)
embed_src := $(patsubst %,$(O)/gen/%.c,$(notdir $(embeds)))

include lib/recorder/recorder.mk

cli_obj := $(patsubst %.c,$(O)/obj/%.o,$(wildcard cmd/cli*.c))
lib_obj := $(lib_src:%.c=$(O)/obj/%.o) $(embed_src:%.c=%.o)
test_src := $(filter-out $(rec_other),$(wildcard lib/*/*_test.c lib/*/*/*_test.c))
fuzz_src := $(filter-out $(rec_other),$(wildcard lib/*/*_fuzz.c lib/*/*/*_fuzz.c))
bench_src := $(filter-out $(rec_other),$(wildcard lib/*/*_bench.c lib/*/*/*_bench.c))
tests   := $(test_src:lib/%.c=$(O)/test/%)
command_fuzzers := $(if $(linux),$(patsubst cmd/fuzz/%.c,$(O)/fuzz/cmd/%,$(wildcard cmd/fuzz/*_fuzz.c)))
fuzzers := $(fuzz_src:lib/%.c=$(O)/fuzz/%) $(fuzzers_elsewhere) $(command_fuzzers)
benches := $(bench_src:lib/%.c=$(O)/bench/%)
app_src := $(if $(linux),$(filter-out $(absent_apps),$(wildcard testdata/apps/*.c)))
apps    := $(app_src:testdata/apps/%.c=$(O)/apps/%)

LIB     := $(O)/libstallkit.a
RECLIB  := $(O)/libstallrec.a
PRELOAD := $(O)/lib/libstallrec-preload.so
bins    := $(cmds:%=$(O)/bin/%)

# --- targets -----------------------------------------------------------------------------------
.PHONY: all demo flink-demo test units bench soak fuzz analyze coverage coverage-run install uninstall format format-check clean help lib-% bootstrap

all: $(LIB) $(bins) $(RECLIB) $(if $(preload_src),$(PRELOAD))

$(LIB): $(lib_obj)
	$(call say,AR,$@)
	$(Q)mkdir -p $(@D) && rm -f $@ && ar rcs $@ $^

$(RECLIB): $(rec_obj)
	$(call say,AR,$@)
	$(Q)mkdir -p $(@D) && rm -f $@ && ar rcs $@ $^

$(O)/obj/scripts/lib/coverage_exec.o: ALL_CFLAGS += -fPIC
preload_counts := $(if $(COVERAGE),$(O)/obj/scripts/lib/coverage_exec.o)
$(PRELOAD): $(preload_obj) $(preload_counts) | $(O)/flags
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) -shared $(ALL_LDFLAGS) $(if $(COVERAGE),-Wl$(comma)--wrap=dlsym) -o $@ $(preload_obj) $(preload_counts) -Wl,-z,relro,-z,now,-z,noexecstack $(if $(SAN),,-Wl,-z,defs) $(PRELOAD_LDFLAGS) $(REC_LIBS)

# Building the recorder's library alone needs none of the libraries that the commands need.
rec_needs := $(if $(filter-out %/libstallrec.a,$(or $(MAKECMDGOALS),all)),$(O)/needs)
$(O)/obj/lib/recorder/%.o: lib/recorder/%.c $(O)/flags | $(rec_needs)
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(REC_CFLAGS) $(REC_CFLAGS_$(*F)) -MMD -MP -c -o $@ $<

$(O)/obj/%.o: %.c $(O)/flags | $(O)/needs
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(O)/obj/lib/object/find/libarchive_calls.o: ALL_CFLAGS += -DSTALLKIT_LIBARCHIVE_DIR='"$(shell $(PKG_CONFIG) --variable=libdir libarchive)"'
$(patsubst %.c,$(O)/obj/%.o,$(filter lib/debug/% lib/index/% lib/demangle/% lib/dump/json/% lib/classify/keys/%,$(lib_src))): ALL_CFLAGS += $(HOT)
$(patsubst %.c,$(O)/obj/%.o,$(wildcard cmd/stallrec.c cmd/record/*.c)): ALL_CFLAGS += -Ilib/recorder
$(patsubst %.c,$(O)/obj/%.o,$(wildcard cmd/*.c cmd/*/*.c)): ALL_CFLAGS += -Icmd
$(O)/obj/cmd/record/recorded_program.o: ALL_CFLAGS += -DSTALLKIT_LIBDIR='"$(LIBDIR)"'

$(O)/gen/%.o: $(O)/gen/%.c $(O)/flags | $(O)/needs
	$(Q)$(CC) $(BASE_CFLAGS) $(HARDEN_CFLAGS) -c -o $@ $<

vpath %.rules lib/classify/rules
vpath %.map lib/dump/maps
vpath %.js lib/flame/svg lib/page
vpath %.css lib/flame/svg lib/page
$(O)/gen/%.c: % scripts/embed
	$(call say,EMBED,$<)
	$(Q)mkdir -p $(@D) && scripts/embed $< > $@

# The objects that a command has besides its main file.
$(O)/bin/stallrec: $(patsubst %.c,$(O)/obj/%.o,$(wildcard cmd/record/*.c))
$(O)/bin/stalladdr: $(O)/obj/cmd/address_sections.o $(O)/obj/cmd/demangle_filter.o
$(O)/bin/stallsym: $(patsubst %.c,$(O)/obj/%.o,$(wildcard cmd/symbolicate/*.c))
$(O)/bin/stallclassify: $(patsubst %.c,$(O)/obj/%.o,$(wildcard cmd/classify_*.c cmd/triage/*.c))
$(O)/bin/stallflame: $(patsubst %.c,$(O)/obj/%.o,$(wildcard cmd/flame_*.c) cmd/classify_rules.c)
$(O)/bin/%: $(O)/obj/cmd/%.o $(cli_obj) $(LIB) $(RECLIB)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_LDFLAGS) $(BIN_LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(DEP_LIBS) $(REC_LIBS) -lm -lpthread

# Tests can make any allocation fail (lib/base/failmalloc.h).
fail_obj := $(O)/obj/lib/base/failmalloc.o
fail_ld  := $(if $(linux),$(addprefix -Wl$(comma)--wrap=,\
            malloc calloc realloc free strdup strndup pthread_create),)

# Unit tests, fuzzers and benchmarks may include anything of their own module.
$(O)/test/recorder/%: $(O)/obj/lib/recorder/%.o $(fail_obj) $(RECLIB) $(LIB)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_LDFLAGS) $(fail_ld) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(call pkg_libs,cmocka,-lcmocka) $(REC_LIBS) $(REC_LIBS_$(*F)) $(DEP_LIBS) -lm -lpthread
$(O)/test/%: $(O)/obj/lib/%.o $(fail_obj) $(LIB)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_LDFLAGS) $(fail_ld) -o $@ $^ $(call pkg_libs,cmocka,-lcmocka) $(DEP_LIBS) -lm -lpthread
$(O)/bench/%: $(O)/obj/lib/%.o $(LIB) $(RECLIB)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_LDFLAGS) -o $@ $^ $(DEP_LIBS) $(REC_LIBS) -lm -lpthread
# With FUZZER=1 (clang) a fuzzer runs for ever; else it replays the corpus files it is given.
$(O)/fuzz/%: $(O)/obj/lib/%.o $(if $(FUZZER),,$(O)/obj/scripts/fuzz_replay.o) $(LIB) $(RECLIB)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_LDFLAGS) $(if $(FUZZER),-fsanitize=fuzzer) -o $@ $^ $(DEP_LIBS) $(REC_LIBS) -lm -lpthread

# The commands as functions of one process, for fuzzers and for the sweep of cut files: their main
# functions under other names, and the objects that they share.
command_main_obj := $(patsubst cmd/stall%.c,$(O)/obj/cmd/fuzz/stall%_main.o,$(filter-out cmd/stallrec.c,$(wildcard cmd/stall*.c)))
commands_obj := $(command_main_obj) $(O)/obj/cmd/fuzz/command_run.o \
                $(patsubst %.c,$(O)/obj/%.o,$(filter-out cmd/stall%.c,$(wildcard cmd/*.c)) $(filter-out cmd/fuzz/% cmd/record/%,$(wildcard cmd/*/*.c)))
keep_blocks := $(and $(FUZZER),$(findstring address,$(SAN)))
fuzz_shared_obj := $(patsubst %.c,$(O)/obj/%.o,cmd/fuzz/fuzz_command.c cmd/fuzz/kept_setup.c $(if $(keep_blocks),cmd/fuzz/kept_blocks.c) $(wildcard cmd/fuzz/mutate*.c))
fuzz_kept := $(addprefix -Wl$(comma)--wrap=,classify_rules_load classify_rules_release rules_hash cli_maps_load cli_maps_release $(if $(keep_blocks),malloc calloc realloc free))
# Comparisons in these objects are not reported to libFuzzer: the loops that compare single bytes
# would take twice as long, and what libFuzzer learns from them is not worth it.
$(foreach d,lib/base lib/dump/json cmd/fuzz,$(O)/obj/$(d)/%.o): ALL_CFLAGS += $(if $(FUZZER),-fno-sanitize-coverage=trace-cmp)
$(O)/obj/cmd/fuzz/%_main.o: cmd/%.c $(O)/flags | $(O)/needs
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) -Icmd -Dmain=$*_main -include cmd/fuzz/command_run.h -MMD -MP -c -o $@ $<
$(O)/obj/cmd/fuzz/command_run.o $(O)/obj/cmd/fuzz/fuzz_command.o: ALL_CFLAGS += -D_GNU_SOURCE
$(O)/obj/cmd/fuzz/spool_recover_fuzz.o: ALL_CFLAGS += -Ilib/recorder
$(O)/cut-files: $(O)/obj/cmd/fuzz/cut_files.o $(commands_obj) $(LIB) $(RECLIB)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_LDFLAGS) -o $@ $^ $(DEP_LIBS) $(REC_LIBS) -lm -lpthread

$(O)/fuzz/cmd/%: $(O)/obj/cmd/fuzz/%.o $(fuzz_shared_obj) $(commands_obj) $(if $(FUZZER),,$(O)/obj/scripts/fuzz_replay.o) $(LIB) $(RECLIB)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_LDFLAGS) $(fuzz_kept) $(if $(FUZZER),-fsanitize=fuzzer) -o $@ $^ $(DEP_LIBS) $(REC_LIBS) -lm -lpthread

# The programs that the demo and the tests record.
$(O)/apps/%: testdata/apps/%.c $(RECLIB) $(O)/flags
	$(call say,APP,$@)
	$(Q)mkdir -p $(@D) && $(CC) -std=c11 -D_GNU_SOURCE -g -O2 -Wall -Wextra $(if $(filter 1,$(WERROR)),-Werror) $(SANFLAGS) \
	  -Ilib/recorder $(APP_CFLAGS_$*) -MMD -MP $(LDFLAGS) -o $@ $(filter %.c %.o,$^) $(RECLIB) $(APP_LIBS_$*) $(REC_LIBS) -lm -lpthread

# Everything is built again when the compiler, the flags or the libraries that were found change.
# Programs that need a library which is no longer installed are removed.
recorded = $(CC) $(ALL_CFLAGS) $(REC_CFLAGS) $(ALL_LDFLAGS) $(DEP_LIBS) found: $(found)
$(O)/flags: FORCE
	@mkdir -p $(O); echo '$(recorded)' | cmp -s - $@ || \
	  { rm -f $(absent_apps:testdata/apps/%.c=$(O)/apps/%); echo '$(recorded)' > $@; }

# Checked before the commands are compiled for this machine: is every library there? If not, the
# message names the missing package and the command that installs it.
$(O)/needs: $(O)/flags scripts/bootstrap
	$(Q)$(if $(filter $(machine),$(shell uname -m)),scripts/bootstrap --check --build)
	$(Q)touch $@
.PHONY: FORCE
FORCE:

.SECONDARY:

# One module and its tests: `make lib-flame`.
lib-%: $(O)/flags $(LIB) $(RECLIB)
	$(Q)$(MAKE) --no-print-directory $(filter $(O)/test/$*/%,$(tests))
	$(Q)O=$(O) REAL=$(abspath $(REAL)) scripts/run-tests $(filter $(O)/test/$*/%,$(tests))

# All modules' unit tests, several at once, the long ones first.
long_units = $(filter %/seen_ids_test %/gate_test %/gate_power_test %/kept_sums_test %/pprof_test,$(tests))
units: $(tests)
	$(Q)O=$(O) REAL=$(abspath $(REAL)) scripts/run-tests $(long_units) $(filter-out $(long_units),$(tests))

bootstrap:
	$(Q)scripts/bootstrap

demo: bootstrap
	$(Q)$(MAKE) --no-print-directory all $(apps)
	$(Q)O=$(O) scripts/demo

flink-demo: bootstrap
	$(Q)$(MAKE) --no-print-directory all $(O)/apps/stalls
	$(Q)O=$(O) scripts/flink/demo

test: bootstrap
	$(Q)$(MAKE) --no-print-directory test-run

# The long tests come first, because run-tests runs several at once.
long_tests := $(addprefix scripts/test/,flink guards aarch64 waits idle-waits attach stallrec fetch demo out-of-memory viewers clocks filters darwin adapters \
                threads fixtures totals detectors trace layers watch system-calls go-zdebug dependencies)
test-run: all $(tests) $(fuzzers) $(apps) $(if $(linux),$(O)/cut-files)
	$(Q)O=$(O) REAL=$(abspath $(REAL)) CC='$(CC)' SAN='$(SAN)' scripts/run-tests $(long_tests) scripts/check-layers scripts/check-ios-api \
	  $(filter-out $(long_tests),$(filter-out %.js %.xsd,$(wildcard scripts/test/*))) $(tests)

bench: all $(benches) $(apps)
	$(Q)for b in $(benches) $(wildcard scripts/bench/*); do O=$(O) REAL=$(abspath $(REAL)) $$b || exit 1; done

soak: all $(tests) $(apps) $(if $(linux),$(O)/cut-files)
	$(Q)for s in $(wildcard scripts/soak/*); do O=$(O) REAL=$(abspath $(REAL)) $$s || exit 1; done

fuzz: $(fuzzers)
	$(Q)O=$(O) REAL=$(abspath $(REAL)) scripts/fuzz $(fuzzers)

# Finds the lines that run in unit tests, in the cases of the commands, in the replay of the corpora
# and, for the recorder, in recorded programs. The code is not optimised, so that each line is
# counted by itself. Some filters of scripts/test/filters refuse the calls that write the counts:
# four tests of that script fail here.
coverage_of := DEBUG=1 COVERAGE=1 CC=gcc O=build/coverage
coverage:
	$(Q)rm -rf build/coverage/obj
	$(Q)$(MAKE) --no-print-directory $(coverage_of) coverage-run
	$(Q)scripts/ci/coverage build/coverage
recorded_tests := $(if $(linux),$(addprefix scripts/test/,stallrec attach threads spool waits idle-waits detectors adapters filters guards trace clocks))
coverage-run: all $(tests) $(fuzzers) $(apps)
	-$(Q)GCOV_ERROR_FILE=/dev/null O=$(O) REAL=$(abspath $(REAL)) CC='$(CC)' scripts/run-tests $(recorded_tests) scripts/test/cli scripts/test/fuzz $(tests)

# The compiler's options for clang-tidy, without the warnings of gcc that clang-tidy does not know.
analyzed := $(sort $(lib_src) $(filter-out %_darwin.c,$(rec_src) $(preload_src)) $(wildcard cmd/*.c cmd/*/*.c))
analyze:
	$(Q)HOST_FLAGS="-std=c11 $(filter -D_%,$(BASE_CFLAGS)) $(filter -I%,$(DEP_CFLAGS)) -Ilib -include lib/base/banned.h -Icmd -Ilib/recorder -DSTALLKIT_VERSION=\"$(VERSION)\"" \
	  RECORDER_FLAGS="-std=c11 $(filter -D_%,$(BASE_CFLAGS)) -Ilib/recorder $(GLIB_CFLAGS) -include lib/base/banned.h -DSTALLKIT_VERSION=\"$(VERSION)\"" \
	  scripts/ci/analyze $(analyzed)

install: all
	install -d $(DESTDIR)$(BINDIR) $(DESTDIR)$(LIBDIR)/stallkit $(DESTDIR)$(INCDIR) $(DESTDIR)$(DATADIR)/stallkit/rules $(DESTDIR)$(DATADIR)/stallkit/maps \
	  $(DESTDIR)$(MANDIR)/man1 $(DESTDIR)$(MANDIR)/man3 $(DESTDIR)$(MANDIR)/man5 $(DESTDIR)$(MANDIR)/man7
	install -m 755 $(bins) $(DESTDIR)$(BINDIR)
	install -m 644 $(RECLIB) $(DESTDIR)$(LIBDIR)
	$(if $(preload_src),install -m 755 $(PRELOAD) $(DESTDIR)$(LIBDIR)/stallkit)
	install -m 644 $(wildcard lib/recorder/stallrec*.h) $(DESTDIR)$(INCDIR)
	install -m 644 $(wildcard lib/classify/rules/*.rules) $(DESTDIR)$(DATADIR)/stallkit/rules
	install -m 644 $(wildcard lib/dump/maps/*.map) $(DESTDIR)$(DATADIR)/stallkit/maps
	install -m 644 lib/recorder/PrivacyInfo.xcprivacy $(DESTDIR)$(DATADIR)/stallkit
	for s in 1 3 5 7; do for p in man/*.$$s; do [ ! -e $$p ] || install -m 644 $$p $(DESTDIR)$(MANDIR)/man$$s; done; done

uninstall:
	rm -f $(cmds:%=$(DESTDIR)$(BINDIR)/%) $(DESTDIR)$(LIBDIR)/libstallrec.a $(patsubst lib/recorder/%,$(DESTDIR)$(INCDIR)/%,$(wildcard lib/recorder/stallrec*.h))
	for p in man/*.[1357]; do rm -f $(DESTDIR)$(MANDIR)/man$${p##*.}/$${p##*/}; done
	rm -rf $(DESTDIR)$(LIBDIR)/stallkit $(DESTDIR)$(DATADIR)/stallkit

c_files = $(shell git ls-files 'cmd/*.[ch]' 'lib/*.[ch]' 'scripts/*.[ch]' 'testdata/apps/*.[ch]' 'testdata/corefoundation/*.[ch]' 'testdata/mach/*.[ch]' 'testdata/libdwarf/*.h')
format:
	clang-format -i $(c_files)
format-check:
	clang-format --dry-run -Werror $(c_files)

clean:
	rm -rf $(O)

help:
	@sed -n 's/^#: //p' Makefile
#: make [all]        build the commands into build/bin and the recorder into build/
#: make demo         install what is missing, build, record real stalls, symbolicate, classify, draw
#: make flink-demo   the same as a job on Apache Flink, which it fetches (scripts/flink)
#: make test         every test; the last line is `N passed, N failed`
#: make lib-NAME     build and test one module of lib/
#: make bench        ratios against the peers found installed
#: make soak         long runs
#: make fuzz         replay the corpora (FUZZER=1 CC=clang: fuzz for FUZZ_SECONDS each; scripts/soak/fuzz: for FUZZ_HOURS in all)
#: make coverage     lines of lib/ that the tests run, by module (gcc)
#: make analyze      clang-tidy, cppcheck and gcc -fanalyzer
#: make install      DESTDIR= PREFIX= BINDIR= LIBDIR= INCDIR= MANDIR=
#: make uninstall    remove what install put there
#: make format       clang-format in place; format-check only looks
#: make clean        remove the build folder
#: knobs: O=DIR (build folder)  V=1 (show commands)  DEBUG=1 (-O0)  HARDEN=0 (no PIE, stack protector, FORTIFY, CET)  SAN=address,undefined | thread  WERROR=1  CC=clang

# The dependencies of other builds below $(O) are left out, because tests may be writing these files
# at the same time.
-include $(shell find $(O)/obj $(O)/apps -name '*.d' -type f 2>/dev/null)
