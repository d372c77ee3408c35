/* Functions that the fuzzers of look-ups share: they check rules that hold for every answer,
 * whatever the input. */
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

static inline void ask_address(struct lookup_source *source, uint64_t address) {
    static struct lookup_hit hit; /* static, because it is large */
    struct err e = {0};
    enum st st = lookup_address(source, address, &hit, &e);
    insist(st != ST_ERR || err_is(&e));
    if (st == ST_OK) {
        check_hit(&hit, address);
    }
}

/* Asks for addresses all over the slice, and for those of its symbols. */
static inline void ask_everywhere(struct lookup_source *source, const struct object_slice *s) {
    uint64_t base = object_slice_base(s), end = object_slice_text_end(s);
    const struct object_symbol *symbols;
    struct err e = {0};
    size_t count;
    ask_address(source, 0);
    ask_address(source, UINT64_MAX);
    for (unsigned i = 0; i < 256; i++) {
        ask_address(source, base + (end - base) / 256 * i);
    }
    if (object_symbols(s, &symbols, &count, &e) == ST_OK) {
        for (size_t i = 0; i < count && i < 1000; i++) {
            ask_address(source, symbols[i].address);
            ask_address(source, symbols[i].address + symbols[i].size - 1);
            ask_address(source, symbols[i].address + symbols[i].size);
        }
    }
}

#endif
