/* Reads Apple's compact unwind information, section __TEXT,__unwind_info, which holds for each
 * function how it keeps its frame.
 *
 * Pure code over memory that is read with checks, so that an image that is unloaded meanwhile, or
 * damaged, only makes a look-up fail. Nothing here allocates or locks.
 *
 * Source of the format: <mach-o/compact_unwind_encoding.h> of Apple's open libunwind and dyld. */
#ifndef STALLREC_UNWIND_INFO_H
#define STALLREC_UNWIND_INFO_H

#include "darwin/memory_read.h"

/* The CPUs on which Darwin runs today. Each has encodings of its own. */
enum unwind_cpu { UNWIND_ARM64, UNWIND_X86_64 };

/* The section of one image. */
struct unwind_info {
    struct memory memory;
    uint64_t address, size; /* address and size of the section; size 0: there is none */
    uint64_t base;          /* address from which offsets count: the image's Mach header */
};

/* The content of one entry. Linkers merge neighbouring functions of equal encoding into one entry,
 * so it starts with a function, but may cover several. */
struct unwind_info_entry {
    uint64_t start, end;
    uint32_t encoding; /* 0: nothing is known about the code */
};

enum unwind_info_status {
    UNWIND_INFO_OK,
    UNWIND_INFO_NONE, /* no entry covers the address, or there is no section */
    UNWIND_INFO_BAD   /* the section is damaged, or cannot be read */
};

/* Finds the entry that covers `address`, which is any address inside the instruction. *out is
 * written on UNWIND_INFO_OK only; then start <= address < end. */
enum unwind_info_status unwind_info_find_async(const struct unwind_info *info, uint64_t address,
                                               struct unwind_info_entry *out);

enum unwind_rule_kind {
    UNWIND_RULE_NONE = 0, /* the encoding has no rule */
    UNWIND_RULE_FRAME,    /* the frame record is at the frame pointer */
    UNWIND_RULE_FIXED,   /* there is no frame record; the stack pointer is moved by stack_size bytes
                          */
    UNWIND_RULE_IN_CODE, /* same as UNWIND_RULE_FIXED, but the 32-bit value in the code at the
                            function's start + size_at is added to stack_size */
    UNWIND_RULE_DWARF    /* the rule is in .eh_frame */
};

struct unwind_rule {
    enum unwind_rule_kind kind;
    uint32_t stack_size; /* bytes by which the stack pointer is moved; on x86-64 with the return
                            address */
    uint32_t size_at;
};

/* Decodes the encoding of an entry in code for this CPU. */
struct unwind_rule unwind_rule_async(enum unwind_cpu cpu, uint32_t encoding);

#endif
