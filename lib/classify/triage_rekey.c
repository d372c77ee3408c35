/* A triage sorted anew by other rules, from the one stack that each of its buckets has kept. */
#include <stdlib.h>
#include <string.h>

#include "classify/triage_private.h"

/* The key of a bucket's stack. ST_NONE: it is no stall by these rules. */
static enum st key_of(struct keyer *k, const struct bucket *b, struct dump *d,
                      struct stall_key *key, struct err *e) {
    const char *text = b->evidence.exemplar;
    if (!text) {
        return err_set(e, ERR_UNSUPPORTED, "bucket %s has no stack to be sorted anew by", b->id);
    }
    enum st st = dump_parse(d, text, strlen(text), e);
    if (st != ST_OK) {
        return st == ST_NONE ? err_set(e, ERR_FORMAT, "the stack of bucket %s is no dump", b->id)
                             : err_context(e, "the stack of bucket %s", b->id);
    }
    st = keyer_key(k, d, key, e);
    if (st != ST_OK || key->status != KEY_OK) {
        dump_release(d);
        return st != ST_OK ? st : ST_NONE;
    }
    return ST_OK;
}

static bool add_bucket(struct triage *t, const struct bucket *from, const struct stall_key *key,
                       const uint32_t *texts) {
    struct bucket *at[KEY_LEVELS];
    for (size_t i = 0; i < KEY_LEVELS; i++) {
        at[i] = triage_bucket(t, &t->level[i], &key->level[i]);
        if (!at[i] || !tally_merge(&at[i]->tally, &from->tally, texts)) {
            return false;
        }
        if (bucket_offers_better(at[i], &from->evidence) &&
            (!triage_show(t, at[i], &key->level[i]) ||
             !bucket_take_evidence(at[i], &from->evidence))) {
            return false;
        }
    }
    return bucket_adopt(at[0], at[1]) && tally_merge(&t->total, &from->tally, texts);
}

static enum st add_all(struct triage *t, const struct triage *from, struct keyer *k,
                       const uint32_t *texts, struct err *e) {
    enum st st = ST_OK;
    for (size_t i = 0; st == ST_OK && i < from->level[1].buckets.len; i++) {
        const struct bucket *b = from->level[1].buckets.data[i];
        struct dump d;
        struct stall_key key;
        st = key_of(k, b, &d, &key, e);
        if (st == ST_OK) {
            st = add_bucket(t, b, &key, texts) ? ST_OK : err_nomem(e);
            dump_release(&d);
        } else if (st == ST_NONE) {
            t->apart[APART_IDLE] += b->tally.dumps;
            st = ST_OK;
        }
    }
    return st;
}

enum st triage_rekey(struct triage **out, struct triage *from, struct keyer *k,
                     const struct triage_options *o, struct err *e) {
    struct triage *t = NULL;
    if (!stalls_flush(from)) {
        return err_nomem(e);
    }
    if (triage_new(&t, o, e) != ST_OK) {
        return ST_ERR;
    }
    triage_note_threshold(t, from->threshold_ms);
    uint32_t *texts = triage_map_strings(t, from);
    enum st st = texts && clusters_merge(&t->exposure, &from->exposure)
                     ? add_all(t, from, k, texts, e)
                     : err_nomem(e);
    free(texts);
    if (st != ST_OK) {
        triage_free(t);
        return st;
    }
    *out = t;
    return ST_OK;
}

const struct triage_options *triage_options_of(const struct triage *t) {
    return &t->options;
}
