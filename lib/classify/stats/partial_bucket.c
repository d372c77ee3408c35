/* Reads the buckets of a partial, and the tables in front of them to which they refer. */
#include <stdlib.h>
#include <string.h>

#include "classify/stats/partial_private.h"

/* ---- tables ---- */

static void read_text_row(struct partial_line *l, const struct tape_value *v, size_t table) {
    struct partial_reader *r = l->r;
    struct map *map = table == PARTIAL_PIECES ? &r->t->pieces : &r->t->strings;
    size_t len;
    const char *text = partial_raw_text(l, v, &len);
    if (!text) {
        partial_reject(l, partial_tables[table]);
        return;
    }
    size_t index = map_intern(map, text, len);
    bool ok = index < NO_INDEX;
    if (ok) {
        ok = table == PARTIAL_PIECES ? VEC_PUSH(&r->pieces, (uint32_t)index)
                                     : VEC_PUSH(&r->strings, map_string(map, index));
    }
    partial_need(l, ok);
}

/* Returns the text whose row number is the next item. NULL: the number is wrong, or it is -1 and
 * the text may be missing. */
static const char *row_text(struct partial_line *l, struct partial_items *row, bool may_miss) {
    const struct tape_value *v = partial_take(row);
    if (may_miss && tape_is(v, VALUE_INTEGER) && v->integer == -1) {
        return NULL;
    }
    uint64_t n = partial_number(l, v, NO_INDEX, "frame_rows");
    if (n >= l->r->strings.len) {
        partial_reject(l, "frame_rows");
        return NULL;
    }
    return l->r->strings.data[n];
}

static void read_frame_row(struct partial_line *l, const struct tape_value *v) {
    struct partial_items row = partial_items(l, v, FRAME_NUMBERS, "frame_rows");
    if (row.count != FRAME_NUMBERS) {
        partial_reject(l, "frame_rows");
        return;
    }
    const char *texts[FRAME_TEXTS];
    for (size_t i = 0; i < FRAME_TEXTS; i++) {
        texts[i] = row_text(l, &row, i > FRAME_FUNCTION);
    }
    uint32_t line = (uint32_t)partial_take_number(l, &row, UINT32_MAX, "frame_rows");
    uint64_t flags = partial_take_number(l, &row, UINT32_MAX, "frame_rows");
    struct bucket_frame f = {.image = texts[FRAME_IMAGE],
                             .function = texts[FRAME_FUNCTION],
                             .image_name = texts[FRAME_NAME],
                             .call = texts[FRAME_CALL],
                             .file = texts[FRAME_FILE],
                             .line = line,
                             .in_app = (flags & FRAME_IN_APP) != 0,
                             .resolved = (flags & FRAME_RESOLVED) != 0};
    if (partial_fine(l)) {
        const struct bucket_frame *kept = triage_frame(l->r->t, &f);
        partial_need(l, kept && VEC_PUSH(&l->r->frames, kept));
    }
}

void partial_read_rows(struct partial_line *l, const struct tape_value *line, size_t table) {
    struct partial_items rows =
        partial_items(l, partial_member(l, line, partial_tables[table]), 1, partial_tables[table]);
    if (rows.count == 0 || rows.count > l->r->rows[table]) {
        partial_reject(l, partial_tables[table]);
    }
    while (rows.next < rows.end && partial_fine(l)) {
        if (table == PARTIAL_FRAMES) {
            read_frame_row(l, partial_take(&rows));
        } else {
            read_text_row(l, partial_take(&rows), table);
        }
    }
    l->r->rows[table] -= partial_fine(l) ? rows.count : 0;
}

/* ---- buckets ---- */

struct bucket_set *partial_in_set_of(struct triage *t, size_t i) {
    switch (i) {
    case PARTIAL_ACTIONS:
        return &t->actions;
    case PARTIAL_IDLE:
        return &t->idle;
    case PARTIAL_HOLDERS:
        return &t->holders;
    default:
        return &t->level[i - PARTIAL_LEVEL1];
    }
}

/* Reads a frame in the form of version 1, an object. */
static const struct bucket_frame *read_frame_object(struct partial_line *l,
                                                    const struct tape_value *f) {
    const struct tape_value *line = partial_member(l, f, "line");
    struct bucket_frame frame = {
        .image = partial_keep(l, partial_get_text(l, f, "image")),
        .function = partial_keep(l, partial_get_text(l, f, "function")),
        .image_name = partial_keep(l, partial_get_text(l, f, "name")),
        .file = partial_keep(l, partial_text(l, partial_member(l, f, "file"))),
        .call = partial_keep(l, partial_text(l, partial_member(l, f, "call"))),
        .line = line ? (uint32_t)partial_number(l, line, UINT32_MAX, "line") : 0,
        .in_app = tape_is(partial_member(l, f, "in_app"), VALUE_TRUE),
        .resolved = tape_is(partial_member(l, f, "resolved"), VALUE_TRUE)};
    const struct bucket_frame *kept = partial_fine(l) ? triage_frame(l->r->t, &frame) : NULL;
    partial_need(l, kept || l->bad);
    return kept;
}

static const struct bucket_frame *read_frame(struct partial_line *l, const struct tape_value *v) {
    if (l->r->version == 1) {
        return read_frame_object(l, v);
    }
    uint64_t row = partial_number(l, v, NO_INDEX, "frames");
    if (row >= l->r->frames.len) {
        partial_reject(l, "frames");
        return NULL;
    }
    return l->r->frames.data[row];
}

/* Reads the frames of a bucket, and puts the key's text that they make into l->r->text. NULL: the
 * line has no frames or too many, or memory ran out; the line is then marked. */
static const struct bucket_frame **read_frames(struct partial_line *l, const struct tape_value *o,
                                               size_t *count) {
    struct partial_items items = partial_get_items(l, o, "frames", 1);
    *count = items.count;
    strbuf_clear(&l->r->text);
    if (*count == 0 || *count > KEY_FRAMES_MAX) {
        partial_reject(l, "frames");
        return NULL;
    }
    const struct bucket_frame **frames = calloc(*count, sizeof(const struct bucket_frame *));
    partial_need(l, frames != NULL);
    for (size_t i = 0; i < *count && partial_fine(l); i++) {
        frames[i] = read_frame(l, partial_take(&items));
        if (frames[i]) {
            key_text_add(&l->r->text, frames[i]->image, frames[i]->function);
        }
    }
    return frames;
}

/* Reads the stack of a bucket in the form of version 1, a dump. */
static void read_exemplar(struct partial_line *l, const struct tape_value *line,
                          struct evidence *offer) {
    size_t len;
    const char *text = partial_raw_text(l, partial_member(l, line, "exemplar"), &len);
    struct dump d;
    struct err e = {0};
    if (!text) {
        return;
    }
    enum st st = dump_parse(&d, text, len, &e);
    if (st != ST_OK) {
        partial_need(l, e.code != ERR_NOMEM);
        partial_reject(l, "exemplar");
        return;
    }
    const struct dump_thread *main = dump_main_thread(&d);
    if (main) {
        const struct stall_key key = {.stack = &main->stack};
        partial_need(l, triage_cut_stack(l->r->t, &d, &key, offer));
    } else {
        partial_reject(l, "exemplar");
    }
    dump_release(&d);
}

static void read_stack(struct partial_line *l, const struct tape_value *line,
                       struct evidence *offer) {
    struct partial_items items = partial_get_items(l, line, "stack", 1);
    if (items.count) {
        partial_need(l, SMALL_VEC_RESERVE(&offer->stack, items.count));
    }
    while (items.next < items.end && partial_fine(l)) {
        uint64_t row = partial_take_number(l, &items, NO_INDEX, "stack");
        if (row >= l->r->pieces.len) {
            partial_reject(l, "stack");
        } else {
            offer->stack.data[offer->stack.len++] = l->r->pieces.data[row];
        }
    }
}

/* Reads the cause of the evidence, which is a word in all versions of the format. */
static void read_cause(struct partial_line *l, const struct tape_value *v, struct evidence *offer) {
    size_t len;
    const char *cause = partial_raw_text(l, v, &len);
    if (!cause || !rule_cause_parse(cause, len, &offer->cause)) {
        partial_reject(l, "cause");
    }
}

/* Reads the evidence in the form of versions 2 and 3: id, span, hash, cause and, if there is one,
 * the row of the reason. The id is borrowed, because bucket_take_evidence copies it. */
static void read_evidence_array(struct partial_line *l, const struct tape_value *array,
                                struct evidence *offer) {
    struct partial_items items = {0};
    if (tape_is(array, VALUE_ARRAY)) {
        items = partial_items(l, array, 1, "evidence");
    }
    const char *id = partial_text(l, partial_take(&items));
    if (!id) {
        partial_reject(l, "evidence");
        return;
    }
    offer->id = (char *)id;
    offer->span_ms = partial_take_number(l, &items, INT64_MAX, "span_ms");
    offer->hash = partial_hash(l, partial_take(&items), "hash");
    read_cause(l, partial_take(&items), offer);
    if (items.count > 4) {
        uint64_t row = partial_take_number(l, &items, NO_INDEX, "reason");
        if (row >= l->r->strings.len) {
            partial_reject(l, "reason");
        } else {
            offer->reason = l->r->strings.data[row];
        }
    }
}

/* May the bucket lack members because they are equal to those of its parent? Those of versions 1
 * and 2 have all. parent NULL: the bucket has no parent. */
static bool has_of_parent(const struct partial_line *l, const struct bucket *parent) {
    return parent && l->r->version > 2;
}

/* Reads the evidence of a bucket. parent: for a bucket of level 2 its level-1 bucket, whose
 * evidence it has if the line gives none; else NULL. */
static void read_evidence(struct partial_line *l, const struct tape_value *line,
                          const struct bucket *parent, struct bucket *b) {
    const struct tape_value *o = partial_member(l, line, "evidence");
    struct evidence offer = {.id = NULL};
    if (l->r->version == 1) {
        offer.span_ms = partial_get_number(l, o, "span_ms");
        offer.hash = partial_hash(l, partial_member(l, o, "hash"), "hash");
        read_cause(l, partial_member(l, o, "cause"), &offer);
        offer.id = (char *)partial_get_text(l, o, "id");
        offer.reason = partial_keep(l, partial_get_text(l, o, "reason"));
        read_exemplar(l, line, &offer);
    } else {
        if (o || !has_of_parent(l, parent)) {
            read_evidence_array(l, o, &offer);
        } else {
            const struct evidence *has = &parent->evidence;
            offer = (struct evidence){.id = has->id,
                                      .span_ms = has->span_ms,
                                      .hash = has->hash,
                                      .cause = has->cause,
                                      .reason = has->reason};
        }
        read_stack(l, line, &offer);
    }
    partial_need(l, !partial_fine(l) || bucket_take_evidence(b, &offer));
    SMALL_VEC_RELEASE(&offer.stack);
}

static void read_actions(struct partial_line *l, const struct tape_value *o, struct bucket *b) {
    struct partial_items items = partial_get_items(l, o, "actions", 2);
    uint64_t next = 0;
    while (items.next < items.end && partial_fine(l)) {
        uint64_t action = partial_take_number(l, &items, INT64_MAX, "actions");
        uint64_t ms = partial_take_number(l, &items, INT64_MAX, "actions");
        if (action < next || action >= l->r->count[PARTIAL_ACTIONS]) {
            partial_reject(l, "actions");
            return;
        }
        next = action + 1;
        partial_need(l, bucket_add_action(b, (uint32_t)action, ms));
    }
}

static void read_aliases(struct partial_line *l, const struct tape_value *o, struct bucket *b) {
    struct partial_items items = partial_get_items(l, o, "aliases", 1);
    while (items.next < items.end && partial_fine(l)) {
        partial_need(l, bucket_add_alias(b, partial_hash(l, partial_take(&items), "aliases"), 0));
    }
}

/* Reads how many dumps tell each alias; if the member is missing, all dumps of the bucket tell
 * each. */
static void read_alias_dumps(struct partial_line *l, const struct tape_value *o, struct bucket *b) {
    if (!partial_member(l, o, "alias_dumps")) {
        for (size_t i = 0; i < b->aliases.len; i++) {
            b->alias_dumps.data[i] = b->tally->dumps;
        }
        return;
    }
    struct partial_items items = partial_get_items(l, o, "alias_dumps", 1);
    for (size_t i = 0; partial_fine(l) && (i < b->aliases.len || items.next < items.end); i++) {
        if (i == b->aliases.len || items.next == items.end) {
            partial_reject(l, "alias_dumps");
            return;
        }
        b->alias_dumps.data[i] = partial_take_number(l, &items, INT64_MAX, "alias_dumps");
    }
}

/* Reads the other keys for which samples vote; partials of earlier versions have none. */
static void read_near(struct partial_line *l, const struct tape_value *o, struct bucket *b) {
    struct partial_items items = {0};
    if (partial_member(l, o, "near")) {
        items = partial_get_items(l, o, "near", NEAR_NUMBERS);
    }
    while (items.next < items.end && partial_fine(l)) {
        struct near_id near = {.number = partial_hash(l, partial_take(&items), "near")};
        near.dumps = partial_take_number(l, &items, INT64_MAX, "near");
        near.most = partial_take_number(l, &items, INT64_MAX, "near");
        near.shares = partial_take_number(l, &items, INT64_MAX, "near");
        partial_need(l, bucket_add_near(b, &near));
    }
}

/* Returns the bucket whose key's text was read; a new one is added to the set. Keys must be in
 * ascending order, so that each occurs once. NULL: they are not, or memory ran out; the line is
 * then marked. */
static struct bucket *partial_in_put_bucket(struct partial_line *l, struct bucket_set *set) {
    struct partial_reader *r = l->r;
    bool added = false;
    if (set->buckets.len && strcmp(strbuf_cstr(&r->text), strbuf_cstr(&r->previous)) <= 0) {
        partial_reject(l, "frames");
        return NULL;
    }
    struct bucket *b = bucket_put(set, strbuf_cstr(&r->text), r->text.len, &added);
    strbuf_clear(&r->previous);
    strbuf_add(&r->previous, strbuf_cstr(&r->text), r->text.len);
    partial_need(l, b && !r->text.failed && !r->previous.failed);
    return b;
}

void partial_read_bucket(struct partial_line *l, const struct tape_value *o, size_t which) {
    struct triage *t = l->r->t;
    struct bucket *parent = NULL;
    size_t count;
    const struct bucket_frame **frames = read_frames(l, o, &count);
    struct bucket *b =
        partial_fine(l) ? partial_in_put_bucket(l, partial_in_set_of(t, which)) : NULL;
    if (!b) {
        free(frames);
        return;
    }
    b->frames = frames;
    b->frame_count = count;
    if (strcmp(partial_get_text(l, o, "id"), b->id) != 0) {
        partial_reject(l, "id");
    }
    if (which == PARTIAL_LEVEL2) {
        uint64_t place = partial_get_number(l, o, "parent");
        if (place >= t->level[0].buckets.len) {
            partial_reject(l, "parent");
            return;
        }
        parent = t->level[0].buckets.data[place];
        partial_need(l, bucket_adopt(parent, b));
    }
    read_evidence(l, o, parent, b);
    read_aliases(l, o, b);
    if (partial_member(l, o, "kept_ms")) {
        b->kept_ms = partial_get_number(l, o, "kept_ms");
    }
    if (which == PARTIAL_HOLDERS) {
        b->waiters = partial_get_number(l, o, "waiters");
    }
    if (which == PARTIAL_LEVEL1 || which == PARTIAL_LEVEL2) {
        read_near(l, o, b);
    }
    if (which != PARTIAL_ACTIONS && which != PARTIAL_IDLE) {
        read_actions(l, o, b);
    }
    if (has_of_parent(l, parent) && !partial_member(l, o, "tally")) {
        tally_share(&b->tally, parent->tally);
    } else {
        partial_read_tally(l, o, "tally", b->tally);
        if (parent) {
            bucket_share_tally(parent, b);
        }
    }
    read_alias_dumps(l, o, b);
}
