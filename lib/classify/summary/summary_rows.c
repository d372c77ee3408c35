/* Writes and reads the rows of a summary: LEB128 numbers, and a table of texts, each followed by a
 * NUL. Numbers refer to texts by their offset in the table. */
#include "classify/summary/summary_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/leb128.h"
#include "base/map.h"
#include "base/parse.h"
#include "base/reader.h"
#include "classify/rules/causes.h"
#include "classify/summary/shown.h"

/* ROW_BYTES_MIN: minimum number of bytes of a row, one for each of its numbers. */
enum { ROWS_VERSION = 5, ROW_BYTES_MIN = 17 };

/* The facets of a row. Only for versions the numbers of dumps are written. */
static const enum summary_facet row_facets[] = {SUMMARY_VERSION, SUMMARY_OS, SUMMARY_DEVICE,
                                                SUMMARY_ACTION, SUMMARY_FRAMEWORK};
enum { ROW_FACETS = sizeof row_facets / sizeof *row_facets };

/* ---- writing ---- */

struct rows_writer {
    struct map offsets; /* text -> offset in `texts` */
    struct strbuf texts, numbers;
    bool failed; /* out of memory */
};

static void put_number(struct rows_writer *w, uint64_t v) {
    leb128_add(&w->numbers, v);
}

static void put_text(struct rows_writer *w, const char *text) {
    size_t len = strlen(text);
    bool added = false;
    struct map_entry *entry = map_put(&w->offsets, text, len, w->texts.len, &added);
    if (added) {
        strbuf_add(&w->texts, text, len + 1);
    }
    w->failed = w->failed || !entry;
    put_number(w, entry ? entry->value : 0);
}

static void put_values(struct rows_writer *w, const struct summary_values *v, bool dumps) {
    put_number(w, v->count);
    for (size_t i = 0; i < v->count; i++) {
        put_text(w, v->values[i].text);
        if (dumps) {
            put_number(w, v->values[i].dumps);
        }
    }
}

static void put_duration(struct rows_writer *w, struct tally_duration d) {
    put_number(w, d.ms);
    put_number(w, d.at_least);
}

/* Writes a row. False: the bucket's id is not a number, or its cause is not the word of a cause. */
static bool put_row(struct rows_writer *w, const struct summary_bucket *b) {
    uint64_t id;
    enum rule_cause cause;
    if (!parse_hex(b->id, strlen(b->id), &id) ||
        !rule_cause_parse(b->cause, strlen(b->cause), &cause)) {
        return false;
    }
    const uint64_t numbers[] = {id, b->ms, cause, b->users, b->stalls, b->dumps, b->fatal};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        put_number(w, numbers[i]);
    }
    put_duration(w, b->p50);
    put_duration(w, b->p95);
    put_text(w, b->title);
    for (size_t f = 0; f < ROW_FACETS; f++) {
        put_values(w, &b->by[row_facets[f]], row_facets[f] == SUMMARY_VERSION);
    }
    return true;
}

/* Writes a text that is not empty; NULL: there is none. */
static void put_gone_text(struct rows_writer *w, const char *text) {
    put_text(w, text ? text : "");
}

static void put_gone(struct rows_writer *w, const struct summary_gone *gone) {
    put_number(w, gone->count);
    for (size_t i = 0; i < gone->count; i++) {
        const struct gone_bucket *g = &gone->buckets[i];
        put_number(w, g->id);
        put_gone_text(w, g->gone_in);
        put_gone_text(w, g->returned_in);
        put_gone_text(w, g->again_in);
        put_gone_text(w, g->unwatched_in);
        put_gone_text(w, g->new_in);
    }
}

enum st summary_write_rows(const struct summary *s, size_t first, const struct summary_gone *gone,
                           struct strbuf *out, struct err *e) {
    struct rows_writer w = {{0}, {0}, {0}, false};
    bool numbered = !s->by_stalls && !s->outcome;
    first = first < s->buckets.len ? first : s->buckets.len;
    put_number(&w, first);
    put_text(&w, s->totals);
    put_gone(&w, gone);
    put_number(&w, s->buckets.len - first);
    for (size_t i = first; numbered && i < s->buckets.len; i++) {
        numbered = put_row(&w, &s->buckets.data[i]);
    }
    strbuf_addc(out, ROWS_VERSION);
    leb128_add(out, w.texts.len);
    strbuf_add(out, strbuf_cstr(&w.texts), w.texts.len);
    strbuf_add(out, strbuf_cstr(&w.numbers), w.numbers.len);
    bool failed = w.failed || w.texts.failed || w.numbers.failed;
    map_release(&w.offsets);
    strbuf_release(&w.texts);
    strbuf_release(&w.numbers);
    if (failed || strbuf_check(out, e) != ST_OK) {
        return err_nomem(e);
    }
    return numbered && out->len <= SUMMARY_ROWS_MAX ? ST_OK : ST_NONE;
}

/* ---- reading ---- */

/* LISTS_KNOWN: size of the cache of lists; LIST_MOST: maximum number of texts of a list in it. */
enum { LISTS_KNOWN = 512, LIST_MOST = 16 };

struct rows_reader {
    struct reader numbers;
    const char *texts; /* ends with a NUL */
    size_t text_len;
    size_t text_left; /* number of bytes of texts that may still be referred to */
    struct arena *arena;
    bool failed; /* out of memory */
    /* Lists of systems and of devices, by a hash of their texts' offsets: many rows have the same
     * ones, and share one array. */
    struct known_list {
        const struct summary_value *values; /* NULL = free */
        size_t count;
        size_t bytes; /* of its texts, with their NULs */
    } known[LISTS_KNOWN];
};

static const char *take_text(struct rows_reader *r) {
    uint64_t at = reader_uleb128(&r->numbers);
    size_t len = at < r->text_len ? strlen(r->texts + at) : SIZE_MAX;
    if (len >= r->text_left) {
        reader_fail(&r->numbers);
        return "";
    }
    r->text_left -= len + 1;
    return r->texts + at;
}

/* Reads the number of items that follow, each of which has at least `bytes` bytes; a number for
 * which too few bytes are left is damage. */
static size_t take_count(struct rows_reader *r, size_t bytes) {
    uint64_t count = reader_uleb128(&r->numbers);
    if (count > reader_left(&r->numbers) / bytes) {
        reader_fail(&r->numbers);
        return 0;
    }
    return (size_t)count;
}

/* Reads `count` values of a facet into the arena; with `dumps`, each with its number of dumps. */
static struct summary_values take_list(struct rows_reader *r, size_t count, bool dumps) {
    struct summary_value *values = count ? arena_array(r->arena, count, sizeof *values) : NULL;
    r->failed = r->failed || (count && !values);
    for (size_t i = 0; values && i < count; i++) {
        values[i] = (struct summary_value){.text = take_text(r)};
        values[i].dumps = dumps ? reader_uleb128(&r->numbers) : 0;
    }
    return (struct summary_values){values, values ? count : 0};
}

/* Is the list in this place of the cache the one that has the texts of these offsets? */
static bool is_known_list(const struct rows_reader *r, const struct known_list *known,
                          const uint64_t *offsets, size_t count) {
    if (!known->values || known->count != count) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if ((size_t)(known->values[i].text - r->texts) != offsets[i]) {
            return false;
        }
    }
    return true;
}

/* Reads a list of `count` texts, at most LIST_MOST, as take_values does. A list that was read
 * before is not made again. */
static struct summary_values take_short_list(struct rows_reader *r, size_t count) {
    struct reader before = r->numbers;
    uint64_t offsets[LIST_MOST], hash = count;
    for (size_t i = 0; i < count; i++) {
        offsets[i] = reader_uleb128(&r->numbers);
        hash = hash_u64(hash ^ offsets[i]);
    }
    struct known_list *known = &r->known[hash % LISTS_KNOWN];
    if (!r->numbers.failed && is_known_list(r, known, offsets, count) &&
        known->bytes < r->text_left) {
        r->text_left -= known->bytes;
        return (struct summary_values){known->values, count};
    }
    const size_t left = r->text_left;
    r->numbers = before;
    struct summary_values v = take_list(r, count, false);
    if (v.count && !r->numbers.failed) {
        *known = (struct known_list){v.values, count, left - r->text_left};
    }
    return v;
}

static struct summary_values take_values(struct rows_reader *r, enum summary_facet f) {
    const bool dumps = f == SUMMARY_VERSION, common = f == SUMMARY_OS || f == SUMMARY_DEVICE;
    size_t count = take_count(r, dumps ? 2 : 1);
    return common && count <= LIST_MOST ? take_short_list(r, count) : take_list(r, count, dumps);
}

static struct tally_duration take_duration(struct rows_reader *r) {
    struct tally_duration d = {.ms = reader_uleb128(&r->numbers)};
    d.at_least = reader_uleb128(&r->numbers) != 0;
    return d;
}

static void take_row(struct rows_reader *r, struct summary_bucket *b) {
    char *id = arena_alloc(r->arena, KEY_ID_SIZE);
    *b = (struct summary_bucket){.place = "", .causes = "", .why = "", .first = "", .last = ""};
    b->evidence = "";
    b->id = id ? id : "";
    r->failed = r->failed || !id;
    uint64_t number = reader_uleb128(&r->numbers);
    if (id) {
        key_number_text(number, id);
    }
    b->weight = b->ms = reader_uleb128(&r->numbers);
    uint64_t cause = reader_uleb128(&r->numbers);
    if (cause >= CAUSE_COUNT) {
        reader_fail(&r->numbers);
        cause = CAUSE_UNKNOWN;
    }
    b->cause = rule_cause_text((enum rule_cause)cause);
    b->users = reader_uleb128(&r->numbers);
    b->stalls = reader_uleb128(&r->numbers);
    b->dumps = reader_uleb128(&r->numbers);
    b->fatal = reader_uleb128(&r->numbers);
    b->p50 = take_duration(r);
    b->p95 = take_duration(r);
    b->title = take_text(r);
    for (size_t f = 0; f < ROW_FACETS; f++) {
        b->by[row_facets[f]] = take_values(r, row_facets[f]);
    }
}

/* Returns a text that put_gone_text wrote. */
static const char *take_gone_text(struct rows_reader *r) {
    const char *text = take_text(r);
    return *text ? text : NULL;
}

static void take_gone(struct rows_reader *r, struct summary_rows *out) {
    for (size_t count = take_count(r, 6); count && !r->failed && !r->numbers.failed; count--) {
        struct gone_bucket g = {.id = reader_uleb128(&r->numbers)};
        g.gone_in = take_gone_text(r);
        g.returned_in = take_gone_text(r);
        g.again_in = take_gone_text(r);
        g.unwatched_in = take_gone_text(r);
        g.new_in = take_gone_text(r);
        if (!g.gone_in && (g.returned_in || g.again_in || g.unwatched_in)) {
            reader_fail(&r->numbers);
        }
        r->failed = !VEC_PUSH(&out->gone, g) || r->failed;
    }
}

/* Reads the rows behind the places of the first buckets, in huge pages if there are many. */
static void take_rows(struct rows_reader *r, struct summary_rows *out) {
    size_t count = take_count(r, ROW_BYTES_MIN);
    if (out->first > SUMMARY_FIRST_MOST ||
        !VEC_RESERVE_LARGE(&out->buckets, out->first + count + 1)) {
        r->failed = r->failed || out->first <= SUMMARY_FIRST_MOST;
        reader_fail(&r->numbers);
        return;
    }
    out->buckets.len = out->first;
    for (; count && !r->failed && !r->numbers.failed; count--) {
        take_row(r, &out->buckets.data[out->buckets.len++]);
    }
}

/* Prepares the reader. False: the bytes are damaged. */
static bool open_rows(struct rows_reader *r, struct arena *arena, const void *bytes, size_t len) {
    *r = (struct rows_reader){
        .numbers = reader_init("rows", bytes, len), .text_left = SUMMARY_TEXTS_MAX, .arena = arena};
    bool known = reader_u8(&r->numbers) == ROWS_VERSION && len <= SUMMARY_ROWS_MAX;
    r->text_len = take_count(r, 1);
    r->texts = (const char *)reader_bytes(&r->numbers, r->text_len);
    return known && r->texts && r->text_len && !r->texts[r->text_len - 1];
}

enum st summary_rows_read(struct summary_rows *out, const void *bytes, size_t len, struct err *e) {
    struct rows_reader r;
    *out = (struct summary_rows){.totals = ""};
    bool known = open_rows(&r, &out->arena, bytes, len);
    if (known) {
        uint64_t first = reader_uleb128(&r.numbers);
        out->first = first < SIZE_MAX ? (size_t)first : SIZE_MAX;
        out->totals = take_text(&r);
        take_gone(&r, out);
        take_rows(&r, out);
    }
    if (known && !r.failed && !r.numbers.failed && !reader_left(&r.numbers)) {
        return ST_OK;
    }
    summary_rows_release(out);
    return known && r.failed ? err_nomem(e)
                             : err_set(e, ERR_FORMAT, "the rows of a page are damaged");
}

void summary_rows_release(struct summary_rows *rows) {
    VEC_RELEASE(&rows->buckets);
    VEC_RELEASE(&rows->gone);
    arena_release(&rows->arena);
    *rows = (struct summary_rows){0};
}

bool summary_rows_fit(const struct triage *t, const struct summary_rows *rows) {
    struct shown_bucket b;
    return !shown_bucket_at(t, rows->first, &b) &&
           (!rows->first || shown_bucket_at(t, rows->first - 1, &b));
}

enum st summary_take_rows(struct summary *s, struct summary_rows *rows, struct err *e) {
    if (rows->first != s->buckets.len || !rows->buckets.data) {
        return err_set(e, ERR_FORMAT, "the rows of a page are not those behind its buckets");
    }
    if (rows->first) {
        memcpy(rows->buckets.data, s->buckets.data, rows->first * sizeof *s->buckets.data);
    }
    VEC_RELEASE(&s->buckets);
    s->buckets.data = rows->buckets.data;
    s->buckets.len = rows->buckets.len;
    s->buckets.cap = rows->buckets.cap;
    s->totals = rows->totals;
    rows->buckets.data = NULL;
    rows->buckets.len = rows->buckets.cap = 0;
    return ST_OK;
}
