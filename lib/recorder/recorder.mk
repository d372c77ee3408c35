# The rooms of the recorder: those of every system, and those of this one. The files of darwin/ that
# call no function of the system are in every build, so that their tests run everywhere. Programs
# are recorded on Linux only.
rec_everywhere := support core loop files spool replay
rec_here := $(if $(linux),linux unwind attach,darwin)
darwin_portable := fp_walk macho_image unwind_info xnu_wait
# Files that are left out: those for other processors and, on systems other than Linux, the folders
# for Linux, the tests of the whole recorder and the tests on the stand-in for Mach.
rec_other := $(if $(filter aarch64 arm64,$(machine)),%_x86_64.c %_x86_64_test.c,%_aarch64.c %_aarch64_test.c) \
             $(if $(linux),,lib/recorder/linux/% lib/recorder/unwind/% lib/recorder/attach/% lib/recorder/preload/% $(wildcard lib/recorder/*_test.c) %_darwin_test.c)
rec_in = $(filter-out $(not_src) $(rec_other),$(wildcard $(1:%=lib/recorder/%/*.c)))
rec_top := $(filter-out $(not_src),$(wildcard lib/recorder/*.c))
rec_src := $(rec_top) $(filter-out $(if $(have_glib),,%/adapter_glib_linux.c),$(call rec_in,$(rec_everywhere) $(rec_here))) \
           $(if $(linux),$(darwin_portable:%=lib/recorder/darwin/%.c))
# The objects of the preloaded library: all but those that only the command, and programs that call
# the recorder, use.
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
# The functions that only Linux has are declared only if _GNU_SOURCE is defined. It is defined here,
# because banned.h includes headers before a file could define it.
$(foreach f,$(notdir $(basename $(wildcard $(patsubst %,lib/recorder/%.c,linux/* attach/* preload/* *_linux_test unwind/*_test)))),\
  $(eval REC_CFLAGS_$(f) := -D_GNU_SOURCE))
# Tests compare stacks with those of libunwind, if it is installed; the recorder does not use it.
UNWIND_LIBS := $(shell $(PKG_CONFIG) --libs libunwind 2>/dev/null)
REC_LIBS_unwind_test := -lm $(UNWIND_LIBS)
REC_CFLAGS_unwind_test += $(if $(UNWIND_LIBS),-DHAVE_LIBUNWIND)
# Tests also unwind the copied stack of a sampled thread with libunwind, by its interface for other
# address spaces.
UNWIND_REMOTE_LIBS := $(shell $(PKG_CONFIG) --libs libunwind-generic 2>/dev/null)
# libgcc_s comes first, so that exceptions use it and not the functions of libunwind, which write to
# return addresses.
REC_LIBS_samples_test := -Wl,--push-state,--no-as-needed -lgcc_s -Wl,--pop-state -lm -ldl $(UNWIND_REMOTE_LIBS)
REC_CFLAGS_samples_test := -D_GNU_SOURCE -Wno-alloca -fno-builtin $(if $(UNWIND_REMOTE_LIBS),-DHAVE_LIBUNWIND_REMOTE)
# The preloaded library exports only the functions that it interposes, because a program may have
# its own libstallrec.
PRELOAD_LDFLAGS := -Wl,--version-script=lib/recorder/preload/preload.map -Wl,--gc-sections -Wl,-z,noseparate-code
# Tests may use other modules: the reader of dumps, and the allocator that fails on demand.
$(foreach f,$(filter-out unwind_test,$(notdir $(basename $(rec_tests)))),$(eval REC_CFLAGS_$(f) += -Ilib $$(DEP_CFLAGS)))
# An app carries all of it, so small counts more than fast: but for what runs on the app's own threads, what it waits for while it is
# sampled, and the walk of each sample.
rec_fast := hooks inbox loop loop_finder finder_around finder_belief finder_candidates finder_finish finder_log finder_object finder_rivals signal_linux copy_linux unwind fp_walk
$(foreach f,$(filter-out $(rec_fast),$(notdir $(basename $(filter-out $(not_src),$(wildcard lib/recorder/*.c lib/recorder/*/*.c))))),$(eval REC_CFLAGS_$(f) += $(if $(filter 1,$(DEBUG)),,-Os)))
# The functions in which a thread waits save its frame pointer in a frame that can be found from sp
# (adapter_wait.h). Without optimisation, or with a sanitizer, the compiler uses that register
# itself. On other processors functions save it by default.
$(foreach f,$(if $(SAN)$(filter 1,$(DEBUG))$(filter-out x86_64,$(machine)),,adapter_poll adapter_epoll_linux adapter_glib_linux preload_waits),\
  $(eval REC_CFLAGS_$(f) += -fomit-frame-pointer -DREC_SAVES_FRAME_POINTER))
# Tests of the unwinder need frames whose size is known only at run time.
REC_CFLAGS_unwind_test += -Wno-alloca
REC_CFLAGS_unwind_recover_test += -Wno-alloca
REC_CFLAGS_unwind_link_aarch64_test += -Wno-alloca
REC_CFLAGS_capture_linux_test += -Wno-alloca -fno-builtin
REC_CFLAGS_threads_linux_test += -fno-builtin
REC_LIBS_capture_linux_test := -ldl
REC_LIBS_copy_linux_test := -ldl
REC_LIBS_platform_linux_test := -ldl

# Adapters: each is one object, which the linker takes from the library only for programs that call
# it.
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
# On systems other than Darwin the CFRunLoop adapter is compiled for tests only, which run it on a
# stand-in for CoreFoundation.
ifneq ($(linux),)
cf_obj := $(O)/obj/lib/recorder/darwin/adapter_cfrunloop.o $(O)/obj/testdata/corefoundation/corefoundation.o
REC_CFLAGS_adapter_cfrunloop := -Itestdata/corefoundation
REC_CFLAGS_adapter_cfrunloop_test += -Itestdata/corefoundation
APP_CFLAGS_cfrunloop_app := -Itestdata/corefoundation
$(O)/test/recorder/darwin/adapter_cfrunloop_test $(O)/apps/cfrunloop_app: $(cf_obj)
endif

# The other files for Darwin are also compiled for tests only, as for an iPhone, and run on a
# stand-in for Mach.
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

# The files of the unwinder for AArch64 are compiled a second time, so that it can be fuzzed on any
# processor.
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
