/* The dump model: the queries on a parsed dump. */
#include "dump/dump.h"

#include <stdlib.h>

#include "base/parse.h"
#include "base/path.h"
#include "base/search.h"
#include "dump/dump_private.h"

static const char *const symbols_texts[] = {
    [DUMP_SYMBOLS_UNSET] = "",
    [DUMP_SYMBOLS_OK] = "ok",
    [DUMP_SYMBOLS_SPLIT] = "split-dwarf",
    [DUMP_SYMBOLS_ONLY] = "symbols-only",
    [DUMP_SYMBOLS_MISSING] = "missing",
    [DUMP_SYMBOLS_UUID_MISMATCH] = "uuid-mismatch",
    [DUMP_SYMBOLS_ARCH_MISMATCH] = "arch-mismatch",
    [DUMP_SYMBOLS_NO_DEBUG_INFO] = "no-debug-info",
    [DUMP_SYMBOLS_DAMAGED] = "damaged",
};

static const char *const source_texts[] = {
    [DUMP_SOURCE_NONE] = "none",       [DUMP_SOURCE_DWARF] = "dwarf",
    [DUMP_SOURCE_SYMTAB] = "symtab",   [DUMP_SOURCE_SYSTEM] = "system",
    [DUMP_SOURCE_LEARNED] = "learned", [DUMP_SOURCE_REPORT] = "report",
};

const char *dump_symbols_text(enum dump_symbols s) {
    return symbols_texts[s];
}

bool dump_symbols_parse(const char *s, size_t len, enum dump_symbols *out) {
    size_t at;
    if (!PARSE_WORD(s, len, symbols_texts, &at)) {
        return false;
    }
    *out = (enum dump_symbols)at;
    return true;
}

const char *dump_source_text(enum dump_source s) {
    return source_texts[s];
}

bool dump_source_parse(const char *s, size_t len, enum dump_source *out) {
    size_t at;
    if (!PARSE_WORD(s, len, source_texts, &at)) {
        return false;
    }
    *out = (enum dump_source)at;
    return true;
}

void dump_release(struct dump *d) {
    if (d) {
        struct arena arena = d->arena;
        arena_release(&arena);
        *d = (struct dump){0};
    }
}

static int by_load(const void *a, const void *b) {
    const struct dump_image_order *x = a, *y = b;
    int order = COMPARE(x->load, y->load);
    return order ? order : COMPARE(x->index, y->index);
}

void dump_order_images(const struct dump_image *images, size_t count,
                       struct dump_image_order *order) {
    for (size_t i = 0; i < count; i++) {
        order[i] = (struct dump_image_order){images[i].load, (uint32_t)i};
    }
    if (count > 0) {
        qsort(order, count, sizeof *order, by_load);
    }
}

static int by_thread_id(const void *a, const void *b) {
    const struct dump_thread_order *x = a, *y = b;
    int order = COMPARE(x->id, y->id);
    return order ? order : COMPARE(x->index, y->index);
}

void dump_order_threads(const struct dump_thread *threads, size_t count,
                        struct dump_thread_order *order) {
    for (size_t i = 0; i < count; i++) {
        order[i] = (struct dump_thread_order){threads[i].id, (uint32_t)i};
    }
    if (count > 0) {
        qsort(order, count, sizeof *order, by_thread_id);
    }
}

/* The look-up of an address tries at most this many images, those with the highest loads up to the
 * address: the images of a genuine dump do not overlap, and a hostile list must not make every
 * look-up linear. */
enum { OVERLAP_STEPS = 64 };

const char *dump_image_name(const struct dump_image *image) {
    return path_name(image->name ? image->name : image->path);
}

int32_t dump_image_at(const struct dump *d, uint64_t address) {
    size_t count = d->image_order ? d->image_count : 0;
    size_t above = SEARCH_ABOVE(d->image_order, count, load, address);
    for (size_t step = 0; step < OVERLAP_STEPS && step < above; step++) {
        uint32_t index = d->image_order[above - 1 - step].index;
        const struct dump_image *image = &d->images[index];
        if (address - image->load < image->size || (image->size == 0 && step == 0)) {
            return (int32_t)index;
        }
    }
    return -1;
}

const struct dump_name *dump_name_at(const struct dump *d, uint64_t address) {
    size_t low;
    LOWER_BOUND(low, d->name_count, d->names[low].address, address);
    const struct dump_name *name = low < d->name_count ? &d->names[low] : NULL;
    return name && name->address == address && name->symbol ? name : NULL;
}

bool dump_frame_exact(const struct dump_stack *s, size_t i) {
    if (!s->exact) {
        return i == 0;
    }
    size_t low;
    LOWER_BOUND(low, s->exact_count, s->exact[low], i);
    return low < s->exact_count && s->exact[low] == i;
}

const struct dump_thread *dump_thread_by_id(const struct dump *d, int64_t id) {
    size_t count = d->thread_order ? d->thread_count : 0, low;
    LOWER_BOUND(low, count, d->thread_order[low].id, id);
    bool found = low < count && d->thread_order[low].id == id;
    return found ? &d->threads[d->thread_order[low].index] : NULL;
}

const struct dump_thread *dump_main_thread(const struct dump *d) {
    for (size_t i = 0; i < d->thread_count; i++) {
        if (d->threads[i].main) {
            return &d->threads[i];
        }
    }
    return NULL;
}

const struct dump_stack *dump_heaviest(const struct dump *d) {
    if (d->heaviest >= 0 && (uint64_t)d->heaviest < d->sample_count) {
        return &d->samples[d->heaviest];
    }
    const struct dump_stack *best = NULL;
    for (size_t i = 0; i < d->sample_count; i++) {
        if (!best || d->samples[i].count >= best->count) {
            best = &d->samples[i];
        }
    }
    const struct dump_thread *main_thread = dump_main_thread(d);
    return best || !main_thread ? best : &main_thread->stack;
}

int64_t dump_span_ms(const struct dump *d) {
    const int64_t candidates[] = {d->stall.span_ms, d->stall.duration_ms, d->stall.at_ms};
    for (size_t i = 0; i < sizeof candidates / sizeof *candidates; i++) {
        if (candidates[i] >= 0) {
            return candidates[i];
        }
    }
    return 0;
}
