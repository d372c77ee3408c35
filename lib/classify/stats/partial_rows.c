/* Reads the tables of a partial: texts, frames and pieces of stacks, which buckets refer to by
 * their rows. */
#include <string.h>

#include "classify/stats/partial_private.h"

static void read_text_row(struct partial_line *l, const json_t *v, size_t table) {
    struct partial_reader *r = l->r;
    struct map *map = table == PARTIAL_PIECES ? &r->t->pieces : &r->t->strings;
    const char *text = json_string_value(v);
    if (!text) {
        partial_reject(l, partial_tables[table]);
        return;
    }
    size_t index = map_intern(map, text, json_string_length(v));
    bool ok = index < NO_INDEX;
    if (ok) {
        ok = table == PARTIAL_PIECES ? VEC_PUSH(&r->pieces, (uint32_t)index)
                                     : VEC_PUSH(&r->strings, map_string(map, index));
    }
    partial_need(l, ok);
}

/* The text of a row; NULL: number -1 says that there is none, or it is wrong. */
static const char *row_text(struct partial_line *l, const json_t *row, size_t i) {
    const json_t *v = json_array_get(row, i);
    if (i > FRAME_FUNCTION && json_is_integer(v) && json_integer_value(v) == -1) {
        return NULL;
    }
    uint64_t n = partial_number(l, v, NO_INDEX, "frame_rows");
    if (n >= l->r->strings.len) {
        partial_reject(l, "frame_rows");
        return NULL;
    }
    return l->r->strings.data[n];
}

static void read_frame_row(struct partial_line *l, const json_t *row) {
    if (!json_is_array(row) || json_array_size(row) != FRAME_NUMBERS) {
        partial_reject(l, "frame_rows");
        return;
    }
    uint64_t flags = partial_element(l, row, FRAME_FLAGS, UINT32_MAX, "frame_rows");
    struct bucket_frame f = {
        .image = row_text(l, row, FRAME_IMAGE),
        .function = row_text(l, row, FRAME_FUNCTION),
        .image_name = row_text(l, row, FRAME_NAME),
        .call = row_text(l, row, FRAME_CALL),
        .file = row_text(l, row, FRAME_FILE),
        .line = (uint32_t)partial_element(l, row, FRAME_LINE, UINT32_MAX, "frame_rows"),
        .in_app = (flags & FRAME_IN_APP) != 0,
        .resolved = (flags & FRAME_RESOLVED) != 0};
    if (partial_fine(l)) {
        const struct bucket_frame *kept = triage_frame(l->r->t, &f);
        partial_need(l, kept && VEC_PUSH(&l->r->frames, kept));
    }
}

void partial_read_rows(struct partial_line *l, const json_t *line, size_t table) {
    const json_t *a = json_object_get(line, partial_tables[table]);
    size_t count = json_array_size(a);
    if (count == 0 || count > l->r->rows[table]) {
        partial_reject(l, partial_tables[table]);
    }
    for (size_t i = 0; i < count && partial_fine(l); i++) {
        if (table == PARTIAL_FRAMES) {
            read_frame_row(l, json_array_get(a, i));
        } else {
            read_text_row(l, json_array_get(a, i), table);
        }
    }
    l->r->rows[table] -= partial_fine(l) ? count : 0;
}
