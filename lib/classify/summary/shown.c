/* Adds dumps and sums that the caller keeps to the data that is shown of a triage. */
#include "classify/summary/shown.h"

#include <string.h>

#include "base/parse.h"
#include "classify/stats/sum.h"
#include "classify/stats/triage_private.h"

static struct bucket *bucket_at(const struct triage *t, size_t rank) {
    const struct bucket_set *set = &t->level[0];
    return rank < set->buckets.len ? set->buckets.data[set->ranked[rank]] : NULL;
}

bool shown_bucket_at(const struct triage *t, size_t rank, struct shown_bucket *out) {
    const struct bucket *b = bucket_at(t, rank);
    if (!b) {
        return false;
    }
    *out = (struct shown_bucket){
        .dumps = b->tally->dumps, .aliases = b->aliases.data, .alias_count = b->aliases.len};
    if (bucket_is_other(b) || !parse_hex(b->id, strlen(b->id), &out->id)) {
        out->id = 0;
    }
    return true;
}

uint64_t shown_dump_count(const struct triage *t) {
    return t->total.dumps;
}

uint64_t shown_read_count(const struct triage *t) {
    uint64_t count = t->total.dumps;
    /* A triage that counted dumps itself has the ranked ones at APART_NONE, one that was read from
     * a partial has nothing there. */
    for (size_t i = APART_NONE + 1; i < APART_COUNT; i++) {
        sum_add(&count, t->apart[i]);
    }
    return count;
}

enum st shown_add_value(struct triage *t, size_t rank, enum stored_facet f, const char *text,
                        const struct stored_value *v, struct err *e) {
    struct bucket *b = rank == SHOWN_ALL ? NULL : bucket_at(t, rank);
    bool ok = (!b && rank != SHOWN_ALL) ||
              stored_value_add(&t->stored, b ? &b->stored : NULL, f, v, text);
    return ok ? ST_OK : err_nomem(e);
}

enum st shown_add_dump(struct triage *t, size_t rank, const struct dump *d,
                       const struct stall_key *key, struct err *e) {
    struct bucket *b = bucket_at(t, rank);
    int64_t span = dump_span_ms(d);
    if (!b || !key->level[0].count) {
        return ST_NONE;
    }
    strbuf_clear(&t->scratch);
    key_text(&key->level[0], &t->scratch);
    if (t->scratch.failed) {
        return err_nomem(e);
    }
    if (bucket_find_text(&t->level[0], strbuf_cstr(&t->scratch), t->scratch.len) != b) {
        return ST_NONE;
    }
    uint64_t ms = span > 0 ? (uint64_t)span : 0, cap = t->options.cap_ms;
    t->stored.limit = SHOWN_BYTES;
    return stored_dumps_show(&t->stored, &b->stored, d, key, cap && ms > cap ? cap : ms)
               ? ST_OK
               : err_nomem(e);
}
