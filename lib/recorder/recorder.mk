# The rooms of the recorder: those of every system, and those of this one. The files of darwin/ that ask the system for nothing are in
# every build, so that their tests run everywhere. Programs are recorded on Linux only.
rec_everywhere := support core loop files spool replay
rec_here := $(if $(linux),linux unwind attach,darwin)
darwin_portable := fp_walk macho_image unwind_info xnu_wait
# Not for this processor; and elsewhere than on Linux its rooms, the tests of the whole recorder and those on the stand-in for Mach.
rec_other := $(if $(filter aarch64 arm64,$(machine)),%_x86_64.c %_x86_64_test.c,%_aarch64.c %_aarch64_test.c) \
             $(if $(linux),,lib/recorder/linux/% lib/recorder/unwind/% lib/recorder/attach/% lib/recorder/preload/% $(wildcard lib/recorder/*_test.c) %_darwin_test.c)
rec_in = $(filter-out $(not_src) $(rec_other),$(wildcard $(1:%=lib/recorder/%/*.c)))
rec_top := $(filter-out $(not_src),$(wildcard lib/recorder/*.c))
rec_src := $(rec_top) $(filter-out $(if $(have_glib),,%/adapter_glib_linux.c),$(call rec_in,$(rec_everywhere) $(rec_here))) \
           $(if $(linux),$(darwin_portable:%=lib/recorder/darwin/%.c))
# The preloaded library: all but what only the command and programs that call the recorder use.
preload_src := $(if $(linux),$(call rec_in,preload))
preload_parts := $(if $(linux),$(rec_top) $(preload_src) $(filter-out lib/recorder/loop/adapter_% lib/recorder/linux/adapter_%,\
                 $(call rec_in,$(filter-out replay,$(rec_everywhere)) linux unwind)))
$(O)/test/recorder/preload/preload_early_test: $(preload_src:%.c=$(O)/obj/%.o)
$(O)/test/recorder/preload/preload_order_test: $(O)/obj/lib/recorder/preload/preload_waits.o
rec_obj := $(rec_src:%.c=$(O)/obj/%.o)
preload_obj := $(preload_parts:%.c=$(O)/obj/%.o)

# Libraries of the recorder, and flags of single files of it (REC_CFLAGS_<file without .c>).
REC_LIBS := -lz -lpthread
rec_tests := $(wildcard lib/recorder/*_test.c lib/recorder/*/*_test.c)
# What is Linux's own is declared for _GNU_SOURCE only, and banned.h includes headers before a file could ask for it.
$(foreach f,$(notdir $(basename $(wildcard $(patsubst %,lib/recorder/%.c,linux/* attach/* preload/* *_linux_test unwind/*_test)))),\
  $(eval REC_CFLAGS_$(f) := -D_GNU_SOURCE))
# libunwind is an oracle in tests, where it is installed; no part of the recorder.
UNWIND_LIBS := $(shell $(PKG_CONFIG) --libs libunwind 2>/dev/null)
REC_LIBS_unwind_test := -lm $(UNWIND_LIBS)
REC_CFLAGS_unwind_test += $(if $(UNWIND_LIBS),-DHAVE_LIBUNWIND)
# It also judges the copies of a sampled thread, through the interface for other address spaces.
UNWIND_REMOTE_LIBS := $(shell $(PKG_CONFIG) --libs libunwind-generic 2>/dev/null)
# libgcc_s comes first: exceptions are to use it, not what libunwind has for them, which writes to return addresses.
REC_LIBS_samples_test := -Wl,--push-state,--no-as-needed -lgcc_s -Wl,--pop-state -lm -ldl $(UNWIND_REMOTE_LIBS)
REC_CFLAGS_samples_test := -D_GNU_SOURCE -Wno-alloca -fno-builtin $(if $(UNWIND_REMOTE_LIBS),-DHAVE_LIBUNWIND_REMOTE)
# The preloaded library shows the program only what it interposes: a program may have a libstallrec of its own.
PRELOAD_LDFLAGS := -Wl,--version-script=lib/recorder/preload/preload.map -Wl,--gc-sections -Wl,-z,noseparate-code
# Tests may use what the host side has: the reader of what the recorder writes, allocations that fail.
$(foreach f,$(filter-out unwind_test,$(notdir $(basename $(rec_tests)))),$(eval REC_CFLAGS_$(f) += -Ilib $$(DEP_CFLAGS)))
# An app carries all of it, so small counts more than fast: but for what runs on the app's own threads, what it waits for while it is
# sampled, and the walk of each sample.
rec_fast := hooks inbox loop loop_finder finder_log finder_rivals signal_linux copy_linux unwind fp_walk
$(foreach f,$(filter-out $(rec_fast),$(notdir $(basename $(filter-out $(not_src),$(wildcard lib/recorder/*.c lib/recorder/*/*.c))))),$(eval REC_CFLAGS_$(f) += $(if $(filter 1,$(DEBUG)),,-Os)))
# The functions that a thread waits in save its frame pointer in a frame that sp leads to (adapter_wait.h), where the compiler lets them.
$(foreach f,$(if $(SAN)$(filter 1,$(DEBUG)),,adapter_poll adapter_epoll_linux adapter_glib_linux preload_waits),\
  $(eval REC_CFLAGS_$(f) += -fomit-frame-pointer -DREC_SAVES_FRAME_POINTER))
# Tests of the unwinder need frames of a size that only run time tells.
REC_CFLAGS_unwind_test += -Wno-alloca
REC_CFLAGS_unwind_recover_test += -Wno-alloca
REC_CFLAGS_unwind_link_aarch64_test += -Wno-alloca
REC_CFLAGS_capture_linux_test += -Wno-alloca -fno-builtin
REC_CFLAGS_threads_linux_test += -fno-builtin
REC_LIBS_capture_linux_test := -ldl
REC_LIBS_copy_linux_test := -ldl
REC_LIBS_platform_linux_test := -ldl

# Adapters: one object each, which only programs that call it take from the library.
ifneq ($(have_glib),)
GLIB_CFLAGS := $(shell $(PKG_CONFIG) --cflags glib-2.0)
GLIB_LIBS := $(shell $(PKG_CONFIG) --libs glib-2.0)
REC_CFLAGS_adapter_glib_linux += $(GLIB_CFLAGS)
REC_CFLAGS_adapter_glib_linux_test += -DHAVE_GLIB $(GLIB_CFLAGS)
REC_LIBS_adapter_glib_linux_test := $(GLIB_LIBS)
endif
have_gtk := $(if $(have_glib),$(call have,gtk+-3.0))
absent_apps := $(if $(have_glib),,testdata/apps/glib_app.c) $(if $(have_gtk),,testdata/apps/gtk_app.c)
APP_CFLAGS_glib_app = $(GLIB_CFLAGS)
APP_LIBS_glib_app = $(GLIB_LIBS)
ifneq ($(have_gtk),)
APP_CFLAGS_gtk_app := $(shell $(PKG_CONFIG) --cflags gtk+-3.0)
APP_LIBS_gtk_app := $(shell $(PKG_CONFIG) --libs gtk+-3.0)
endif
# Elsewhere than on Darwin the CFRunLoop adapter is for tests only, and runs on the stand-in.
ifneq ($(linux),)
cf_obj := $(O)/obj/lib/recorder/darwin/adapter_cfrunloop.o $(O)/obj/testdata/corefoundation/corefoundation.o
REC_CFLAGS_adapter_cfrunloop := -Itestdata/corefoundation
REC_CFLAGS_adapter_cfrunloop_test += -Itestdata/corefoundation
APP_CFLAGS_cfrunloop_app := -Itestdata/corefoundation
$(O)/test/recorder/darwin/adapter_cfrunloop_test $(O)/apps/cfrunloop_app: $(cf_obj)
endif

# So are the files of Darwin, on the stand-in for Mach, as on an iPhone.
ifneq ($(linux),)
mach_src := task_darwin images_darwin threads_darwin capture_darwin platform_darwin device_darwin spool_darwin
mach_obj := $(mach_src:%=$(O)/obj/lib/recorder/darwin/%.o) $(O)/obj/testdata/mach/mach.o $(O)/obj/testdata/mach/libc.o
mach_test := $(filter %_darwin_test,$(notdir $(basename $(rec_tests))))
$(foreach f,$(mach_src) $(mach_test),$(eval REC_CFLAGS_$(f) += -D__arm64__ -Itestdata/mach -include testdata/mach/darwin.h))
REC_CFLAGS_spool_darwin += -DSTANDIN_FCNTL
$(foreach f,$(mach_test),$(eval REC_LIBS_$(f) := -Wl,--wrap=pthread_mutex_lock))
$(O)/obj/testdata/mach/mach.o $(O)/obj/testdata/mach/libc.o: ALL_CFLAGS += -Itestdata/mach
$(mach_test:%=$(O)/test/recorder/darwin/%): $(mach_obj)
endif

# The unwinder for AArch64, fuzzed on any processor: the same files once more.
ifneq ($(linux),)
as_aarch64 := $(patsubst %,$(O)/obj/as-aarch64/%.o,unwind unwind_recover unwind_link_aarch64 prologue_aarch64 cfi cfi_cursor cfi_program cfi_expr unwind_fuzz)
fuzzers_elsewhere := $(O)/fuzz/recorder/unwind/unwind_aarch64_fuzz
$(as_aarch64): $(O)/obj/as-aarch64/%.o: lib/recorder/unwind/%.c $(O)/flags
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(REC_CFLAGS) -DSTALLREC_AS_AARCH64 -MMD -MP -c -o $@ $<
$(O)/fuzz/recorder/unwind/unwind_aarch64_fuzz: $(as_aarch64) $(if $(FUZZER),,$(O)/obj/scripts/fuzz_replay.o)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_LDFLAGS) $(if $(FUZZER),-fsanitize=fuzzer) -o $@ $^ -lpthread
endif
