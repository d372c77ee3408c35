/* Apple's compact unwind information, section __TEXT,__unwind_info: how a function keeps its frame.
 *
 * Pure code over memory that is read with checks, so that an image which is unloaded meanwhile, or
 * damaged, costs an answer and no more. Nothing here allocates or locks.
 *
 * Source of the format: <mach-o/compact_unwind_encoding.h> of Apple's open libunwind and dyld. */
#ifndef STALLREC_UNWIND_INFO_H
#define STALLREC_UNWIND_INFO_H

#include "darwin/memory_read.h"

/* CPUs with encodings of their own that run anything today. */
enum unwind_cpu { UNWIND_ARM64, UNWIND_X86_64 };

/* The section of one image. */
struct unwind_info {
    struct memory memory;
    uint64_t address, size; /* of the section; size 0: there is none */
    uint64_t base;          /* what offsets count from: the image's Mach header */
};

/* The content of one entry. Linkers fold neighbours of equal encoding into one entry, so its start
 * is that of a function, but not of each function it covers. */
struct unwind_info_entry {
    uint64_t start, end;
    uint32_t encoding; /* 0: nothing is known about the code */
};

enum unwind_info_status {
    UNWIND_INFO_OK,
    UNWIND_INFO_NONE, /* no entry covers the address, or there is no section */
    UNWIND_INFO_BAD   /* damaged, or it cannot be read */
};

/* The entry that covers `address`, an address inside the instruction. *out is written on
 * UNWIND_INFO_OK only, and start <= address < end then. */
enum unwind_info_status unwind_info_find_async(const struct unwind_info *info, uint64_t address,
                                               struct unwind_info_entry *out);

enum unwind_rule_kind {
    UNWIND_RULE_NONE = 0, /* nothing is said */
    UNWIND_RULE_FRAME,    /* a frame record that the frame pointer names */
    UNWIND_RULE_FIXED,    /* no frame record; the stack pointer is moved by stack_size */
    UNWIND_RULE_IN_CODE,  /* the same; stack_size is added to the 32-bit value in the code at
                             the function's start + size_at */
    UNWIND_RULE_DWARF     /* see .eh_frame */
};

struct unwind_rule {
    enum unwind_rule_kind kind;
    uint32_t stack_size; /* bytes; x86-64: with the return address */
    uint32_t size_at;
};

struct unwind_rule unwind_rule_async(enum unwind_cpu cpu, uint32_t encoding);

#endif
