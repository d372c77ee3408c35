/* Adds frames and their names to a draft, in the order in which they are read. */
#include "dump/reports/report_private.h"

#include <inttypes.h>
#include <string.h>

#include "base/strbuf.h"

struct report_frame report_frame_at(const struct report *r, uint64_t address) {
    struct report_frame frame = {.address = report_strip(r, address)};
    const struct map_entry *entry = map_get(&r->name_index, &frame.address, sizeof frame.address);
    frame.name = entry ? entry->value + 1 : 0;
    return frame;
}

enum st report_add_frame(struct report *r, struct report_frame frame) {
    if (r->frames.len >= REPORT_FRAMES_MAX) {
        return err_set(r->e, ERR_LIMIT, "its stacks unfold to more than %d frames",
                       REPORT_FRAMES_MAX);
    }
    return VEC_PUSH(&r->frames, frame) ? ST_OK : err_nomem(r->e);
}

enum st report_frame(struct report *r, uint64_t address) {
    return report_add_frame(r, report_frame_at(r, address));
}

static bool names_equal(const char *a, const char *b) {
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool is_same_row(const struct report_name *a, const struct report_name *b) {
    return a->line == b->line && names_equal(a->symbol, b->symbol) && names_equal(a->file, b->file);
}

/* Returns the entry for a name in name_keys. A new entry is made with `value`. NULL: out of
 * memory. */
static struct map_entry *put_name_key(struct report *r, const struct report_name *name,
                                      size_t value, bool *added) {
    struct strbuf key = {0};
    strbuf_addf(&key, "%" PRIx64 " %" PRIu32 " %s%c%s", name->address, name->line, name->symbol, 0,
                name->file ? name->file : "");
    struct map_entry *entry =
        key.failed ? NULL : map_put(&r->name_keys, key.data, key.len, value, added);
    strbuf_release(&key);
    return entry;
}

uint64_t report_name(struct report *r, const struct report_name *name) {
    bool added = false;
    struct report_name own = *name;
    own.address = report_strip(r, own.address);
    if (!own.symbol) {
        return 0;
    }
    struct map_entry *last =
        VEC_RESERVE(&r->names, 1)
            ? map_put(&r->name_index, &own.address, sizeof own.address, r->names.len, &added)
            : NULL;
    if (last && !added) {
        const struct report_name *before = &r->names.data[last->value];
        if (is_same_row(before, &own)) {
            return last->value + 1;
        }
        const struct map_entry *entry = put_name_key(r, before, last->value, NULL);
        entry = entry ? put_name_key(r, &own, r->names.len, &added) : NULL;
        last->value = entry ? entry->value : last->value;
        last = entry ? last : NULL;
    }
    if (!last) {
        r->no_memory = true;
        return 0;
    }
    if (added) {
        r->names.data[r->names.len++] = own;
    }
    return last->value + 1;
}
