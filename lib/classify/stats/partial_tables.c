/* Writes the tables of texts, frames and pieces of stacks to which the buckets of a partial refer.
 * Each entry that is in use is written once, in an order that depends only on the entries'
 * texts. */
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "classify/stats/partial_private.h"

const char *const partial_tables[PARTIAL_TABLES] = {
    [PARTIAL_STRINGS] = "strings", [PARTIAL_FRAMES] = "frame_rows", [PARTIAL_PIECES] = "pieces"};

const struct bucket_set *partial_set_of(const struct triage *t, size_t set) {
    switch (set) {
    case PARTIAL_ACTIONS:
        return &t->actions;
    case PARTIAL_IDLE:
        return &t->idle;
    case PARTIAL_HOLDERS:
        return &t->holders;
    default:
        return &t->level[set - PARTIAL_LEVEL1];
    }
}

static const struct map *map_of_table(const struct triage *t, size_t table) {
    if (table == PARTIAL_STRINGS) {
        return &t->strings;
    }
    return table == PARTIAL_FRAMES ? &t->frames : &t->pieces;
}

static size_t index_of_text(const struct triage *t, const char *text) {
    return map_get(&t->strings, text, strlen(text))->value;
}

static size_t index_of_frame(const struct triage *t, const struct bucket_frame *f) {
    return map_get(&t->frames, f, sizeof *f)->value;
}

uint32_t partial_row_of_text(const struct partial_writer *w, const char *text) {
    return w->tables[PARTIAL_STRINGS].place[index_of_text(w->t, text)];
}

uint32_t partial_row_of_frame(const struct partial_writer *w, size_t set, const struct bucket *b,
                              size_t i) {
    size_t at = w->first_frame[set][b->index] + i;
    return w->tables[PARTIAL_FRAMES].place[w->frames.data[at]];
}

/* ---- entries that buckets refer to ---- */

/* Notes that a bucket refers to the text, and returns the text's index; NO_INDEX = there is no
 * text. */
static uint32_t use_text(struct partial_writer *w, const char *text) {
    if (!text) {
        return NO_INDEX;
    }
    uint32_t index = (uint32_t)index_of_text(w->t, text);
    w->tables[PARTIAL_STRINGS].place[index] = 0;
    return index;
}

static uint32_t use_frame(struct partial_writer *w, const struct bucket_frame *f) {
    uint32_t index = (uint32_t)index_of_frame(w->t, f);
    uint32_t *place = &w->tables[PARTIAL_FRAMES].place[index];
    if (*place != NO_INDEX) {
        return index;
    }
    *place = 0;
    uint32_t *texts = w->frame_texts[index];
    texts[FRAME_IMAGE] = use_text(w, f->image);
    texts[FRAME_FUNCTION] = use_text(w, f->function);
    texts[FRAME_NAME] = use_text(w, f->image_name);
    texts[FRAME_CALL] = use_text(w, f->call);
    texts[FRAME_FILE] = use_text(w, f->file);
    return index;
}

/* Notes the frames, the pieces and the reason to which the bucket refers. False: out of memory. */
static bool use_bucket(struct partial_writer *w, size_t set, const struct bucket *b) {
    w->first_frame[set][b->index] = w->frames.len;
    if (!VEC_RESERVE(&w->frames, b->frame_count)) {
        return false;
    }
    for (size_t i = 0; i < b->frame_count; i++) {
        w->frames.data[w->frames.len++] = use_frame(w, b->frames[i]);
    }
    for (size_t i = 0; i < b->evidence.stack.len; i++) {
        w->tables[PARTIAL_PIECES].place[b->evidence.stack.data[i]] = 0;
    }
    use_text(w, b->evidence.reason);
    return true;
}

/* ---- the order of entries ---- */

struct text_row {
    const char *text;
    uint32_t index;
};

static int by_row_text(const void *a, const void *b) {
    return strcmp(((const struct text_row *)a)->text, ((const struct text_row *)b)->text);
}

struct frame_row {
    uint32_t numbers[FRAME_NUMBERS];
    uint32_t index;
};

static int by_row_numbers(const void *a, const void *b) {
    const struct frame_row *x = a, *y = b;
    size_t i = 0;
    while (i + 1 < FRAME_NUMBERS && x->numbers[i] == y->numbers[i]) {
        i++;
    }
    return COMPARE(x->numbers[i], y->numbers[i]);
}

static void frame_numbers(const struct partial_writer *w, size_t index,
                          uint32_t numbers[FRAME_NUMBERS]) {
    const struct bucket_frame *f = (const struct bucket_frame *)map_string(&w->t->frames, index);
    const uint32_t *texts = w->frame_texts[index];
    for (size_t i = 0; i < FRAME_TEXTS; i++) {
        numbers[i] = texts[i] == NO_INDEX ? NO_INDEX : w->tables[PARTIAL_STRINGS].place[texts[i]];
    }
    numbers[FRAME_LINE] = f->line;
    numbers[FRAME_FLAGS] = (f->in_app ? FRAME_IN_APP : 0) | (f->resolved ? FRAME_RESOLVED : 0);
}

static void set_places(struct partial_rows *rows) {
    for (size_t i = 0; i < rows->count; i++) {
        rows->place[rows->order[i]] = (uint32_t)i;
    }
}

static bool order_texts(struct partial_writer *w, size_t table) {
    struct partial_rows *rows = &w->tables[table];
    const struct map *map = map_of_table(w->t, table);
    struct text_row *sorted = calloc(map->count + 1, sizeof *sorted);
    for (size_t i = 0; sorted && i < map->count; i++) {
        if (rows->place[i] != NO_INDEX) {
            sorted[rows->count++] = (struct text_row){map_string(map, i), (uint32_t)i};
        }
    }
    if (sorted) {
        qsort(sorted, rows->count, sizeof *sorted, by_row_text);
    }
    for (size_t i = 0; i < rows->count; i++) {
        rows->order[i] = sorted[i].index;
    }
    set_places(rows);
    free(sorted);
    return sorted != NULL;
}

static bool order_frames(struct partial_writer *w) {
    struct partial_rows *rows = &w->tables[PARTIAL_FRAMES];
    const struct map *map = &w->t->frames;
    struct frame_row *sorted = calloc(map->count + 1, sizeof *sorted);
    for (size_t i = 0; sorted && i < map->count; i++) {
        if (rows->place[i] != NO_INDEX) {
            struct frame_row *row = &sorted[rows->count++];
            frame_numbers(w, i, row->numbers);
            row->index = (uint32_t)i;
        }
    }
    if (sorted) {
        qsort(sorted, rows->count, sizeof *sorted, by_row_numbers);
    }
    for (size_t i = 0; i < rows->count; i++) {
        rows->order[i] = sorted[i].index;
    }
    set_places(rows);
    free(sorted);
    return sorted != NULL;
}

bool partial_find_rows(struct partial_writer *w) {
    for (size_t i = 0; i < PARTIAL_TABLES; i++) {
        size_t count = map_of_table(w->t, i)->count;
        struct partial_rows *rows = &w->tables[i];
        rows->place = malloc((count + 1) * sizeof *rows->place);
        rows->order = calloc(count + 1, sizeof *rows->order);
        if (!rows->place || !rows->order) {
            return false;
        }
        memset(rows->place, 0xff, (count + 1) * sizeof *rows->place);
    }
    w->frame_texts = calloc(w->t->frames.count + 1, sizeof *w->frame_texts);
    bool ok = w->frame_texts != NULL;
    for (size_t set = 0; ok && set < PARTIAL_SETS; set++) {
        const struct bucket_set *s = partial_set_of(w->t, set);
        w->first_frame[set] = calloc(s->buckets.len + 1, sizeof *w->first_frame[set]);
        ok = w->first_frame[set] != NULL;
        for (size_t i = 0; ok && i < s->buckets.len; i++) {
            ok = use_bucket(w, set, s->buckets.data[i]);
        }
    }
    return ok && order_texts(w, PARTIAL_STRINGS) && order_frames(w) &&
           order_texts(w, PARTIAL_PIECES);
}

void partial_release_rows(struct partial_writer *w) {
    for (size_t i = 0; i < PARTIAL_TABLES; i++) {
        free(w->tables[i].place);
        free(w->tables[i].order);
    }
    for (size_t set = 0; set < PARTIAL_SETS; set++) {
        free(w->first_frame[set]);
    }
    free(w->frame_texts);
    VEC_RELEASE(&w->frames);
}

/* ---- lines ---- */

static void put_row(struct partial_writer *w, size_t table, uint32_t index) {
    if (table != PARTIAL_FRAMES) {
        jsonw_cstr(&w->w, map_string(map_of_table(w->t, table), index));
        return;
    }
    uint32_t numbers[FRAME_NUMBERS];
    frame_numbers(w, index, numbers);
    jsonw_begin_array(&w->w);
    for (size_t i = 0; i < FRAME_NUMBERS; i++) {
        jsonw_i64(&w->w, numbers[i] == NO_INDEX && i < FRAME_TEXTS ? -1 : (int64_t)numbers[i]);
    }
    jsonw_end_array(&w->w);
}

void partial_put_tables(struct partial_writer *w) {
    for (size_t table = 0; table < PARTIAL_TABLES; table++) {
        const struct partial_rows *rows = &w->tables[table];
        for (size_t i = 0; i < rows->count;) {
            uint64_t start = w->out->total;
            size_t end = i + PARTIAL_LINE_ROWS;
            w->w = jsonw_init(w->out);
            jsonw_begin_object(&w->w);
            jsonw_member_array(&w->w, partial_tables[table]);
            while (i < rows->count && i < end && w->out->total - start < PARTIAL_LINE_BYTES) {
                put_row(w, table, rows->order[i++]);
            }
            jsonw_end_array(&w->w);
            jsonw_end_object(&w->w);
            sink_char(w->out, '\n');
        }
    }
}
