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
DWARF_CFLAGS := $(call pkg_cflags,libdwarf,$(if $(wildcard /usr/include/libdwarf/dwarf.h),-I/usr/include/libdwarf))
DEP_CFLAGS := $(DWARF_CFLAGS) $(call pkg_cflags,libelf,) $(call pkg_cflags,jansson,)
DEP_LIBS   := $(call pkg_libs,libdwarf,-ldwarf) $(call pkg_libs,libelf,-lelf) \
              $(call pkg_libs,jansson,-ljansson) $(call pkg_libs,libzstd,-lzstd) \
              $(call pkg_libs,zlib,-lz) -liberty
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
CFLAGS   ?=
BASE_CFLAGS := -std=c11 -D_POSIX_C_SOURCE=200809L -D_DEFAULT_SOURCE -D_FILE_OFFSET_BITS=64 -g $(OPT) $(WARN) \
               $(SANFLAGS) -DSTALLKIT_VERSION='"$(VERSION)"'
ALL_CFLAGS := $(BASE_CFLAGS) -include lib/base/banned.h -Ilib -I$(O)/gen $(DEP_CFLAGS) $(CFLAGS)
# The recorder is an island: it sees its own headers and nothing of the host side.
REC_CFLAGS := $(BASE_CFLAGS) -include lib/base/banned.h -fPIC -fvisibility=hidden -Ilib/recorder $(CFLAGS)
ALL_LDFLAGS := $(SANFLAGS) $(LDFLAGS)

# --- sources -----------------------------------------------------------------------------------
MODULES := base object debug index demangle dump names symbolize classify flame
not_src = %_test.c %_fuzz.c %_bench.c %/failmalloc.c
lib_src := $(filter-out $(not_src),$(foreach m,$(MODULES),$(wildcard lib/$(m)/*.c)))
rec_all := $(filter-out $(not_src),$(wildcard lib/recorder/*.c))
# One file per platform and adapter; the build picks those of the host. Programs are recorded on Linux only.
linux   := $(filter Linux,$(shell uname -s))
on_linux := $(wildcard lib/recorder/preload*.c)
preload_src := $(if $(linux),$(on_linux))
rec_other := $(if $(linux),%darwin.c %cfrunloop.c,%linux.c lib/recorder/unwind%.c)
rec_src := $(filter-out $(on_linux) $(rec_other),$(rec_all))
cmds    := $(filter-out $(if $(linux),,stallrec),$(patsubst cmd/%.c,%,$(wildcard cmd/stall*.c)))
# Files compiled into the library as bytes: rule files, and the script and style of the SVG.
embeds  := $(wildcard lib/classify/rules/*.rules lib/flame/*.js lib/flame/*.css)
embed_src := $(patsubst %,$(O)/gen/%.c,$(notdir $(embeds)))

cli_obj := $(patsubst %.c,$(O)/obj/%.o,$(wildcard cmd/cli*.c))
lib_obj := $(lib_src:%.c=$(O)/obj/%.o) $(embed_src:%.c=%.o)
rec_obj := $(rec_src:%.c=$(O)/obj/%.o)
preload_obj := $(preload_src:%.c=$(O)/obj/%.o)
test_src := $(wildcard lib/*/*_test.c)
fuzz_src := $(wildcard lib/*/*_fuzz.c)
bench_src := $(wildcard lib/*/*_bench.c)
tests   := $(test_src:lib/%.c=$(O)/test/%)
fuzzers := $(fuzz_src:lib/%.c=$(O)/fuzz/%)
benches := $(bench_src:lib/%.c=$(O)/bench/%)
app_src := $(if $(linux),$(wildcard testdata/apps/*.c))
apps    := $(app_src:testdata/apps/%.c=$(O)/apps/%)

LIB     := $(O)/libstallkit.a
RECLIB  := $(O)/libstallrec.a
PRELOAD := $(O)/lib/libstallrec-preload.so
bins    := $(cmds:%=$(O)/bin/%)

include lib/recorder/recorder.mk

# --- targets -----------------------------------------------------------------------------------
.PHONY: all demo test bench soak fuzz install uninstall format format-check clean help lib-% bootstrap

all: $(LIB) $(bins) $(RECLIB) $(if $(preload_src),$(PRELOAD))

$(LIB): $(lib_obj)
	$(call say,AR,$@)
	$(Q)mkdir -p $(@D) && rm -f $@ && ar rcs $@ $^

$(RECLIB): $(rec_obj)
	$(call say,AR,$@)
	$(Q)mkdir -p $(@D) && rm -f $@ && ar rcs $@ $^

# All of the recorder but what only tests and the command use.
preload_all := $(preload_obj) $(filter-out %/replay.o %/replay_fake.o,$(rec_obj))
$(PRELOAD): $(preload_all) | $(O)/flags
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) -shared $(ALL_LDFLAGS) -o $@ $(preload_all) -Wl,-z,now $(if $(SAN),,-Wl,-z,defs) $(PRELOAD_LDFLAGS) $(REC_LIBS)

$(O)/obj/lib/recorder/%.o: lib/recorder/%.c $(O)/flags
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(REC_CFLAGS) $(REC_CFLAGS_$*) -MMD -MP -c -o $@ $<

$(O)/obj/%.o: %.c $(O)/flags
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(O)/obj/cmd/stallrec.o: ALL_CFLAGS += -DSTALLKIT_LIBDIR='"$(LIBDIR)"'

$(O)/gen/%.o: $(O)/gen/%.c $(O)/flags
	$(Q)$(CC) $(BASE_CFLAGS) -c -o $@ $<

vpath %.rules lib/classify/rules
vpath %.js lib/flame
vpath %.css lib/flame
$(O)/gen/%.c: % scripts/embed
	$(call say,EMBED,$<)
	$(Q)mkdir -p $(@D) && scripts/embed $< > $@

# What one command has beside its main file.
$(O)/bin/stallrec: $(O)/obj/cmd/recorded_program.o
$(O)/bin/%: $(O)/obj/cmd/%.o $(cli_obj) $(LIB) $(RECLIB)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(DEP_LIBS) $(REC_LIBS) -lpthread

# Tests can make any allocation fail (lib/base/failmalloc.h).
fail_obj := $(O)/obj/lib/base/failmalloc.o
fail_ld  := $(if $(linux),$(addprefix -Wl$(comma)--wrap=,\
            malloc calloc realloc free strdup strndup pthread_create),)

# Unit tests, fuzzers and benchmarks may include anything of their own module.
$(O)/test/recorder/%: $(O)/obj/lib/recorder/%.o $(fail_obj) $(RECLIB) $(LIB)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_LDFLAGS) $(fail_ld) -o $@ $^ $(call pkg_libs,cmocka,-lcmocka) $(REC_LIBS) $(REC_LIBS_$*) $(DEP_LIBS) -lpthread
$(O)/test/%: $(O)/obj/lib/%.o $(fail_obj) $(LIB)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_LDFLAGS) $(fail_ld) -o $@ $^ $(call pkg_libs,cmocka,-lcmocka) $(DEP_LIBS) -lpthread
$(O)/bench/%: $(O)/obj/lib/%.o $(LIB) $(RECLIB)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_LDFLAGS) -o $@ $^ $(DEP_LIBS) $(REC_LIBS) -lpthread
# With FUZZER=1 (clang) a fuzzer runs for ever; else it replays the corpus files it is given.
$(O)/fuzz/%: $(O)/obj/lib/%.o $(if $(FUZZER),,$(O)/obj/scripts/fuzz_replay.o) $(LIB) $(RECLIB)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_LDFLAGS) $(if $(FUZZER),-fsanitize=fuzzer) -o $@ $^ $(DEP_LIBS) $(REC_LIBS) -lpthread

# The programs that the demo and the tests record.
$(O)/apps/%: testdata/apps/%.c $(RECLIB) $(O)/flags
	$(call say,APP,$@)
	$(Q)mkdir -p $(@D) && $(CC) -std=c11 -D_GNU_SOURCE -g -O2 -Wall -Wextra $(if $(filter 1,$(WERROR)),-Werror) $(SANFLAGS) \
	  -Ilib/recorder -MMD -MP -o $@ $< $(RECLIB) $(REC_LIBS) -lm -lpthread

# Rebuild when the compiler or the flags change.
$(O)/flags: FORCE
	@mkdir -p $(O); echo '$(CC) $(ALL_CFLAGS) $(REC_CFLAGS) $(ALL_LDFLAGS) $(DEP_LIBS)' | cmp -s - $@ || \
	  echo '$(CC) $(ALL_CFLAGS) $(REC_CFLAGS) $(ALL_LDFLAGS) $(DEP_LIBS)' > $@
.PHONY: FORCE
FORCE:

.SECONDARY:

# One module and its tests: `make lib-flame`.
lib-%: $(O)/flags
	$(Q)$(MAKE) --no-print-directory $(patsubst lib/%.c,$(O)/test/%,$(wildcard lib/$*/*_test.c))
	$(Q)O=$(O) REAL=$(abspath $(REAL)) scripts/run-tests $(patsubst lib/%.c,$(O)/test/%,$(wildcard lib/$*/*_test.c))

bootstrap:
	$(Q)scripts/bootstrap

demo: bootstrap
	$(Q)$(MAKE) --no-print-directory all $(apps)
	$(Q)O=$(O) scripts/demo

test: bootstrap
	$(Q)$(MAKE) --no-print-directory test-run

test-run: all $(tests) $(fuzzers) $(apps)
	$(Q)O=$(O) REAL=$(abspath $(REAL)) CC='$(CC)' SAN='$(SAN)' scripts/run-tests scripts/check-layers $(tests) $(wildcard scripts/test-*)

bench: all $(benches) $(apps)
	$(Q)for b in $(benches) $(wildcard scripts/bench-*); do O=$(O) REAL=$(abspath $(REAL)) $$b || exit 1; done

soak: all $(tests) $(apps)
	$(Q)for s in $(wildcard scripts/soak-*); do O=$(O) REAL=$(abspath $(REAL)) $$s || exit 1; done

fuzz: $(fuzzers)
	$(Q)O=$(O) REAL=$(abspath $(REAL)) scripts/fuzz $(fuzzers)

install: all
	install -d $(DESTDIR)$(BINDIR) $(DESTDIR)$(LIBDIR)/stallkit $(DESTDIR)$(INCDIR) $(DESTDIR)$(DATADIR)/stallkit/rules \
	  $(DESTDIR)$(MANDIR)/man1 $(DESTDIR)$(MANDIR)/man3 $(DESTDIR)$(MANDIR)/man5
	install -m 755 $(bins) $(DESTDIR)$(BINDIR)
	install -m 644 $(RECLIB) $(DESTDIR)$(LIBDIR)
	$(if $(preload_src),install -m 755 $(PRELOAD) $(DESTDIR)$(LIBDIR)/stallkit)
	install -m 644 lib/recorder/stallrec.h $(DESTDIR)$(INCDIR)
	install -m 644 $(wildcard lib/classify/rules/*.rules) $(DESTDIR)$(DATADIR)/stallkit/rules
	for s in 1 3 5; do for p in man/*.$$s; do [ ! -e $$p ] || install -m 644 $$p $(DESTDIR)$(MANDIR)/man$$s; done; done

uninstall:
	rm -f $(cmds:%=$(DESTDIR)$(BINDIR)/%) $(DESTDIR)$(LIBDIR)/libstallrec.a $(DESTDIR)$(INCDIR)/stallrec.h
	for p in man/*.[135]; do rm -f $(DESTDIR)$(MANDIR)/man$${p##*.}/$${p##*/}; done
	rm -rf $(DESTDIR)$(LIBDIR)/stallkit $(DESTDIR)$(DATADIR)/stallkit

c_files = $(shell git ls-files 'cmd/*.[ch]' 'lib/*.[ch]' 'scripts/*.[ch]' 'testdata/apps/*.[ch]')
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

-include $(shell find $(O) -name '*.d' 2>/dev/null)
