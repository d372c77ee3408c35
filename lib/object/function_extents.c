/* Where functions begin and end, whether or not they have names: from the tables that a file has
 * for debuggers and unwinders. */
#include <stdlib.h>

#include "base/search.h"
#include "base/sort.h"
#include "object/object_private.h"
#include "object/unwind_tables.h"

/* The wider one of two that begin together comes first. */
static int by_start(const void *a, const void *b) {
    const struct object_extent *x = a, *y = b;
    int order = COMPARE(x->low, y->low);
    return order ? order : COMPARE(y->high, x->high);
}

/* The sections with instructions, by address. */
static enum st code_sections(const struct object_slice *s, extent_vec *out, struct err *e) {
    for (size_t i = 0; i < s->section_count; i++) {
        const struct section *sec = &s->sections[i];
        struct object_extent x = {sec->address, sec->address + sec->size};
        if (sec->code && x.low < x.high && !VEC_PUSH(out, x)) {
            return err_nomem(e);
        }
    }
    sort_unless_sorted(out->data, out->len, sizeof *out->data, by_start);
    return ST_OK;
}

/* Makes the extents disjoint and ascending, each inside a section: one without an end reaches up to
 * the next one. */
static void settle_extents(extent_vec *v, const extent_vec *code) {
    sort_unless_sorted(v->data, v->len, sizeof *v->data, by_start);
    size_t kept = 0;
    for (size_t i = 0; i < v->len; i++) {
        struct object_extent x = v->data[i];
        size_t below = SEARCH_ABOVE(code->data, code->len, low, x.low);
        if (below == 0 || x.low >= code->data[below - 1].high ||
            (kept > 0 && v->data[kept - 1].low == x.low)) {
            continue;
        }
        uint64_t end = code->data[below - 1].high;
        if (x.high == 0 || x.high > end) {
            x.high = end;
        }
        if (kept > 0 && v->data[kept - 1].high > x.low) {
            v->data[kept - 1].high = x.low;
        }
        v->data[kept++] = x;
    }
    v->len = kept;
}

/* Appends the starts of LC_FUNCTION_STARTS. */
static enum st add_starts(const struct object_slice *s, extent_vec *out, struct err *e) {
    const uint64_t *starts;
    size_t count;
    enum st st = object_function_starts(s, &starts, &count, e);
    for (size_t i = 0; st == ST_OK && i < count; i++) {
        if (!VEC_PUSH(out, ((struct object_extent){.low = starts[i]}))) {
            return err_nomem(e);
        }
    }
    return st;
}

/* A damaged table costs what is behind the damage. */
static enum st survive(enum st st, struct err *why, struct err *e) {
    if (st == ST_ERR && why->code == ERR_NOMEM) {
        return err_nomem(e);
    }
    err_clear(why);
    return ST_OK;
}

static enum st collect(const struct object_slice *s, extent_vec *out, struct err *e) {
    struct err why = {0};
    if (s->format == OBJECT_ELF) {
        return survive(eh_frame_functions(s, out, &why), &why, e);
    }
    enum st st = survive(add_starts(s, out, &why), &why, e);
    return st == ST_OK ? survive(unwind_info_functions(s, out, &why), &why, e) : st;
}

/* *out is malloc'ed; NULL = there are none. */
static enum st build_extents(const struct object_slice *s, struct object_extent **out,
                             size_t *count, struct err *e) {
    extent_vec extents = {0}, code = {0};
    enum st st = collect(s, &extents, e);
    if (st == ST_OK) {
        st = code_sections(s, &code, e);
    }
    if (st == ST_OK) {
        settle_extents(&extents, &code);
    }
    VEC_RELEASE(&code);
    if (st != ST_OK || extents.len == 0) {
        VEC_RELEASE(&extents);
    }
    *out = extents.data;
    *count = extents.len;
    return st;
}

/* Two threads may build the table at once; the first one's is kept. */
enum st object_function_extents(const struct object_slice *s, const struct object_extent **out,
                                size_t *count, struct err *e) {
    struct lazy_table *t = &s->cache->extents;
    pthread_mutex_lock(&s->object->lock);
    bool built = t->built;
    pthread_mutex_unlock(&s->object->lock);
    struct object_extent *extents = NULL;
    size_t n = 0;
    if (!built && build_extents(s, &extents, &n, e) != ST_OK) {
        return ST_ERR;
    }
    pthread_mutex_lock(&s->object->lock);
    if (t->built) {
        free(extents);
    } else {
        *t = (struct lazy_table){.built = true, .data = extents, .count = n};
    }
    *out = t->data;
    *count = t->count;
    pthread_mutex_unlock(&s->object->lock);
    return *count > 0 ? ST_OK : ST_NONE;
}
