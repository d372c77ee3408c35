/* Sorts a triage again, by other rules or by names that became known later. Each bucket is sorted
 * by the one stack that it has kept. */
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "classify/keys/exemplar.h"
#include "classify/stats/sum.h"
#include "classify/stats/triage_private.h"

/* The new key of an action, found from the stacks of its buckets. */
struct named_action {
    /* Key of the stack with the best evidence; NULL = no stack has a key for the action. */
    struct key *key;
    const struct evidence *by; /* evidence of that stack */
    bool disagree;             /* another stack has another key */
};

struct rekeying {
    struct triage *t;
    const struct triage *from;
    struct keyer *k;
    uint32_t *texts, *pieces; /* for each string and piece of `from` its index in t */
    /* For each level-2 bucket of `from` its level-1 bucket in t; NO_INDEX = idle. */
    uint32_t *level1;
    struct strbuf text;      /* dump of the current stack */
    VEC(const char *) stack; /* pieces of the current stack */
    /* Resolves the names; NULL: the triage is sorted by other rules instead. */
    triage_resolve resolve;
    void *ctx;
    /* The members from here on are used only if `resolve` is not NULL. */
    uint32_t *level2; /* for each level-2 bucket of `from` its bucket in t; NO_INDEX = idle */
    struct named_action *actions; /* for each action of `from` its new key */
    uint32_t raw_action; /* action of the current stack without the new names; NO_INDEX = none */
};

/* Writes the dump that is made from a bucket's stack into r->text. */
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

/* Notes the action that the current stack has without the new names, then resolves the names of the
 * dump. */
static enum st rekey_resolve(struct rekeying *r, struct dump *d, struct err *e) {
    struct stall_key raw;
    if (keyer_key(r->k, d, &raw, e) != ST_OK) {
        return ST_ERR;
    }
    strbuf_clear(&r->text);
    key_text(&raw.action, &r->text);
    if (strbuf_check(&r->text, e) != ST_OK) {
        return ST_ERR;
    }
    const struct bucket *known =
        raw.action.count ? bucket_find_text(&r->from->actions, r->text.data, r->text.len) : NULL;
    r->raw_action = known ? known->index : NO_INDEX;
    return r->resolve(r->ctx, d, e);
}

static bool equal_keys(const struct key *a, const struct key *b) {
    bool equal = a->count == b->count;
    for (size_t i = 0; equal && i < a->count; i++) {
        equal = a->frames[i].info->canonical == b->frames[i].info->canonical;
    }
    return equal;
}

/* Notes `now` as the new key of the action that the current stack, which belongs to bucket b, had
 * without the new names, if b has better evidence than the stack noted before; sets `disagree` if
 * that stack's key differs. False: out of memory. */
static bool rekey_note_action(struct rekeying *r, const struct bucket *b, const struct key *now) {
    if (!r->resolve || r->raw_action == NO_INDEX || now->count == 0) {
        return true;
    }
    struct named_action *a = &r->actions[r->raw_action];
    a->disagree = a->disagree || (a->key && !equal_keys(a->key, now));
    if (a->key && !evidence_is_better(&b->evidence, a->by)) {
        return true;
    }
    a->key = a->key ? a->key : malloc(sizeof *a->key);
    if (!a->key) {
        return false;
    }
    *a->key = *now;
    a->by = &b->evidence;
    for (size_t i = 0; i < now->count;
         i++) { /* files are interned, because the dump to which they belong will be freed */
        a->key->frames[i].file = triage_intern(r->t, now->frames[i].file);
        if (now->frames[i].file && !a->key->frames[i].file) {
            return false;
        }
    }
    return true;
}

/* Makes the key of a bucket's stack; *d is its dump, which the caller releases unless ST_ERR is
 * returned. ST_NONE: the stack is idle, or rules hide all of its frames. */
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
    st = r->resolve ? rekey_resolve(r, d, e) : ST_OK;
    if (st == ST_OK) {
        st = keyer_key(r->k, d, key, e);
    }
    if (st == ST_OK && key->status == KEY_OK && !rekey_note_action(r, b, &key->action)) {
        st = err_nomem(e);
    }
    if (st != ST_OK) {
        dump_release(d);
        return ST_ERR;
    }
    return key->status == KEY_OK ? ST_OK : ST_NONE;
}

/* Replaces the evidence of a bucket of t by `from`. The stack, which only level 2 keeps, is that of
 * `key` with the new names. False: out of memory. */
static bool rekey_offer_named(struct rekeying *r, struct bucket *b, const struct evidence *from,
                              const struct dump *d, const struct stall_key *key, size_t level) {
    struct evidence offer = *from;
    offer.reason = triage_intern(r->t, from->reason);
    memset(&offer.stack, 0, sizeof offer.stack);
    bool ok = (!from->reason || offer.reason) &&
              (level == 0 || triage_cut_stack(r->t, d, key, &offer)) &&
              bucket_take_evidence(b, &offer);
    SMALL_VEC_RELEASE(&offer.stack);
    return ok;
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

/* Adds the id that a bucket had before as an alias. False: out of memory. */
static bool keep_id(struct bucket *now, const struct bucket *was) {
    uint64_t number;
    return strcmp(now->id, was->id) == 0 || !parse_hex(was->id, strlen(was->id), &number) ||
           bucket_add_alias(now, number, SUM_MAX);
}

/* Copies the bucket's aliases to the bucket that replaces it, if only names have changed. False:
 * out of memory. */
static bool rekey_keep_aliases(const struct rekeying *r, struct bucket *now,
                               const struct bucket *was) {
    for (size_t i = 0; r->resolve && i < was->aliases.len; i++) {
        uint64_t dumps = bucket_mostly_has(was, i) ? SUM_MAX : was->alias_dumps.data[i];
        if (!bucket_add_alias(now, was->aliases.data[i], dumps)) {
            return false;
        }
    }
    return true;
}

/* Adds the other keys of the bucket's samples to the bucket that replaces it, if only names have
 * changed. False: out of memory. */
static bool rekey_keep_near(const struct rekeying *r, struct bucket *now,
                            const struct bucket *was) {
    return !r->resolve || bucket_add_all_near(now, was);
}

/* Adds the bucket of level 2 with its counts, and its level-1 bucket without counts. Actions are
 * left out: a stack has only one of the actions that led to the bucket, and the gate does not use
 * them. False: out of memory. */
static bool rekey_add_bucket(struct rekeying *r, const struct bucket *from, const struct dump *d,
                             const struct stall_key *key) {
    struct triage *t = r->t;
    struct bucket *at[KEY_LEVELS];
    for (size_t i = 0; i < KEY_LEVELS; i++) {
        const struct bucket *was = i ? from : r->from->level[0].buckets.data[from->parent];
        at[i] = triage_bucket(t, &t->level[i], &key->level[i]);
        if (!at[i] || !bucket_add_ways(at[i], key, i, SUM_MAX) || !keep_id(at[i], was) ||
            !rekey_keep_aliases(r, at[i], was)) {
            return false;
        }
        if (bucket_offers_better(at[i], &from->evidence) &&
            (!triage_show(t, at[i], &key->level[i]) ||
             !(r->resolve ? rekey_offer_named(r, at[i], &from->evidence, d, key, i)
                          : rekey_take_evidence(r, at[i], &from->evidence)))) {
            return false;
        }
    }
    r->level1[from->index] = at[0]->index;
    if (r->resolve) {
        r->level2[from->index] = at[1]->index;
        sum_add(&t->unresolved, key->unresolved ? from->tally->dumps : 0);
    }
    return tally_merge(at[1]->tally, from->tally, r->texts) && rekey_keep_near(r, at[1], from) &&
           bucket_adopt(at[0], at[1]);
}

/* Counts the dumps of a bucket that is idle now. False: out of memory. */
static bool rekey_add_idle(struct rekeying *r, const struct bucket *from,
                           const struct stall_key *key) {
    r->level1[from->index] = NO_INDEX;
    sum_add(&r->t->apart[APART_IDLE], from->tally->dumps);
    if (!r->resolve) {
        return true;
    }
    struct bucket *b = triage_bucket(r->t, &r->t->idle, &key->level[0]);
    r->level2[from->index] = NO_INDEX;
    return b && tally_merge(b->tally, from->tally, r->texts) &&
           (!bucket_offers_better(b, &from->evidence) ||
            (triage_show(r->t, b, &key->level[0]) &&
             rekey_offer_named(r, b, &from->evidence, NULL, key, 0)));
}

static enum st rekey_add_all(struct rekeying *r, struct err *e) {
    enum st st = ST_OK;
    for (size_t i = 0; st == ST_OK && i < r->from->level[1].buckets.len; i++) {
        const struct bucket *b = r->from->level[1].buckets.data[i];
        struct dump d;
        struct stall_key key;
        st = rekey_key_of(r, b, &d, &key, e);
        if (st != ST_ERR) {
            bool added =
                st == ST_OK ? rekey_add_bucket(r, b, &d, &key) : rekey_add_idle(r, b, &key);
            st = added ? ST_OK : err_nomem(e);
            dump_release(&d);
        }
    }
    return st;
}

/* Returns the level-1 bucket of t in which all children of b are now; NO_INDEX: they are in
 * several, some are idle, or b has none. */
static uint32_t together(const struct rekeying *r, const struct bucket *b) {
    uint32_t at = b->children.len ? r->level1[b->children.data[0]] : NO_INDEX;
    for (size_t i = 0; i < b->children.len; i++) {
        if (r->level1[b->children.data[i]] != at) {
            return NO_INDEX;
        }
    }
    return at;
}

/* Adds b's counts and the other keys of its samples to level 1. If b was split, the counts of its
 * parts are added, because a stall of several dumps counts in the part that has most of its time,
 * even if that part is idle now; the other keys, which are not known of each part, are dropped.
 * False: out of memory. */
static bool count_level1(struct rekeying *r, const struct bucket *b) {
    struct bucket *const *buckets = r->t->level[0].buckets.data;
    uint32_t at = together(r, b);
    if (at != NO_INDEX) {
        return tally_merge(buckets[at]->tally, b->tally, r->texts) &&
               rekey_keep_near(r, buckets[at], b);
    }
    for (size_t i = 0; i < b->children.len; i++) {
        const struct bucket *child = r->from->level[1].buckets.data[b->children.data[i]];
        at = r->level1[child->index];
        if (at != NO_INDEX && !tally_merge(buckets[at]->tally, child->tally, r->texts)) {
            return false;
        }
    }
    return true;
}

/* Computes the total: the total of `from`, or, if some buckets are idle now, the sum over level 1.
 * False: out of memory. */
static bool count_total(struct rekeying *r) {
    if (r->t->apart[APART_IDLE] == 0) {
        return tally_merge(&r->t->total, &r->from->total, r->texts);
    }
    for (size_t i = 0; i < r->t->level[0].buckets.len; i++) {
        if (!tally_merge(&r->t->total, r->t->level[0].buckets.data[i]->tally, NULL)) {
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
        !usage_merge(&r->t->usage, &r->from->usage, r->texts) ||
        !id_sketch_merge(&r->t->ids, &r->from->ids)) {
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

static void rekeying_release(struct rekeying *r) {
    for (size_t i = 0; r->actions && i < r->from->actions.buckets.len; i++) {
        free(r->actions[i].key);
    }
    free(r->actions);
    free(r->level2);
    free(r->texts);
    free(r->pieces);
    strbuf_release(&r->text);
    VEC_RELEASE(&r->stack);
    free(r->level1);
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
    rekeying_release(&r);
    if (st != ST_OK) {
        triage_free(r.t);
        return st;
    }
    /* Dumps that were set apart have kept no stack to be sorted by, and stay set apart. */
    for (size_t i = 0; i < APART_COUNT; i++) {
        sum_add(&r.t->apart[i], from->apart[i]);
    }
    *out = r.t;
    return ST_OK;
}

/* ---- names that became known later ---- */

/* Adds the shares of actions to each level-2 bucket and to its level-1 bucket. False: out of
 * memory. */
static bool share_actions(const struct rekeying *r, const uint32_t *actions) {
    for (size_t i = 0; i < r->from->level[1].buckets.len; i++) {
        const struct bucket *from = r->from->level[1].buckets.data[i];
        for (size_t k = 0; r->level2[i] != NO_INDEX && k < from->actions.len; k++) {
            const struct action_share *a = &from->actions.data[k];
            uint32_t action = actions[a->action];
            if (!bucket_add_action(r->t->level[0].buckets.data[r->level1[i]], action, a->ms) ||
                !bucket_add_action(r->t->level[1].buckets.data[r->level2[i]], action, a->ms)) {
                return false;
            }
        }
    }
    return true;
}

/* Returns an array of the keys by which actions are merged; an element is NULL if its action keeps
 * the key that it has. No array (NULL): out of memory. */
static const struct key **action_keys(const struct rekeying *r, size_t count) {
    const struct key **keys = calloc(count + 1, sizeof(const struct key *));
    for (size_t i = 0; keys && i < count; i++) {
        keys[i] = r->actions[i].disagree ? NULL : r->actions[i].key;
    }
    return keys;
}

static enum st rename_all(struct rekeying *r, struct triage *from, struct err *e) {
    size_t actions = from->actions.buckets.len;
    struct triage_options *o = &r->t->options; /* the texts of the options belong to `from` */
    r->level2 = calloc(from->level[1].buckets.len + 1, sizeof *r->level2);
    r->actions = calloc(actions + 1, sizeof *r->actions);
    o->rules = triage_intern(r->t, o->rules);
    o->where = triage_intern(r->t, o->where);
    if (!r->level2 || !r->actions || !o->rules || (from->options.where && !o->where) ||
        !triage_merge_thresholds(r->t, from)) {
        return err_nomem(e);
    }
    if (rekey(r, e) != ST_OK) {
        return ST_ERR;
    }
    const struct key **named = action_keys(r, actions);
    struct triage_rest rest = {
        .texts = r->texts, .pieces = r->pieces, .level2 = r->level2, .named = named};
    bool ok = named && triage_merge_rest(r->t, from, &rest) && share_actions(r, rest.actions);
    free(named);
    free(rest.actions);
    return ok ? ST_OK : err_nomem(e);
}

enum st triage_rename(struct triage **out, struct triage *from, struct keyer *k,
                      triage_resolve resolve, void *ctx, struct err *e) {
    struct rekeying r = {.from = from, .k = k, .resolve = resolve, .ctx = ctx};
    if (triage_new(&r.t, &from->options, e) != ST_OK) {
        return ST_ERR;
    }
    enum st st = rename_all(&r, from, e);
    rekeying_release(&r);
    if (st != ST_OK) {
        triage_free(r.t);
        return st;
    }
    *out = r.t;
    return ST_OK;
}

/* Does the frame have a name, and not one that Apple's bitcode compiler has hidden ("__hidden#"
 * once normalised)? */
static bool has_true_name(const struct bucket_frame *f) {
    return f->resolved && strncmp(f->function, "__hidden#", 9) != 0;
}

bool triage_lacks_names(const struct triage *t) {
    for (size_t level = 0; level < KEY_LEVELS; level++) {
        const struct bucket_set *set = &t->level[level];
        for (size_t i = 0; i < set->buckets.len; i++) {
            const struct bucket *b = set->buckets.data[i];
            for (size_t k = 0; k < b->frame_count; k++) {
                if (!has_true_name(b->frames[k])) {
                    return true;
                }
            }
        }
    }
    return false;
}

const struct triage_options *triage_options_of(const struct triage *t) {
    return &t->options;
}
