/* Opens a debug map, and determines which of its object files are those that were linked. */
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "debug/debug_private.h"
#include "debug/link_spans.h"
#include "object/find/static_archive.h"

/* Adds the ranges of a unit's functions that the debug map has; the object file is not opened.
 * `ranges` is scratch memory. ST_ERR: out of memory. */
static enum st add_unit_ranges(struct debug *d, size_t unit, struct range_vec *ranges,
                               struct err *e) {
    const struct map_object *o = &d->map.objects.data[unit];
    ranges->len = 0;
    for (size_t i = 0; i < o->count; i++) {
        const struct map_function *f = &d->map.functions.data[o->first + i];
        struct debug_range r = {f->address, f->address + f->size};
        if (!VEC_PUSH(ranges, r)) {
            return err_nomem(e);
        }
    }
    ranges_normalise(ranges, 0);
    for (size_t i = 0; i < ranges->len; i++) {
        if (units_add_range(d, unit, ranges->data[i], e) != ST_OK) {
            return ST_ERR;
        }
    }
    return ST_OK;
}

/* ---- which build an object file is of ---- */

/* Opens an object file that was found, and makes its state DEBUG_OBJECT_CHANGED if its functions
 * are not those of the map. The state of a file that cannot be read stays DEBUG_OBJECT_FOUND: the
 * error is reported when its unit is read. ST_ERR: out of memory. */
static enum st compare_object(struct debug *d, struct map_object *o, struct err *e) {
    const struct object_slice *object = NULL;
    struct err why = {0};
    enum st st = d->finder->object(d->finder->ctx, d->slice, &o->name, &object, &why);
    if (st != ST_OK) {
        return why.code == ERR_NOMEM ? err_nomem(e) : ST_OK;
    }
    struct link_spans spans = {0};
    st = link_spans_read(&spans, d->map.functions.data + o->first, o->count, object, &why);
    link_spans_release(&spans);
    if (st == ST_NONE) {
        o->state = DEBUG_OBJECT_CHANGED;
    }
    return why.code == ERR_NOMEM ? err_nomem(e) : ST_OK;
}

/* Returns the length of the archive's path in the path of a member, "lib.a" in "lib.a(x.o)", if the
 * map has no time for the member; else 0. */
static size_t untimed_archive(const struct map_object *o) {
    const char *member = static_archive_member_name(o->name.path);
    return member && o->name.time == 0 ? (size_t)(member - o->name.path) - 1 : 0;
}

/* Marks as changed all members without a time of an archive that has a changed member without a
 * time: the archive was rebuilt, and functions of the same sizes may have other lines. ST_ERR: out
 * of memory. */
static enum st distrust_archives(struct debug *d, struct err *e) {
    struct map changed = {0}; /* paths of archives */
    enum st st = ST_OK;
    for (size_t i = 0; i < d->map.objects.len && st == ST_OK; i++) {
        const struct map_object *o = &d->map.objects.data[i];
        size_t len = o->state == DEBUG_OBJECT_CHANGED ? untimed_archive(o) : 0;
        if (len > 0 && !map_put(&changed, o->name.path, len, 0, NULL)) {
            st = err_nomem(e);
        }
    }
    for (size_t i = 0; i < d->map.objects.len && st == ST_OK; i++) {
        struct map_object *o = &d->map.objects.data[i];
        size_t len = o->state == DEBUG_OBJECT_FOUND ? untimed_archive(o) : 0;
        if (len > 0 && map_get(&changed, o->name.path, len)) {
            o->state = DEBUG_OBJECT_CHANGED;
        }
    }
    map_release(&changed);
    return st;
}

/* Sets d->map_files and d->split_units to the numbers of object files by their states. */
static void count_states(struct debug *d) {
    struct debug_map_files files = {.named = d->map.objects.len};
    for (size_t i = 0; i < d->map.objects.len; i++) {
        const struct map_object *o = &d->map.objects.data[i];
        files.missing += o->state == DEBUG_OBJECT_MISSING;
        files.changed += o->state == DEBUG_OBJECT_CHANGED;
        files.untimed += o->state == DEBUG_OBJECT_FOUND && o->name.time == 0;
        if (o->state != DEBUG_OBJECT_FOUND && !files.first) {
            files.first = o->name.path;
        }
    }
    d->map_files = files;
    d->split_units = files.missing + files.changed;
}

/* Sets the states of all object files. Where the map has no time, only the functions of a file show
 * that it is the one that was linked. ST_ERR: out of memory. */
static enum st find_objects(struct debug *d, struct err *e) {
    enum st st = ST_OK;
    for (size_t i = 0; i < d->map.objects.len && st == ST_OK; i++) {
        struct map_object *o = &d->map.objects.data[i];
        st = d->finder->object_state(d->finder->ctx, d->slice, &o->name, &o->state, e);
        if (st == ST_OK && o->state == DEBUG_OBJECT_FOUND && o->name.time == 0) {
            st = compare_object(d, o, e);
        }
    }
    return st == ST_OK ? distrust_archives(d, e) : st;
}

enum st debug_compare_objects(struct debug *d, struct err *e) {
    enum st st = ST_OK;
    for (size_t i = 0; i < d->map.objects.len && st == ST_OK; i++) {
        struct map_object *o = &d->map.objects.data[i];
        if (o->state == DEBUG_OBJECT_FOUND && o->name.time != 0) {
            st = compare_object(d, o, e);
        }
    }
    if (st == ST_OK && d->map.objects.len > 0) {
        count_states(d);
    }
    return st;
}

/* ---- the map ---- */

enum st debug_open_map(struct debug **out, const struct object_slice *s,
                       const struct debug_split_finder *finder, debug_complain complain, void *ctx,
                       struct err *e) {
    struct range_vec ranges = {0};
    struct debug *d = calloc(1, sizeof *d);
    if (!d) {
        return err_nomem(e);
    }
    d->slice = s;
    d->path = object_slice_path(s);
    d->finder = finder;
    d->complain = complain;
    d->complain_ctx = ctx;
    enum st st = debug_map_read(&d->map, s, e);
    st = st == ST_OK ? find_objects(d, e) : st;
    for (size_t i = 0; i < d->map.objects.len && st == ST_OK; i++) {
        if (d->map.objects.data[i].state == DEBUG_OBJECT_FOUND) {
            st = add_unit_ranges(d, i, &ranges, e);
        }
    }
    VEC_RELEASE(&ranges);
    if (st != ST_OK) {
        debug_close(d);
        return st;
    }
    count_states(d);
    units_sort_ranges(d);
    *out = d;
    return ST_OK;
}
