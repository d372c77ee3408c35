/* Answers look-ups from the index if there is one, else from live debug info. */
#include "index/stored.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "index/live_private.h"

enum { OPENING_SHARE = 16 }; /* opening debug info costs 1 / OPENING_SHARE of its bytes */
/* Cost that means: the source cannot be indexed, so no process need try again. */
#define NEVER UINT64_MAX

struct stored {
    struct lookup_source source;
    struct index_store *store;
    struct index_source from;
    char *name;
    char *key; /* key in the store; NULL = the source is never indexed */
    lookup_complain complain;
    void *ctx;
    /* The index and the live source; answers borrow strings from both. NULL = not open. */
    _Atomic(struct lookup_source *) mapped, live;
    atomic_bool damaged; /* the index was found damaged and is not used any more */
    pthread_mutex_t own_lock;
    pthread_mutex_t *lock; /* held by look-ups that open a source or build the index; stored_open
                              does not take it */
    atomic_bool tried;     /* building was tried, or must not be */
    uint64_t earlier;      /* cost of earlier runs */
    uint64_t whole;        /* 1 + bytes of debug info in all units; set when `live` is opened */
};

static enum st open_live(struct stored *s, struct err *e) {
    struct lookup_source *live = NULL;
    const struct debug_others others = {.alt = s->from.alt, .split = s->from.split};
    if (atomic_load(&s->live)) {
        return ST_OK;
    }
    enum st st =
        lookup_open_live(&live, s->from.slice, s->from.paired, &others, s->complain, s->ctx, e);
    if (st == ST_OK && live->incomplete) {
        atomic_store(&s->tried, true); /* an index would stay incomplete */
    }
    if (st == ST_OK) {
        s->whole = live_bytes(live) + 1;
        atomic_store(&s->live, live);
    }
    return st;
}

/* Opens the index; builds it first if `add`. ST_NONE: there is no index that can be used, or none
 * could be built. */
static enum st open_index(struct stored *s, bool add, struct err *e) {
    if (add) {
        struct err why = {0};
        atomic_store(&s->tried, true);
        enum st st = index_store_add(s->store, &s->from, s->key, false, &why, e);
        if (err_is(&why)) {
            index_store_set_use(s->store, s->key, NEVER);
        }
        if (st != ST_OK) {
            return st;
        }
    }
    struct lookup_source *mapped = NULL;
    enum st st = index_store_open(s->store, s->key, s->from.fingerprint, &mapped, e);
    if (st == ST_OK) {
        atomic_store(&s->mapped, mapped);
    }
    return st;
}

/* Chooses between an index that lacks some of the source's files and a live look-up, for which
 * these files may exist now. An incomplete index of a debug map is used only if no object file of
 * the map can be used now (debug_map_is_lost), so that the index never hides lines of an object
 * file. */
static enum st settle_incomplete(struct stored *s, struct err *e) {
    struct lookup_source *mapped = atomic_load(&s->mapped);
    atomic_store(&s->mapped, NULL);
    enum st st = open_live(s, e);
    struct lookup_source *live = atomic_load(&s->live);
    if (st == ST_OK && mapped->is_map && debug_map_is_lost(&live->map)) {
        atomic_store(&s->mapped, mapped);
    } else {
        lookup_close(mapped);
    }
    return st;
}

/* Have live look-ups, over all runs, cost as much as the index would? `live` must be open. */
static bool pays(const struct stored *s) {
    return s->earlier + live_bytes_read(atomic_load(&s->live)) >= s->whole;
}

/* Must live debug info be opened, or the index be built, before a live look-up? */
static bool unprepared(const struct stored *s) {
    return !atomic_load(&s->live) ||
           (!atomic_load(&s->tried) && !atomic_load(&s->mapped) && pays(s));
}

/* Looks the address up in the index. ST_ERR with an empty *e: the index is damaged, and was removed
 * unless the store is another user's. */
static enum st look_up_mapped(struct stored *s, struct lookup_source *mapped, uint64_t address,
                              struct lookup_hit *hit, struct err *e) {
    struct err why;
    err_clear(&why); /* cheaper than an initialiser: the struct is large, and this is called a
                        million times */
    enum st st = lookup_address(mapped, address, hit, &why);
    if (st == ST_ERR && why.code == ERR_NOMEM) {
        return err_nomem(e);
    }
    if (st == ST_ERR) {
        index_store_remove(s->store, s->key);
        atomic_store(&s->damaged, true);
    }
    return st;
}

/* Opens live debug info, and builds the index if that pays. The caller holds the lock. */
static enum st prepare_live(struct stored *s, struct err *e) {
    if (open_live(s, e) != ST_OK) {
        return ST_ERR;
    }
    if (!unprepared(s)) {
        return ST_OK; /* another thread has done it */
    }
    enum st st = open_index(s, true, e);
    if (st == ST_OK) {
        live_limit_memory(atomic_load(&s->live), 0);
    }
    return st == ST_ERR ? ST_ERR : ST_OK;
}

static enum st look_up_live(struct stored *s, uint64_t address, struct lookup_hit *hit,
                            struct err *e) {
    if (unprepared(s)) {
        pthread_mutex_lock(s->lock);
        enum st st = prepare_live(s, e);
        pthread_mutex_unlock(s->lock);
        if (st != ST_OK) {
            return st;
        }
    }
    struct lookup_source *mapped = atomic_load(&s->mapped);
    bool indexed = mapped && !atomic_load(&s->damaged);
    return lookup_address(indexed ? mapped : atomic_load(&s->live), address, hit, e);
}

static enum st stored_lookup(struct lookup_source *source, uint64_t address, struct lookup_hit *hit,
                             struct err *e) {
    struct stored *s = (struct stored *)source;
    struct lookup_source *mapped = atomic_load(&s->mapped);
    if (mapped && !atomic_load(&s->damaged)) {
        enum st st = look_up_mapped(s, mapped, address, hit, e);
        if (st != ST_ERR || err_is(e)) {
            return st;
        }
    }
    return look_up_live(s, address, hit, e);
}

static void stored_close(struct lookup_source *source) {
    struct stored *s = (struct stored *)source;
    struct lookup_source *mapped = atomic_load(&s->mapped), *live = atomic_load(&s->live);
    if (live && !mapped && !atomic_load(&s->tried)) {
        index_store_set_use(s->store, s->key,
                            s->earlier + live_bytes_read(live) + s->whole / OPENING_SHARE + 1);
    }
    lookup_close(mapped);
    lookup_close(live);
    pthread_mutex_destroy(&s->own_lock);
    free(s->name);
    free(s->key);
    free(s);
}

static const struct lookup_ops stored_ops = {.lookup = stored_lookup, .close = stored_close};

/* The facts that the stabs of a debug map have given so far. */
struct map_times {
    bool untimed;  /* the object file of the current stabs has no time */
    bool function; /* an object file without a time has a function */
};

static bool look_at_time(void *ctx, const struct object_stab *stab) {
    struct map_times *t = ctx;
    if (stab->type == STAB_OBJECT_FILE) {
        t->untimed = stab->value == 0;
    }
    t->function = t->function || (stab->type == STAB_FUNCTION && t->untimed);
    return true;
}

/* Was the index made of object files for which their debug map has no time? The index does not
 * record that, so the debug map is read. */
static bool was_untimed(const struct stored *s, const struct lookup_source *index) {
    struct map_times t = {0};
    if (index->content < LOOKUP_HAS_SPLIT_DWARF || object_has_dwarf(s->from.slice)) {
        return false;
    }
    /* A file whose symbol table cannot be read has no debug map. */
    (void)!object_stabs(s->from.slice, look_at_time, &t, NULL);
    return t.function;
}

/* Opens the index if there is one or it pays to build it, else live debug info. */
static enum st open_either(struct stored *s, struct err *e) {
    enum st st = s->key ? open_index(s, false, e) : ST_NONE;
    if (st == ST_OK && atomic_load(&s->mapped)->incomplete) {
        st = settle_incomplete(s, e);
        if (st != ST_OK || atomic_load(&s->mapped)) {
            return st;
        }
    } else if (st != ST_NONE) {
        return st;
    }
    st = open_live(s, e);
    if (st != ST_OK || !s->key) {
        atomic_store(&s->tried, true);
        return st;
    }
    s->earlier = index_store_use(s->store, s->key);
    if (s->earlier == NEVER || atomic_load(&s->tried)) {
        atomic_store(&s->tried, true);
        return ST_OK;
    }
    return pays(s) && open_index(s, true, e) == ST_ERR ? ST_ERR : ST_OK;
}

enum st stored_open(struct lookup_source **out, struct index_store *store,
                    const struct index_source *source, pthread_mutex_t *lock,
                    lookup_complain complain, void *ctx, struct err *e) {
    struct strbuf key = {0};
    uint64_t fingerprint = 0;
    bool storable = store && index_store_key(source->slice, source->paired, source->alt, &key,
                                             &fingerprint, NULL) == ST_OK;
    struct stored *s = calloc(1, sizeof *s);
    char *name = strdup(source->name ? source->name : "");
    char *text = storable ? strbuf_take(&key) : NULL;
    strbuf_release(&key);
    if (!s || !name || (storable && !text)) {
        free(s);
        free(name);
        free(text);
        return err_nomem(e);
    }
    pthread_mutex_init(&s->own_lock, NULL);
    s->source = (struct lookup_source){.ops = &stored_ops, .concurrent = true};
    s->lock = lock ? lock : &s->own_lock;
    s->store = store;
    s->from = *source;
    s->name = name;
    s->key = text;
    s->complain = complain;
    s->ctx = ctx;
    s->from.name = name;
    s->from.fingerprint = fingerprint;
    enum st st = open_either(s, e);
    if (st != ST_OK) {
        atomic_store(&s->tried, true); /* set so that stored_close records no cost */
        stored_close(&s->source);
        return st;
    }
    const struct lookup_source *mapped = atomic_load(&s->mapped), *live = atomic_load(&s->live);
    const struct lookup_source *open = mapped ? mapped : live;
    s->source.content = open->content;
    s->source.lineless = open->lineless;
    s->source.hidden = open->hidden;
    s->source.names_cut = open->names_cut;
    s->source.dieless = open->dieless;
    s->source.incomplete = open->incomplete;
    s->source.is_map = open->is_map;
    s->source.untimed = mapped ? was_untimed(s, mapped) : open->untimed;
    s->source.map = open->map;
    *out = &s->source;
    return ST_OK;
}

bool stored_is_mapped(const struct lookup_source *s) {
    const struct stored *stored = (const struct stored *)s;
    return s->ops == &stored_ops && atomic_load(&stored->mapped) && !atomic_load(&stored->damaged);
}
