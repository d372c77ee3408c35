/* What the fuzzers of look-ups share: what holds for every answer, whatever the input. */
#ifndef STALLKIT_INDEX_LOOKUP_SUPPORT_FUZZ_H
#define STALLKIT_INDEX_LOOKUP_SUPPORT_FUZZ_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "index/lookup.h"

static inline void insist(bool condition) {
    if (!condition) {
        abort();
    }
}

static inline size_t touch(const char *s) {
    return s ? strlen(s) : 0;
}

static inline void check_hit(const struct lookup_hit *hit, uint64_t address) {
    insist((hit->frame_count >= 1) == (hit->quality != LOOKUP_NAMELESS));
    insist(hit->frame_count <= LOOKUP_INLINE_MAX);
    insist(hit->start <= address && address < hit->end);
    for (size_t i = 0; i < hit->frame_count; i++) {
        const struct lookup_frame *f = &hit->frames[i];
        insist(f->file || f->line == 0);
        (void)(touch(f->function) + touch(f->linkage) + touch(f->file) + touch(f->start_file));
    }
}

#endif
