/* Finds the depth of a function that waits, by the call frame information of its module. */
#include <stdint.h>

#include "linux/modules_linux.h"
#include "preload/preload_private.h"
#include "unwind/cfi.h"

/* Fills in the rule of the place of `arg`, a struct preload_entry. */
static void read_entry_async(void *arg, const struct cfi_module *module) {
    struct preload_entry *entry = arg;
    struct cfi_row row;
    if (cfi_find_row_async(module, entry->place - 1, &row) == CFI_OK &&
        row.cfa.kind == CFI_IS_OFFSET && row.cfa.value == (int32_t)row.cfa.value &&
        (row.cfa.reg == CFI_SP || row.cfa.reg == CFI_FP)) {
        entry->offset = (int32_t)row.cfa.value;
        entry->from_frame = row.cfa.reg == CFI_FP;
    }
}

uint64_t preload_entry(struct thread_watch *w, const struct preload_caller *caller) {
    uint64_t place = (uint64_t)(uintptr_t)caller->place, sp = (uint64_t)(uintptr_t)caller->frame;
    uint64_t hash = place * UINT64_C(0x9e3779b97f4a7c15) >> 58;
    struct preload_entry *entry = &w->entries[hash % PRELOAD_ENTRIES];
    if (entry->place != place) {
        *entry = (struct preload_entry){.place = place};
        modules_find_async(place - 1, read_entry_async, entry);
    }
    uint64_t from = entry->from_frame ? caller->frame_pointer : sp;
    uint64_t address = from + (uint64_t)(int64_t)entry->offset;
    bool known = entry->offset != 0 && address >= sp && address < w->stack_top;
    return known ? address : sp;
}
