/* Writes and reads stored dumps as LEB128 numbers. An index is written as its successor, so that 0
 * stands for STORED_NONE. First come the texts, the frames and the stacks, in the order of their
 * indexes, then the sums of all buckets, then the buckets. */
#include "classify/stored/stored_bytes.h"

#include <stdlib.h>
#include <string.h>

#include "base/leb128.h"
#include "base/reader.h"

enum {
    BUCKET_DUMPS = STORED_VERSIONS + 2 /* maximum number of dumps of a bucket: worst, newest … */
};

/* ---- writing ---- */

/* Writes a number that may be negative, with its sign in the lowest bit. */
static void put_stored_signed(struct strbuf *out, int64_t v) {
    leb128_add(out, v < 0 ? ~((uint64_t)v << 1) : (uint64_t)v << 1);
}

static void put_stored_index(struct strbuf *out, uint32_t index) {
    leb128_add(out, index == STORED_NONE ? 0 : (uint64_t)index + 1);
}

static void put_stored_tables(struct strbuf *out, const struct stored_dumps *s) {
    leb128_add(out, s->texts.count);
    for (size_t i = 0; i < s->texts.count; i++) {
        leb128_add(out, s->texts.entries[i].len);
        strbuf_add(out, s->texts.entries[i].key, s->texts.entries[i].len);
    }
    leb128_add(out, s->frames.count);
    for (size_t i = 0; i < s->frames.count; i++) {
        const struct stored_frame *f = stored_frame_at(s, (uint32_t)i);
        put_stored_index(out, f->function);
        put_stored_index(out, f->image);
        put_stored_index(out, f->file);
        leb128_add(out, f->line);
        leb128_add(out, f->flags);
    }
    leb128_add(out, s->stacks.count);
    for (size_t i = 0; i < s->stacks.count; i++) {
        size_t count;
        const uint32_t *frames = stored_stack(s, (uint32_t)i, &count);
        leb128_add(out, count);
        for (size_t k = 0; k < count; k++) {
            put_stored_index(out, frames[k]);
        }
    }
}

static void put_stored_values(struct strbuf *out, const struct stored_values by[STORED_FACETS]) {
    for (size_t f = 0; f < STORED_FACETS; f++) {
        leb128_add(out, by[f].values.len);
        for (size_t i = 0; i < by[f].values.len; i++) {
            put_stored_index(out, by[f].values.data[i].text);
            leb128_add(out, by[f].values.data[i].dumps);
            leb128_add(out, by[f].values.data[i].ms);
        }
    }
}

static void put_stored_dump(struct strbuf *out, const struct stored_dump *d) {
    const uint32_t texts[] = {d->id, d->time,   d->version, d->build,
                              d->os, d->device, d->screen,  d->reason};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        put_stored_index(out, texts[i]);
    }
    leb128_add(out, d->cause);
    put_stored_signed(out, d->span_ms);
    put_stored_signed(out, d->duration_ms);
    leb128_add(out, d->fatal);
    leb128_add(out, d->threads_left);
    leb128_add(out, d->threads.len);
    for (size_t i = 0; i < d->threads.len; i++) {
        const struct stored_thread *t = &d->threads.data[i];
        put_stored_signed(out, t->id);
        put_stored_signed(out, t->owner);
        put_stored_signed(out, t->cpu_permille);
        put_stored_index(out, t->name);
        put_stored_index(out, t->state);
        put_stored_index(out, t->waits);
        put_stored_index(out, t->stack);
        leb128_add(out, t->main);
    }
    leb128_add(out, d->samples.len);
    for (size_t i = 0; i < d->samples.len; i++) {
        put_stored_index(out, d->samples.data[i].stack);
        leb128_add(out, d->samples.data[i].count);
    }
}

/* The dumps of a bucket, each once. */
struct dump_list {
    struct stored_dump *dumps[BUCKET_DUMPS];
    size_t count;
};

/* Returns the place of a dump in the list, counted from 1; the dump is added if it is new. 0: there
 * is no dump. */
static size_t list_stored_dump(struct dump_list *list, struct stored_dump *d) {
    size_t at = 0;
    while (at < list->count && list->dumps[at] != d) {
        at++;
    }
    if (d && at == list->count) {
        list->dumps[list->count++] = d;
    }
    return d ? at + 1 : 0;
}

static void put_stored_bucket(struct strbuf *out, const struct stored_bucket *b) {
    struct dump_list list = {{NULL}, 0};
    size_t places[BUCKET_DUMPS] = {list_stored_dump(&list, b->worst),
                                   list_stored_dump(&list, b->newest)};
    for (size_t i = 0; i < b->of_version.len; i++) {
        places[2 + i] = list_stored_dump(&list, b->of_version.data[i]);
    }
    leb128_add(out, list.count);
    for (size_t i = 0; i < list.count; i++) {
        put_stored_dump(out, list.dumps[i]);
    }
    leb128_add(out, b->of_version.len);
    for (size_t i = 0; i < 2 + b->of_version.len; i++) {
        leb128_add(out, places[i]);
    }
    put_stored_values(out, b->by);
    leb128_add(out, b->stacks.len);
    for (size_t i = 0; i < b->stacks.len; i++) {
        put_stored_index(out, b->stacks.data[i].stack);
        leb128_add(out, b->stacks.data[i].ms);
        leb128_add(out, b->stacks.data[i].samples);
    }
    leb128_add(out, b->dropped_ms);
    leb128_add(out, b->chosen);
}

enum st stored_write_bytes(const struct stored_dumps *s, const struct stored_bucket *const *buckets,
                           size_t count, struct strbuf *out, struct err *e) {
    put_stored_tables(out, s);
    put_stored_values(out, s->by);
    leb128_add(out, count);
    for (size_t i = 0; i < count; i++) {
        leb128_add(out, buckets[i] != NULL);
        if (buckets[i]) {
            put_stored_bucket(out, buckets[i]);
        }
    }
    return strbuf_check(out, e);
}

/* ---- reading ---- */

struct bytes_reader {
    struct reader in;
    struct stored_dumps *s;
    bool failed; /* out of memory */
};

static bool bytes_are_sound(const struct bytes_reader *r) {
    return !r->failed && !r->in.failed;
}

/* Reads a number that must be at most `most`; a larger one is damage. */
static uint64_t take_stored_number(struct bytes_reader *r, uint64_t most) {
    uint64_t v = reader_uleb128(&r->in);
    if (v > most) {
        reader_fail(&r->in);
        return 0;
    }
    return v;
}

static int64_t take_stored_signed(struct bytes_reader *r) {
    uint64_t v = reader_uleb128(&r->in);
    return (int64_t)(v & 1 ? ~(v >> 1) : v >> 1);
}

/* Reads an index into a table of `count` entries, or STORED_NONE. */
static uint32_t take_stored_index(struct bytes_reader *r, const struct map *table) {
    uint64_t v = take_stored_number(r, table->count);
    return v ? (uint32_t)(v - 1) : STORED_NONE;
}

/* Reads an index that may not be STORED_NONE. */
static uint32_t take_some_stored(struct bytes_reader *r, const struct map *table) {
    uint32_t index = take_stored_index(r, table);
    if (index == STORED_NONE) {
        reader_fail(&r->in);
    }
    return index;
}

/* Reads the number of items that follow, each of which has at least a byte. */
static size_t take_stored_count(struct bytes_reader *r) {
    return (size_t)take_stored_number(r, reader_left(&r->in));
}

/* Adds an entry to a table. An entry that is there already is damage, because all later indexes
 * would be wrong. */
static void take_table_entry(struct bytes_reader *r, struct map *table, const void *bytes,
                             size_t len) {
    size_t before = table->count, index = bytes_are_sound(r) ? map_intern(table, bytes, len) : 0;
    r->failed = r->failed || index == SIZE_MAX;
    if (index < before) {
        reader_fail(&r->in);
    }
}

static void take_stored_texts(struct bytes_reader *r) {
    for (size_t count = take_stored_count(r); count && bytes_are_sound(r); count--) {
        size_t len = (size_t)take_stored_number(r, STORED_TEXT + 3);
        const uint8_t *text = reader_bytes(&r->in, len);
        if (!text || !len || memchr(text, '\0', len)) {
            reader_fail(&r->in);
        }
        take_table_entry(r, &r->s->texts, text, len);
    }
}

static void take_stored_frames(struct bytes_reader *r) {
    for (size_t count = take_stored_count(r); count && bytes_are_sound(r); count--) {
        struct stored_frame f;
        memset(&f, 0, sizeof f); /* padding is compared, too */
        f.function = take_some_stored(r, &r->s->texts);
        f.image = take_stored_index(r, &r->s->texts);
        f.file = take_stored_index(r, &r->s->texts);
        f.line = (uint32_t)take_stored_number(r, UINT32_MAX);
        f.flags = (uint32_t)take_stored_number(r, STORED_IN_APP | STORED_INLINED | STORED_NAMELESS);
        take_table_entry(r, &r->s->frames, &f, sizeof f);
    }
}

static void take_stored_stacks(struct bytes_reader *r) {
    for (size_t count = take_stored_count(r); count && bytes_are_sound(r); count--) {
        uint32_t frames[STORED_FRAMES];
        size_t depth = (size_t)take_stored_number(r, STORED_FRAMES);
        for (size_t i = 0; i < depth; i++) {
            frames[i] = take_some_stored(r, &r->s->frames);
        }
        if (!depth) {
            reader_fail(&r->in);
        }
        take_table_entry(r, &r->s->stacks, frames, depth * sizeof *frames);
    }
}

static void take_stored_values(struct bytes_reader *r, struct stored_values by[STORED_FACETS]) {
    for (size_t f = 0; f < STORED_FACETS; f++) {
        for (size_t count = (size_t)take_stored_number(r, STORED_VALUES);
             count && bytes_are_sound(r); count--) {
            struct stored_value v = {.text = take_some_stored(r, &r->s->texts)};
            v.dumps = reader_uleb128(&r->in);
            v.ms = reader_uleb128(&r->in);
            r->failed = !SMALL_VEC_PUSH(&by[f].values, v) || r->failed;
        }
    }
}

static void take_stored_threads(struct bytes_reader *r, struct stored_dump *d) {
    const struct map *texts = &r->s->texts;
    for (size_t count = (size_t)take_stored_number(r, STORED_THREADS); count && bytes_are_sound(r);
         count--) {
        struct stored_thread t = {.id = take_stored_signed(r)};
        t.owner = take_stored_signed(r);
        t.cpu_permille = take_stored_signed(r);
        t.name = take_stored_index(r, texts);
        t.state = take_stored_index(r, texts);
        t.waits = take_stored_index(r, texts);
        t.stack = take_stored_index(r, &r->s->stacks);
        t.main = take_stored_number(r, 1);
        r->failed = !SMALL_VEC_PUSH(&d->threads, t) || r->failed;
    }
}

static void take_stored_samples(struct bytes_reader *r, struct stored_dump *d) {
    for (size_t count = (size_t)take_stored_number(r, STORED_SAMPLES); count && bytes_are_sound(r);
         count--) {
        struct stored_sample sample = {.stack = take_stored_index(r, &r->s->stacks)};
        sample.count = reader_uleb128(&r->in);
        r->failed = !SMALL_VEC_PUSH(&d->samples, sample) || r->failed;
    }
}

static void take_stored_dump(struct bytes_reader *r, struct stored_dump *d) {
    uint32_t *const texts[] = {&d->id, &d->time,   &d->version, &d->build,
                               &d->os, &d->device, &d->screen,  &d->reason};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        *texts[i] = take_stored_index(r, &r->s->texts);
    }
    d->cause = (enum rule_cause)take_stored_number(r, CAUSE_COUNT - 1);
    d->span_ms = take_stored_signed(r);
    d->duration_ms = take_stored_signed(r);
    d->fatal = take_stored_number(r, 1);
    d->threads_left = (uint32_t)take_stored_number(r, UINT32_MAX);
    take_stored_threads(r, d);
    take_stored_samples(r, d);
}

/* Reads the dumps of a bucket into the list, which becomes their owner. */
static void take_stored_dumps(struct bytes_reader *r, struct dump_list *list) {
    for (size_t count = (size_t)take_stored_number(r, BUCKET_DUMPS); count && bytes_are_sound(r);
         count--) {
        struct stored_dump *d = calloc(1, sizeof *d);
        r->failed = r->failed || !d;
        if (d) {
            d->owners = 1;
            list->dumps[list->count++] = d;
            take_stored_dump(r, d);
            r->s->used += stored_dump_size(d);
        }
    }
}

/* Reads a place of the list, and puts its dump there; `some`: there must be a dump. */
static void take_stored_place(struct bytes_reader *r, const struct dump_list *list, bool some,
                              struct stored_dump **at) {
    uint64_t place = take_stored_number(r, list->count);
    if (place) {
        stored_dump_put(r->s, at, list->dumps[place - 1]);
    } else if (some) {
        reader_fail(&r->in);
    }
}

static void take_stored_places(struct bytes_reader *r, const struct dump_list *list,
                               struct stored_bucket *b) {
    size_t versions = (size_t)take_stored_number(r, STORED_VERSIONS);
    take_stored_place(r, list, list->count > 0, &b->worst);
    take_stored_place(r, list, list->count > 0, &b->newest);
    for (size_t i = 0; i < versions && bytes_are_sound(r); i++) {
        struct stored_dump *none = NULL;
        r->failed = !SMALL_VEC_PUSH(&b->of_version, none) || r->failed;
        if (!r->failed) {
            take_stored_place(r, list, true, &b->of_version.data[i]);
            b->of_version.len -= !b->of_version.data[i];
        }
    }
}

static void take_stored_bucket(struct bytes_reader *r, struct stored_bucket *b) {
    struct dump_list list = {{NULL}, 0};
    take_stored_dumps(r, &list);
    take_stored_places(r, &list, b);
    for (size_t i = 0; i < list.count; i++) {
        struct stored_dump *d = list.dumps[i];
        stored_dump_put(r->s, &d, NULL); /* the bucket's places stay its owners */
    }
    take_stored_values(r, b->by);
    for (size_t count = (size_t)take_stored_number(r, UINT64_C(2) * STORED_STACKS);
         count && bytes_are_sound(r); count--) {
        struct stored_weight w = {.stack = take_some_stored(r, &r->s->stacks)};
        w.ms = reader_uleb128(&r->in);
        w.samples = reader_uleb128(&r->in);
        r->failed = !SMALL_VEC_PUSH(&b->stacks, w) || r->failed;
    }
    b->dropped_ms = reader_uleb128(&r->in);
    b->chosen = reader_uleb128(&r->in);
}

/* Reads `count` of the buckets; the rest, if there is one, is not looked at. */
static void take_stored_buckets(struct bytes_reader *r, struct stored_bucket **buckets,
                                size_t count) {
    size_t written = take_stored_count(r);
    if (written < count) {
        reader_fail(&r->in);
    }
    for (size_t i = 0; i < count && bytes_are_sound(r); i++) {
        if (take_stored_number(r, 1)) {
            buckets[i] = calloc(1, sizeof **buckets);
            r->failed = r->failed || !buckets[i];
            if (buckets[i]) {
                take_stored_bucket(r, buckets[i]);
            }
        }
    }
    if (written == count && reader_left(&r->in)) {
        reader_fail(&r->in);
    }
}

enum st stored_read_bytes(struct stored_dumps *s, struct stored_bucket **buckets, size_t count,
                          const void *bytes, size_t len, struct err *e) {
    struct bytes_reader r = {.in = reader_init("stored dumps", bytes, len), .s = s};
    for (size_t i = 0; i < count; i++) {
        buckets[i] = NULL;
    }
    take_stored_texts(&r);
    take_stored_frames(&r);
    take_stored_stacks(&r);
    take_stored_values(&r, s->by);
    take_stored_buckets(&r, buckets, count);
    if (bytes_are_sound(&r)) {
        return ST_OK;
    }
    for (size_t i = 0; i < count; i++) {
        stored_bucket_free(s, buckets[i]);
        buckets[i] = NULL;
    }
    return r.failed ? err_nomem(e) : err_set(e, ERR_FORMAT, "stored dumps are damaged");
}
