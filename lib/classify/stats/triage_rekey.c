/* Sorts a triage anew by other rules, from the one stack that each of its buckets has kept. */
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "classify/keys/exemplar.h"
#include "classify/stats/sum.h"
#include "classify/stats/triage_private.h"

struct rekeying {
    struct triage *t;
    const struct triage *from;
    struct keyer *k;
    uint32_t *texts, *pieces; /* for each string and piece of from its index in t */
    uint32_t *level1;   /* for each level-2 bucket of from its level 1 in t; NO_INDEX = no stall */
    struct strbuf text; /* of the stack at hand */
    VEC(const char *) stack; /* its pieces */
};

/* Fills r->text with the dump of a bucket's stack. */
static enum st rekey_stack(struct rekeying *r, const struct bucket *b, struct err *e) {
    r->stack.len = 0;
    strbuf_clear(&r->text);
    if (!b->evidence.stack.len) {
        return err_set(e, ERR_UNSUPPORTED, "bucket %s has no stack to be sorted anew by", b->id);
    }
    for (size_t i = 0; i < b->evidence.stack.len; i++) {
        if (!VEC_PUSH(&r->stack, map_string(&r->from->pieces, b->evidence.stack.data[i]))) {
            return err_nomem(e);
        }
    }
    return exemplar_join(r->stack.data, r->stack.len, &r->text, e) == ST_OK
               ? ST_OK
               : err_context(e, "the stack of bucket %s", b->id);
}

/* Makes the key of a bucket's stack. ST_NONE: it is no stall by these rules. */
static enum st rekey_key_of(struct rekeying *r, const struct bucket *b, struct dump *d,
                            struct stall_key *key, struct err *e) {
    struct strbuf *text = &r->text;
    enum st st = rekey_stack(r, b, e);
    if (st != ST_OK) {
        return st;
    }
    st = dump_parse(d, strbuf_cstr(text), text->len, e);
    if (st != ST_OK) {
        return st == ST_NONE ? err_set(e, ERR_FORMAT, "the stack of bucket %s is no dump", b->id)
                             : err_context(e, "the stack of bucket %s", b->id);
    }
    st = keyer_key(r->k, d, key, e);
    if (st != ST_OK || key->status != KEY_OK) {
        dump_release(d);
        return st != ST_OK ? st : ST_NONE;
    }
    return ST_OK;
}

static bool rekey_take_evidence(const struct rekeying *r, struct bucket *b,
                                const struct evidence *from) {
    struct evidence offer = *from;
    offer.reason = triage_intern(r->t, from->reason);
    if ((from->reason && !offer.reason) || !bucket_take_evidence(b, &offer)) {
        return false;
    }
    for (size_t i = 0; i < b->evidence.stack.len; i++) {
        b->evidence.stack.data[i] = r->pieces[b->evidence.stack.data[i]];
    }
    return true;
}

/* The id that a bucket had before is one of what it is now. False: out of memory. */
static bool keep_id(struct bucket *now, const struct bucket *was) {
    uint64_t number;
    return strcmp(now->id, was->id) == 0 || !parse_hex(was->id, strlen(was->id), &number) ||
           bucket_add_alias(now, number);
}

/* Level 2, and what level 1 shows. Actions are left out: one stack tells one of those that led to
 * the bucket, and nobody asks. */
static bool rekey_add_bucket(struct rekeying *r, const struct bucket *from,
                             const struct stall_key *key) {
    struct triage *t = r->t;
    struct bucket *at[KEY_LEVELS];
    for (size_t i = 0; i < KEY_LEVELS; i++) {
        at[i] = triage_bucket(t, &t->level[i], &key->level[i]);
        if (!at[i] || !bucket_add_ways(at[i], key, i) ||
            !keep_id(at[i], i ? from : r->from->level[0].buckets.data[from->parent])) {
            return false;
        }
        if (bucket_offers_better(at[i], &from->evidence) &&
            (!triage_show(t, at[i], &key->level[i]) ||
             !rekey_take_evidence(r, at[i], &from->evidence))) {
            return false;
        }
    }
    r->level1[from->index] = at[0]->index;
    return tally_merge(&at[1]->tally, &from->tally, r->texts) && bucket_adopt(at[0], at[1]);
}

static enum st rekey_add_all(struct rekeying *r, struct err *e) {
    enum st st = ST_OK;
    for (size_t i = 0; st == ST_OK && i < r->from->level[1].buckets.len; i++) {
        const struct bucket *b = r->from->level[1].buckets.data[i];
        struct dump d;
        struct stall_key key;
        st = rekey_key_of(r, b, &d, &key, e);
        if (st == ST_OK) {
            st = rekey_add_bucket(r, b, &key) ? ST_OK : err_nomem(e);
            dump_release(&d);
        } else if (st == ST_NONE) {
            r->level1[i] = NO_INDEX;
            sum_add(&r->t->apart[APART_IDLE], b->tally.dumps);
            st = ST_OK;
        }
    }
    return st;
}

/* The level 1 of t that all buckets of b are in now; NO_INDEX: there are several, or some are no
 * stalls. */
static uint32_t together(const struct rekeying *r, const struct bucket *b) {
    uint32_t at = b->children.len ? r->level1[b->children.data[0]] : NO_INDEX;
    for (size_t i = 0; i < b->children.len; i++) {
        if (r->level1[b->children.data[i]] != at) {
            return NO_INDEX;
        }
    }
    return at;
}

/* Adds b's counts to level 1. Where b was split its parts are added up: a stall of several dumps
 * counts where most of its time is, also if that is no stall by these rules. */
static bool count_level1(struct rekeying *r, const struct bucket *b) {
    struct bucket *const *buckets = r->t->level[0].buckets.data;
    uint32_t at = together(r, b);
    if (at != NO_INDEX) {
        return tally_merge(&buckets[at]->tally, &b->tally, r->texts);
    }
    for (size_t i = 0; i < b->children.len; i++) {
        const struct bucket *child = r->from->level[1].buckets.data[b->children.data[i]];
        at = r->level1[child->index];
        if (at != NO_INDEX && !tally_merge(&buckets[at]->tally, &child->tally, r->texts)) {
            return false;
        }
    }
    return true;
}

/* Adds all stalls, in the same way without those that are none any more. */
static bool count_total(struct rekeying *r) {
    if (r->t->apart[APART_IDLE] == 0) {
        return tally_merge(&r->t->total, &r->from->total, r->texts);
    }
    for (size_t i = 0; i < r->t->level[0].buckets.len; i++) {
        if (!tally_merge(&r->t->total, &r->t->level[0].buckets.data[i]->tally, NULL)) {
            return false;
        }
    }
    return true;
}

static enum st rekey(struct rekeying *r, struct err *e) {
    const struct bucket_set *level1 = &r->from->level[0];
    r->texts = triage_map_strings(&r->t->strings, &r->from->strings);
    r->pieces = triage_map_strings(&r->t->pieces, &r->from->pieces);
    r->level1 = calloc(r->from->level[1].buckets.len + 1, sizeof *r->level1);
    if (!r->texts || !r->pieces || !r->level1 ||
        !clusters_merge(&r->t->exposure, &r->from->exposure) ||
        !usage_merge(&r->t->usage, &r->from->usage, r->texts)) {
        return err_nomem(e);
    }
    if (rekey_add_all(r, e) != ST_OK) {
        return ST_ERR;
    }
    for (size_t i = 0; i < level1->buckets.len; i++) {
        if (!count_level1(r, level1->buckets.data[i])) {
            return err_nomem(e);
        }
    }
    return count_total(r) ? ST_OK : err_nomem(e);
}

enum st triage_rekey(struct triage **out, struct triage *from, struct keyer *k,
                     const struct triage_options *o, struct err *e) {
    struct rekeying r = {.from = from, .k = k};
    if (!stalls_flush(from)) {
        return err_nomem(e);
    }
    if (triage_new(&r.t, o, e) != ST_OK) {
        return ST_ERR;
    }
    enum st st = triage_merge_thresholds(r.t, from) ? rekey(&r, e) : err_nomem(e);
    free(r.texts);
    free(r.pieces);
    strbuf_release(&r.text);
    VEC_RELEASE(&r.stack);
    free(r.level1);
    if (st != ST_OK) {
        triage_free(r.t);
        return st;
    }
    *out = r.t;
    return ST_OK;
}

const struct triage_options *triage_options_of(const struct triage *t) {
    return &t->options;
}
