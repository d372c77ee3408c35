/* Two things that x86-64 code itself tells an unwinder that lacks registers. */
#ifndef STALLREC_PROLOGUE_H
#define STALLREC_PROLOGUE_H

#include "cfi.h"

/* How far rsp is below rbp in the body of a function that sets up a frame pointer: what its
 * prologue at `start` pushes and subtracts after `mov %rsp,%rbp`. Reads at most `length` bytes.
 * False when the prologue is of another form. The answer is only as good as the prologue is plain
 * (a function may move rsp later): the caller must check what it finds there. */
bool prologue_frame_size_async(const struct cfi_module *module, uint64_t start, uint64_t length,
                               uint64_t *size);

enum prologue_call { PROLOGUE_NO_CALL, PROLOGUE_DIRECT_CALL, PROLOGUE_INDIRECT_CALL };

/* What kind of call instruction ends at `pc`; *target is set for a direct one. */
enum prologue_call prologue_call_before_async(const struct cfi_module *module, uint64_t pc,
                                              uint64_t *target);

#endif
