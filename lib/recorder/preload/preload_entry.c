/* Finds the depth of a function that waits, by the call frame information of its module. */
#include <stdint.h>

#include "preload/preload_private.h"

uint64_t preload_entry(struct thread_watch *w, const struct preload_caller *caller) {
    uint64_t place = (uint64_t)(uintptr_t)caller->place, sp = (uint64_t)(uintptr_t)caller->frame;
    uint64_t hash = place * UINT64_C(0x9e3779b97f4a7c15) >> 58;
    struct preload_entry *entry = &w->entries[hash % PRELOAD_ENTRIES];
    if (entry->place != place) {
        if (!modules_try_hold()) {
            return sp;
        }
        *entry = (struct preload_entry){.place = place, .rule = modules_entry_async(place)};
        modules_release();
    }
    uint64_t from = entry->rule.from_frame ? caller->frame_pointer : sp;
    uint64_t address = from + (uint64_t)(int64_t)entry->rule.offset;
    bool known = entry->rule.offset != 0 && address >= sp && address < w->stack_top;
    return known ? address : sp;
}
