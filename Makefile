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
# Third-party samples that some tests use when they are there; none of them belongs to the project.
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

ifeq ($(filter help clean format demo bootstrap,$(MAKECMDGOALS)),)
# NAME=VERSION of what is installed. $(O)/flags records it: what was built without a library, or with another version, is built again.
looked_for := libdwarf libelf jansson libzstd zlib cmocka libarchive liblzma libdeflate libdebuginfod glib-2.0 gtk+-3.0 libunwind libunwind-generic
found := $(shell for name in $(looked_for); do version=$$($(PKG_CONFIG) --modversion $$name 2>/dev/null) && echo $$name=$$version; done)
have = $(if $(filter $(1)=%,$(found)),yes)
DWARF_CFLAGS := $(call pkg_cflags,libdwarf,$(if $(wildcard /usr/include/libdwarf/dwarf.h),-I/usr/include/libdwarf))
# Optional: dSYMs in archives (libarchive is loaded when one is met, not linked), symbols packed by xz (.gnu_debugdata), inflating
# sections in half the time, and debug files from debuginfod servers (loaded, too).
have_archive := $(call have,libarchive)
have_lzma := $(call have,liblzma)
have_deflate := $(call have,libdeflate)
have_debuginfod := $(call have,libdebuginfod)
DEP_CFLAGS := $(DWARF_CFLAGS) $(call pkg_cflags,libelf,) $(call pkg_cflags,jansson,) \
              $(if $(have_archive),$(call pkg_cflags,libarchive,)) $(if $(have_lzma),$(call pkg_cflags,liblzma,)) \
              $(if $(have_deflate),$(call pkg_cflags,libdeflate,)) $(if $(have_debuginfod),$(call pkg_cflags,libdebuginfod,))
DEP_LIBS   := $(call pkg_libs,libdwarf,-ldwarf) $(call pkg_libs,libelf,-lelf) \
              $(call pkg_libs,jansson,-ljansson) $(call pkg_libs,libzstd,-lzstd) \
              $(call pkg_libs,zlib,-lz) -liberty $(if $(have_archive)$(have_debuginfod),-ldl) \
              $(if $(have_lzma),$(call pkg_libs,liblzma,)) $(if $(have_deflate),$(call pkg_libs,libdeflate,))
endif

# --- flags -------------------------------------------------------------------------------------
WARN := -Wall -Wextra -Wshadow -Wconversion -Wvla -Wmissing-prototypes -Wstrict-prototypes \
        -Wformat=2 -Wundef -Wpointer-arith -Walloca
ifeq ($(WERROR),1)
WARN += -Werror
endif
OPT := $(if $(filter 1,$(DEBUG)),-O0,-O2)
SANFLAGS := $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer) \
            $(if $(FUZZER),-fsanitize=fuzzer-no-link)
# Reading debug information, writing an index and reading names is nearly all that symbolication costs; reading dumps and finding the keys of
# their stacks, nearly all that classification does.
HOT := $(if $(SAN)$(FUZZER)$(filter 1,$(DEBUG)),,-O3)
CFLAGS   ?=
BASE_CFLAGS := -std=c11 -D_POSIX_C_SOURCE=200809L -D_DEFAULT_SOURCE -D_DARWIN_C_SOURCE -D_FILE_OFFSET_BITS=64 -g $(OPT) $(WARN) \
               $(SANFLAGS) -DSTALLKIT_VERSION='"$(VERSION)"'
ALL_CFLAGS := $(BASE_CFLAGS) -include lib/base/banned.h -Ilib -I$(O)/gen $(DEP_CFLAGS) $(CFLAGS)
# The recorder is an island: it sees its own headers and nothing of the host side.
REC_CFLAGS := $(BASE_CFLAGS) -include lib/base/banned.h -fPIC -fvisibility=hidden -ffunction-sections -fdata-sections -Ilib/recorder $(CFLAGS)
ALL_LDFLAGS := $(SANFLAGS) $(LDFLAGS)

# --- sources: a module is a folder of lib/, and has at most one floor of rooms below it ----------------
MODULES := base object debug index demangle dump names symbolize classify flame
not_src = %_test.c %_fuzz.c %_bench.c %/failmalloc.c
absent_optional := $(if $(have_archive),%/packed_none.c,%/packed_libarchive.c %/libarchive_calls.c) $(if $(have_lzma),%/xz_section_none.c,%/xz_section.c) \
                   $(if $(have_deflate),%/deflate_zlib.c,%/deflate_libdeflate.c) \
                   $(if $(have_debuginfod),%/symbol_server_none.c,%/symbol_server_debuginfod.c)
lib_src := $(filter-out $(not_src) $(absent_optional),$(foreach m,$(MODULES),$(wildcard lib/$(m)/*.c lib/$(m)/*/*.c)))
# The system and the processor of the host, or of a cross compiler.
linux   := $(filter Linux,$(shell uname -s))
machine := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine 2>/dev/null || uname -m)))
# Not those of the host for another processor.
have_glib := $(if $(filter $(machine),$(shell uname -m)),$(call have,glib-2.0))
cmds    := $(filter-out $(if $(linux),,stallrec),$(patsubst cmd/%.c,%,$(wildcard cmd/stall*.c)))
# Files compiled into the library as bytes: rule files, and the script and style of the SVG.
embeds  := $(wildcard lib/classify/rules/*.rules lib/flame/svg/*.js lib/flame/svg/*.css)
embed_src := $(patsubst %,$(O)/gen/%.c,$(notdir $(embeds)))

include lib/recorder/recorder.mk

cli_obj := $(patsubst %.c,$(O)/obj/%.o,$(wildcard cmd/cli*.c))
lib_obj := $(lib_src:%.c=$(O)/obj/%.o) $(embed_src:%.c=%.o)
test_src := $(filter-out $(rec_other),$(wildcard lib/*/*_test.c lib/*/*/*_test.c))
fuzz_src := $(filter-out $(rec_other),$(wildcard lib/*/*_fuzz.c lib/*/*/*_fuzz.c))
bench_src := $(filter-out $(rec_other),$(wildcard lib/*/*_bench.c lib/*/*/*_bench.c))
tests   := $(test_src:lib/%.c=$(O)/test/%)
fuzzers := $(fuzz_src:lib/%.c=$(O)/fuzz/%) $(fuzzers_elsewhere)
benches := $(bench_src:lib/%.c=$(O)/bench/%)
app_src := $(if $(linux),$(filter-out $(absent_apps),$(wildcard testdata/apps/*.c)))
apps    := $(app_src:testdata/apps/%.c=$(O)/apps/%)

LIB     := $(O)/libstallkit.a
RECLIB  := $(O)/libstallrec.a
PRELOAD := $(O)/lib/libstallrec-preload.so
bins    := $(cmds:%=$(O)/bin/%)

# --- targets -----------------------------------------------------------------------------------
.PHONY: all demo test bench soak fuzz install uninstall format format-check clean help lib-% bootstrap

all: $(LIB) $(bins) $(RECLIB) $(if $(preload_src),$(PRELOAD))

$(LIB): $(lib_obj)
	$(call say,AR,$@)
	$(Q)mkdir -p $(@D) && rm -f $@ && ar rcs $@ $^

$(RECLIB): $(rec_obj)
	$(call say,AR,$@)
	$(Q)mkdir -p $(@D) && rm -f $@ && ar rcs $@ $^

$(PRELOAD): $(preload_obj) | $(O)/flags
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) -shared $(ALL_LDFLAGS) -o $@ $(preload_obj) -Wl,-z,now $(if $(SAN),,-Wl,-z,defs) $(PRELOAD_LDFLAGS) $(REC_LIBS)

# Who builds the recorder's library alone needs nothing of the host's side.
rec_needs := $(if $(filter-out %/libstallrec.a,$(or $(MAKECMDGOALS),all)),$(O)/needs)
$(O)/obj/lib/recorder/%.o: lib/recorder/%.c $(O)/flags | $(rec_needs)
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(REC_CFLAGS) $(REC_CFLAGS_$(*F)) -MMD -MP -c -o $@ $<

$(O)/obj/%.o: %.c $(O)/flags | $(O)/needs
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(O)/obj/lib/object/libarchive_calls.o: ALL_CFLAGS += -DSTALLKIT_LIBARCHIVE_DIR='"$(shell $(PKG_CONFIG) --variable=libdir libarchive)"'
$(patsubst %.c,$(O)/obj/%.o,$(filter lib/debug/% lib/index/% lib/demangle/% lib/dump/json/% lib/classify/keys/%,$(lib_src))): ALL_CFLAGS += $(HOT)
$(patsubst %.c,$(O)/obj/%.o,$(wildcard cmd/stallrec.c cmd/recorde*.c)): ALL_CFLAGS += -Ilib/recorder
$(O)/obj/cmd/recorded_program.o: ALL_CFLAGS += -DSTALLKIT_LIBDIR='"$(LIBDIR)"'

$(O)/gen/%.o: $(O)/gen/%.c $(O)/flags | $(O)/needs
	$(Q)$(CC) $(BASE_CFLAGS) -c -o $@ $<

vpath %.rules lib/classify/rules
vpath %.js lib/flame/svg
vpath %.css lib/flame/svg
$(O)/gen/%.c: % scripts/embed
	$(call say,EMBED,$<)
	$(Q)mkdir -p $(@D) && scripts/embed $< > $@

# What one command has beside its main file.
$(O)/bin/stallrec: $(O)/obj/cmd/recorded_program.o $(O)/obj/cmd/recorder_answers.o $(O)/obj/cmd/recorder_attach.o $(O)/obj/cmd/recorder_settings.o
$(O)/bin/stalladdr: $(O)/obj/cmd/demangle_filter.o
$(O)/bin/stallclassify: $(patsubst %.c,$(O)/obj/%.o,$(wildcard cmd/classify_*.c))
$(O)/bin/stallflame: $(patsubst %.c,$(O)/obj/%.o,$(wildcard cmd/flame_*.c) cmd/classify_rules.c)
$(O)/bin/%: $(O)/obj/cmd/%.o $(cli_obj) $(LIB) $(RECLIB)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(DEP_LIBS) $(REC_LIBS) -lm -lpthread

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

# The programs that the demo and the tests record.
$(O)/apps/%: testdata/apps/%.c $(RECLIB) $(O)/flags
	$(call say,APP,$@)
	$(Q)mkdir -p $(@D) && $(CC) -std=c11 -D_GNU_SOURCE -g -O2 -Wall -Wextra $(if $(filter 1,$(WERROR)),-Werror) $(SANFLAGS) \
	  -Ilib/recorder $(APP_CFLAGS_$*) -MMD -MP $(LDFLAGS) -o $@ $(filter %.c %.o,$^) $(RECLIB) $(APP_LIBS_$*) $(REC_LIBS) -lm -lpthread

# Rebuild when the compiler, the flags or the libraries that were found change. Programs of a library that is gone must not stay.
recorded = $(CC) $(ALL_CFLAGS) $(REC_CFLAGS) $(ALL_LDFLAGS) $(DEP_LIBS) found: $(found)
$(O)/flags: FORCE
	@mkdir -p $(O); echo '$(recorded)' | cmp -s - $@ || \
	  { rm -f $(absent_apps:testdata/apps/%.c=$(O)/apps/%); echo '$(recorded)' > $@; }

# Before anything of the host's side is compiled for this machine: is everything there, or which package is missing and what installs it?
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

bootstrap:
	$(Q)scripts/bootstrap

demo: bootstrap
	$(Q)$(MAKE) --no-print-directory all $(apps)
	$(Q)O=$(O) scripts/demo

test: bootstrap
	$(Q)$(MAKE) --no-print-directory test-run

# The long ones first: run-tests runs several at once.
long_tests := $(addprefix scripts/test/,guards aarch64 stallrec viewers darwin demo detectors go-zdebug adapters layers dependencies)
test-run: all $(tests) $(fuzzers) $(apps)
	$(Q)O=$(O) REAL=$(abspath $(REAL)) CC='$(CC)' SAN='$(SAN)' scripts/run-tests $(long_tests) scripts/check-layers scripts/check-ios-api \
	  $(filter-out $(long_tests),$(filter-out %.js %.xsd,$(wildcard scripts/test/*))) $(tests)

bench: all $(benches) $(apps)
	$(Q)for b in $(benches) $(wildcard scripts/bench/*); do O=$(O) REAL=$(abspath $(REAL)) $$b || exit 1; done

soak: all $(tests) $(apps)
	$(Q)for s in $(wildcard scripts/soak/*); do O=$(O) REAL=$(abspath $(REAL)) $$s || exit 1; done

fuzz: $(fuzzers)
	$(Q)O=$(O) REAL=$(abspath $(REAL)) scripts/fuzz $(fuzzers)

install: all
	install -d $(DESTDIR)$(BINDIR) $(DESTDIR)$(LIBDIR)/stallkit $(DESTDIR)$(INCDIR) $(DESTDIR)$(DATADIR)/stallkit/rules \
	  $(DESTDIR)$(MANDIR)/man1 $(DESTDIR)$(MANDIR)/man3 $(DESTDIR)$(MANDIR)/man5 $(DESTDIR)$(MANDIR)/man7
	install -m 755 $(bins) $(DESTDIR)$(BINDIR)
	install -m 644 $(RECLIB) $(DESTDIR)$(LIBDIR)
	$(if $(preload_src),install -m 755 $(PRELOAD) $(DESTDIR)$(LIBDIR)/stallkit)
	install -m 644 $(wildcard lib/recorder/stallrec*.h) $(DESTDIR)$(INCDIR)
	install -m 644 $(wildcard lib/classify/rules/*.rules) $(DESTDIR)$(DATADIR)/stallkit/rules
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
#: make test         every test; the last line is `N passed, N failed`
#: make lib-NAME     build and test one module of lib/
#: make bench        ratios against the peers found installed
#: make soak         long runs
#: make fuzz         replay the corpora (FUZZER=1 CC=clang: fuzz for FUZZ_SECONDS each)
#: make install      DESTDIR= PREFIX= BINDIR= LIBDIR= INCDIR= MANDIR=
#: make uninstall    remove what install put there
#: make format       clang-format in place; format-check only looks
#: make clean        remove the build folder
#: knobs: O=DIR (build folder)  V=1 (show commands)  DEBUG=1 (-O0)  SAN=address,undefined | thread  WERROR=1  CC=clang

# Not those of other builds below $(O), which tests may be writing at the time.
-include $(shell find $(O)/obj $(O)/apps -name '*.d' -type f 2>/dev/null)
