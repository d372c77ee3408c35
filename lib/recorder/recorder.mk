# Libraries of the recorder, and flags of single files of it (REC_CFLAGS_<file without .c>).
REC_LIBS := -lz -lpthread
# What is Linux's own is declared for _GNU_SOURCE only, and banned.h includes headers before a file could ask for it.
$(foreach f,$(notdir $(basename $(wildcard lib/recorder/*linux*.c lib/recorder/preload*.c lib/recorder/unwind*_test.c))),\
  $(eval REC_CFLAGS_$(f) := -D_GNU_SOURCE))
# libunwind is an oracle in tests, where it is installed; no part of the recorder.
UNWIND_LIBS := $(shell $(PKG_CONFIG) --libs libunwind 2>/dev/null)
REC_LIBS_unwind_test := -lm $(UNWIND_LIBS)
REC_CFLAGS_unwind_test += $(if $(UNWIND_LIBS),-DHAVE_LIBUNWIND)
# The preloaded library shows the program only what it interposes: a program may have a libstallrec of its own.
PRELOAD_LDFLAGS := -Wl,--version-script=lib/recorder/preload.map
# Tests may use what the host side has: the reader of what the recorder writes, allocations that fail.
$(foreach f,$(filter-out unwind_test,$(notdir $(basename $(wildcard lib/recorder/*_test.c)))),$(eval REC_CFLAGS_$(f) += -Ilib $$(DEP_CFLAGS)))
# Written after the stall, and not often: small counts more than fast.
REC_CFLAGS_dump_json := -Os
# Tests of the unwinder need frames of a size that only run time tells.
REC_CFLAGS_unwind_test += -Wno-alloca
REC_CFLAGS_unwind_recover_test += -Wno-alloca
REC_CFLAGS_capture_linux_test += -Wno-alloca -fno-builtin
REC_CFLAGS_threads_linux_test += -fno-builtin
REC_LIBS_capture_linux_test := -ldl
REC_LIBS_platform_linux_test := -ldl
