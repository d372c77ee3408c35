/* Reads stall-partial(5) back into a triage, line by line. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "classify/stats/partial_private.h"
#include "classify/stats/sum.h"
#include "dump/document.h"

const char *const partial_sets[PARTIAL_SETS] = {[PARTIAL_ACTIONS] = "actions",
                                                [PARTIAL_LEVEL1] = "level1",
                                                [PARTIAL_LEVEL2] = "level2",
                                                [PARTIAL_IDLE] = "idle",
                                                [PARTIAL_HOLDERS] = "holders"};

enum { PARTIAL_DEPTH = 64 };

enum st partial_reader_new(struct partial_reader **out, struct err *e) {
    *out = calloc(1, sizeof **out);
    return *out ? ST_OK : err_nomem(e);
}

/* Forgets the triage, without freeing it, and the tables of the last partial. */
static void partial_in_reset(struct partial_reader *r) {
    r->t = NULL;
    r->strings.len = r->frames.len = r->pieces.len = 0;
}

static void partial_in_drop(struct partial_reader *r) {
    triage_free(r->t);
    partial_in_reset(r);
}

void partial_reader_free(struct partial_reader *r) {
    if (r) {
        partial_in_drop(r);
        VEC_RELEASE(&r->strings);
        VEC_RELEASE(&r->frames);
        VEC_RELEASE(&r->pieces);
        tape_release(&r->tape);
        arena_release(&r->arena);
        strbuf_release(&r->text);
        strbuf_release(&r->previous);
        free(r);
    }
}

/* ---- stalls of which dumps are missing ---- */

/* Number of numbers that a part of a stall has in a partial. OLD: in partials of earlier versions,
 * which lack the last number, the holder. */
enum { PART_NUMBERS = 6, PART_NUMBERS_OLD = 5 };

/* Returns the index for a position that counts from 1. Position 0 means none, and gives
 * NO_INDEX. */
static uint32_t index_of(uint64_t place) {
    return place ? (uint32_t)(place - 1) : NO_INDEX;
}

static void read_parts(struct partial_line *l, struct partial_items items,
                       struct stall_part *parts) {
    struct partial_reader *r = l->r;
    const uint64_t max[PART_NUMBERS] = {
        r->count[PARTIAL_LEVEL2], r->count[PARTIAL_ACTIONS], CLUSTER_CELLS - 1, INT64_MAX, 1,
        r->count[PARTIAL_HOLDERS]};
    size_t numbers = r->old_parts ? PART_NUMBERS_OLD : PART_NUMBERS;
    for (size_t i = 0; i < items.count / numbers && partial_fine(l); i++) {
        uint64_t v[PART_NUMBERS] = {0};
        for (size_t k = 0; k < numbers; k++) {
            v[k] = partial_take_number(l, &items, max[k], "parts");
        }
        parts[i] = (struct stall_part){.level2 = index_of(v[0]),
                                       .action = index_of(v[1]),
                                       .cell = (uint32_t)v[2],
                                       .ms = v[3],
                                       .fatal = v[4] != 0,
                                       .holder = index_of(v[5])};
    }
}

static void read_stall(struct partial_line *l, const struct tape_value *o) {
    struct partial_reader *r = l->r;
    size_t numbers = r->old_parts ? PART_NUMBERS_OLD : PART_NUMBERS;
    struct partial_items items = partial_get_items(l, o, "parts", numbers);
    size_t count = items.count / numbers;
    uint64_t id = partial_hash(l, partial_member(l, o, "stall"), "stall");
    uint64_t seen_ms = partial_get_number(l, o, "seen_ms"),
             duration_ms = partial_get_number(l, o, "duration_ms");
    if (count == 0 || (r->t->pending.used && id <= r->previous_hash) ||
        (duration_ms && seen_ms >= duration_ms)) {
        partial_reject(l, "stall");
        return;
    }
    r->previous_hash = id;
    struct stall_part *parts = calloc(count, sizeof *parts);
    partial_need(l, parts != NULL);
    if (parts) {
        read_parts(l, items, parts);
    }
    if (partial_fine(l)) {
        partial_read_facets(l, partial_member(l, o, "facets"), parts, count);
        partial_read_part_days(l, partial_member(l, o, "days"), parts, count);
    }
    partial_need(l, !partial_fine(l) || stalls_join(r->t, id, seen_ms, duration_ms, parts, count));
    free(parts);
}

/* ---- lines ---- */

static void read_opened(struct partial_line *l, const struct tape_value *o,
                        struct triage_options *options) {
    struct partial_items items = partial_get_items(l, o, "opened", 1);
    while (items.next < items.end) {
        const char *text = partial_text(l, partial_take(&items));
        int apart = APART_NONE + 1;
        while (text && apart < APART_COUNT &&
               strcmp(text, triage_apart_text((enum triage_apart)apart)) != 0) {
            apart++;
        }
        if (!text || apart == APART_COUNT) {
            partial_reject(l, "opened");
            return;
        }
        options->open[apart] = true;
    }
}

/* Reads the kinds of stall for which some dumps had no threshold. Partials of earlier versions lack
 * this member. */
static void read_no_threshold(struct partial_line *l, const struct tape_value *o) {
    const struct tape_value *unsaid = partial_member(l, o, "no_threshold");
    struct partial_items items = {0};
    if (tape_is(unsaid, VALUE_ARRAY)) {
        items = partial_items(l, unsaid, 1, "no_threshold");
    }
    while (items.next < items.end && partial_fine(l)) {
        const char *kind = partial_text(l, partial_take(&items));
        if (!kind) {
            partial_reject(l, "no_threshold");
        }
        partial_need(l, !partial_fine(l) || triage_note_threshold(l->r->t, kind, -1));
    }
}

/* Reads the threshold of each kind of stall; earlier versions have only the smallest one. */
static void read_thresholds(struct partial_line *l, const struct tape_value *o) {
    struct triage *t = l->r->t;
    if (!partial_member(l, o, "thresholds")) {
        if (partial_member(l, o, "threshold_ms")) {
            partial_need(l, triage_note_threshold(
                                t, NULL, (int64_t)partial_get_number(l, o, "threshold_ms")));
        }
        return;
    }
    struct partial_items items = partial_get_items(l, o, "thresholds", 2);
    while (items.next < items.end && partial_fine(l)) {
        const char *kind = partial_text(l, partial_take(&items));
        uint64_t ms = partial_take_number(l, &items, INT64_MAX, "thresholds");
        if (!kind) {
            partial_reject(l, "thresholds");
        }
        partial_need(l, !partial_fine(l) || triage_note_threshold(t, kind, (int64_t)ms));
    }
    read_no_threshold(l, o);
}

static void read_usage(struct partial_line *l, const struct tape_value *o) {
    const struct tape_value *usage = partial_member(l, o, "usage");
    if (usage) {
        partial_read_usage(l, usage);
        const struct tape_value *days = partial_member(l, o, "user_days");
        if (!partial_member(l, days, "users")) {
            partial_reject(l, "user_days");
        }
        partial_read_users(l, days, &l->r->t->usage.user_days);
    }
}

/* Reads how often ids of the sample were repeated: pairs of an id's position and its number of
 * repeats. */
static void read_again(struct partial_line *l, const struct tape_value *ids, struct id_sketch *s) {
    struct partial_items again = partial_items(l, partial_member(l, ids, "again"), 2, "ids");
    for (size_t next = 0; again.next < again.end && partial_fine(l);) {
        uint64_t place = partial_take_number(l, &again, ID_SKETCH_MAX - 1, "ids");
        uint64_t repeats = partial_take_number(l, &again, SUM_MAX, "ids");
        if (place < next || place >= s->ids.len || repeats == 0) {
            partial_reject(l, "ids");
            return;
        }
        sum_add(&s->ids.data[place].count, repeats);
        next = (size_t)place + 1;
    }
}

/* Reads the ids of dumps; partials of earlier versions have none. */
static void read_ids(struct partial_line *l, const struct tape_value *o) {
    const struct tape_value *ids = partial_member(l, o, "ids");
    struct id_sketch *s = &l->r->t->ids;
    if (!ids) {
        s->untold = l->r->t->dumps_read;
        return;
    }
    s->told = partial_get_number(l, ids, "told");
    s->untold = partial_get_number(l, ids, "untold");
    struct partial_items hashes = partial_items(l, partial_member(l, ids, "hashes"), 1, "ids");
    bool cut = tape_is(partial_member(l, ids, "cut"), VALUE_TRUE);
    if (hashes.count > ID_SKETCH_MAX || (cut && hashes.count < ID_SKETCH_MAX)) {
        partial_reject(l, "ids");
    }
    for (uint64_t last = 0; hashes.next < hashes.end && partial_fine(l);) {
        uint64_t hash = partial_hash(l, partial_take(&hashes), "ids");
        if (s->ids.len && hash <= last) {
            partial_reject(l, "ids");
        }
        last = hash;
        partial_need(l, !partial_fine(l) || id_sketch_add(s, hash, 1));
    }
    s->cut = cut;
    read_again(l, ids, s);
}

static void read_folded(struct partial_line *l, const struct tape_value *o) {
    const struct tape_value *folded = partial_member(l, o, "folded");
    for (size_t i = PARTIAL_ACTIONS; folded && i <= PARTIAL_LEVEL2; i++) {
        struct partial_items numbers =
            partial_items(l, partial_member(l, folded, partial_sets[i]), 1, "folded");
        struct bucket_set *set = partial_in_set_of(l->r->t, i);
        set->fold.folds = partial_take_number(l, &numbers, INT64_MAX, "folded");
        set->fold.buckets = partial_take_number(l, &numbers, INT64_MAX, "folded");
        set->fold.ms = partial_take_number(l, &numbers, INT64_MAX, "folded");
    }
}

static void partial_in_read_head(struct partial_line *l, const struct tape_value *o) {
    struct partial_reader *r = l->r;
    struct triage *t = r->t;
    uint64_t count, ms;
    t->options.rules = partial_keep(l, partial_get_text(l, o, "rules"));
    t->options.rules_hash = partial_hash(l, partial_member(l, o, "rules_hash"), "rules_hash");
    t->options.where = partial_keep(l, partial_text(l, partial_member(l, o, "where")));
    read_opened(l, o, &t->options);
    t->options.cap_ms = partial_get_number(l, o, "cap_ms");
    read_folded(l, o);
    t->dumps_read = partial_get_number(l, o, "dumps_read");
    t->unresolved = partial_get_number(l, o, "unresolved");
    read_thresholds(l, o);
    for (int a = APART_NONE + 1; a < APART_COUNT; a++) {
        t->apart[a] = partial_get_number(l, partial_member(l, o, "apart"),
                                         triage_apart_text((enum triage_apart)a));
    }
    for (size_t i = 0; i < PARTIAL_TABLES; i++) {
        const struct tape_value *rows = partial_member(l, o, partial_tables[i]);
        r->rows[i] = r->version == 1 ? 0 : partial_number(l, rows, NO_INDEX - 1, partial_tables[i]);
    }
    for (size_t i = 0; i < PARTIAL_SETS; i++) {
        if (i >= PARTIAL_IDLE && !partial_member(l, o, partial_sets[i])) {
            r->count[i] = 0; /* earlier versions do not have this member */
            continue;
        }
        r->count[i] =
            partial_number(l, partial_member(l, o, partial_sets[i]), NO_INDEX - 1, partial_sets[i]);
    }
    r->old_parts = !partial_member(l, o, partial_sets[PARTIAL_HOLDERS]);
    r->open = partial_number(l, partial_member(l, o, "open"), PENDING_MAX, "open");
    partial_read_clusters(l, o, "exposure", &t->exposure, &count, &ms);
    read_usage(l, o);
    read_ids(l, o);
    partial_read_tally(l, o, "total", &t->total);
}

/* Returns the set to which the line with number `taken` belongs; PARTIAL_SETS: the line is a
 * stall. */
static size_t set_of_line(const struct partial_reader *r) {
    uint64_t left = r->taken;
    size_t set = 0;
    while (set < PARTIAL_SETS && left >= r->count[set]) {
        left -= r->count[set++];
    }
    return set;
}

/* Returns the first table that is not complete yet; PARTIAL_TABLES: all are. */
static size_t table_of_line(const struct partial_reader *r) {
    size_t table = 0;
    while (table < PARTIAL_TABLES && r->rows[table] == 0) {
        table++;
    }
    return table;
}

static bool complete(const struct partial_reader *r) {
    uint64_t lines = r->open;
    if (table_of_line(r) < PARTIAL_TABLES) {
        return false;
    }
    for (size_t i = 0; i < PARTIAL_SETS; i++) {
        lines += r->count[i]; /* each count is below 2^32 */
    }
    return r->taken == lines;
}

/* Returns the version number in the name of the format; 0 = the name is not that of a partial. */
static unsigned version_of_format(const char *format) {
    static const char *const formats[] = {PARTIAL_FORMAT_1, PARTIAL_FORMAT_2, PARTIAL_FORMAT};
    for (unsigned i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (strcmp(format, formats[i]) == 0) {
            return i + 1;
        }
    }
    return 0;
}

static enum st partial_in_read_line(struct partial_reader *r, const struct tape_value *o,
                                    struct err *e) {
    struct partial_line l = {.r = r};
    if (!r->t) {
        const char *format = partial_text(&l, partial_member(&l, o, "format"));
        if (l.no_memory) {
            return err_nomem(e);
        }
        r->version = format ? version_of_format(format) : 0;
        if (!r->version) {
            return format && strcmp(format, "stall-triage/1") == 0
                       ? err_set(e, ERR_FORMAT,
                                 "JSON for programs, which does not say how stalls come by users: "
                                 "made with --partial instead, it can be counted")
                       : err_set(e, ERR_FORMAT, "not a partial: no \"" PARTIAL_FORMAT "\"");
        }
        if (triage_new(&r->t, &(struct triage_options){0}, e) != ST_OK) {
            return ST_ERR;
        }
        r->taken = 0;
        partial_in_read_head(&l, o);
    } else if (table_of_line(r) < PARTIAL_TABLES) {
        partial_read_rows(&l, o, table_of_line(r));
    } else {
        size_t set = set_of_line(r);
        if (set < PARTIAL_SETS) {
            partial_read_bucket(&l, o, set);
        } else {
            read_stall(&l, o);
        }
        r->taken++;
    }
    if (l.no_memory) {
        return err_nomem(e);
    }
    return l.bad ? err_set(e, ERR_FORMAT, "partial: \"%s\" is missing or wrong", l.bad) : ST_OK;
}

/* Parses the line into the tape. The document loader parses the line again if that fails, to find
 * the fault and its position, and if two names of an object may be equal, which it refuses. */
static enum st read_tape(struct partial_reader *r, const char *text, size_t len, struct err *e) {
    const struct document_options limits = {.text_max = PARTIAL_LINE_MAX,
                                            .depth_max = PARTIAL_DEPTH,
                                            .unique = true,
                                            .long_numbers = true};
    struct err why = {0};
    json_t *tree = NULL;
    r->tape.depth_max = PARTIAL_DEPTH;
    enum st st = len > PARTIAL_LINE_MAX ? ST_ERR : tape_read(&r->tape, text, len, &why);
    if (why.code == ERR_NOMEM) {
        return err_nomem(e);
    }
    if (st != ST_OK || !tape_names_differ(&r->tape)) {
        enum st told = document_load(&tree, text, len, &limits, e);
        json_decref(tree);
        return told == ST_OK && st != ST_OK ? err_set(e, ERR_INTERNAL, "the readers disagree")
                                            : told;
    }
    return ST_OK;
}

/* Forgets the texts of the line, and frees the tape or the arena if the line made it larger than
 * KEPT_MAX bytes. */
static void partial_in_end_line(struct partial_reader *r) {
    enum { KEPT_MAX = 4 << 20 };
    if (r->tape.values.cap > KEPT_MAX / sizeof *r->tape.values.data) {
        tape_release(&r->tape);
    }
    if (r->arena.used > KEPT_MAX) {
        arena_release(&r->arena);
    }
    arena_clear(&r->arena);
}

enum st partial_reader_line(struct partial_reader *r, const char *text, size_t len,
                            struct triage **done, struct err *e) {
    enum st st = read_tape(r, text, len, e);
    if (st == ST_OK) {
        st = partial_in_read_line(r, r->tape.values.data, e);
    } else if (st == ST_NONE) {
        st = err_set(e, ERR_FORMAT, "partial: not an object");
    } else {
        err_context(e, "partial");
    }
    partial_in_end_line(r);
    if (st != ST_OK) {
        partial_in_drop(r);
        return st;
    }
    if (!complete(r)) {
        return ST_NONE;
    }
    *done = r->t;
    partial_in_reset(r);
    return ST_OK;
}

enum st partial_reader_end(struct partial_reader *r, struct err *e) {
    bool cut = r->t != NULL;
    partial_in_drop(r);
    return cut ? err_set(e, ERR_TRUNCATED, "the partial ends before its last line") : ST_OK;
}
