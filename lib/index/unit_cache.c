/* Keeps units in memory. Reading a unit changes the struct debug that reads it, so each thread
 * needs one of its own while it reads: one is opened at first, and another one only when a thread
 * reads while all are in use. The first one is also used to find the units that claim an address,
 * which does not change it; only during debug_scan_units no other thread may use it. */
#include "index/unit_cache.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/strbuf.h"
#include "base/vec.h"

enum { CACHE_BYTES = 192 << 20 };

/* The state of a unit. */
struct unit_slot {
    struct flat_unit *unit; /* NULL = not in memory */
    bool reading;           /* a thread is reading the unit */
    bool unreadable;
};

struct unit_cache {
    const struct object_slice *slice;
    struct debug_others others;
    const struct own_symbols *own;
    struct debug *first;
    /* lock of the ranges in `first`: read to find units, written by a scan */
    pthread_rwlock_t ranges;

    /* units that could not be dropped, because they are in use, exceed the limit */
    atomic_bool crowded;
    pthread_mutex_t lock; /* guards the members below up to talk; not held while a unit is read */
    pthread_cond_t changed;
    VEC(struct debug *) readers; /* all struct debugs that were opened */
    VEC(struct debug *) spare;   /* the readers that are not reading now */
    atomic_bool scanned;         /* debug_scan_units was called: all ranges are known */
    struct unit_slot *slots;     /* a slot for each unit */
    size_t unit_count, bytes, byte_limit;
    uint64_t read;
    struct flat_unit *newest, *oldest;
    /* Paths of all units that were read, kept because answers outlive their unit. */
    struct map paths;

    pthread_mutex_t talk; /* guards the members below */
    lookup_complain complain;
    void *complain_ctx;
    struct map told; /* unit, file and text of each complaint that was passed on */
};

_Static_assert(LOOKUP_NO_UNIT == DEBUG_NO_UNIT, "complaints are handed on as they are");

/* ---- complaints ---- */

static void tell_once(void *ctx, const char *file, uint64_t unit_offset, const struct err *why) {
    struct unit_cache *c = ctx;
    struct strbuf key = {0};
    bool added = true; /* if memory runs out, the same complaint may be made again */
    strbuf_addu64(&key, unit_offset);
    strbuf_addf(&key, " %s\n%s", file, why->text);
    pthread_mutex_lock(&c->talk);
    if (!key.failed && !map_put(&c->told, key.data, key.len, 0, &added)) {
        added = true;
    }
    if (added && c->complain) {
        c->complain(c->complain_ctx, file, unit_offset, why);
    }
    pthread_mutex_unlock(&c->talk);
    strbuf_release(&key);
}

/* ---- readers; the lock is held ---- */

/* Opens one more reader; the lock is released while debug_open runs. */
static enum st open_reader(struct unit_cache *c, struct debug **out, struct err *e) {
    struct debug *d = NULL;
    pthread_mutex_unlock(&c->lock);
    enum st st = debug_open(&d, c->slice, &c->others, tell_once, c, e);
    pthread_mutex_lock(&c->lock);
    if (st != ST_OK) {
        return st;
    }
    /* Reserves a place in spare: all readers may be spare at once. */
    if (!vec_reserve((void **)&c->spare.data, c->readers.len, &c->spare.cap, 1,
                     sizeof *c->spare.data) ||
        !VEC_PUSH(&c->readers, d)) {
        debug_close(d);
        return err_nomem(e);
    }
    *out = d;
    return ST_OK;
}

static enum st take_reader(struct unit_cache *c, struct debug **out, struct err *e) {
    if (c->spare.len == 0) {
        return open_reader(c, out, e);
    }
    *out = c->spare.data[--c->spare.len];
    return ST_OK;
}

static void give_back(struct unit_cache *c, struct debug *d) {
    c->spare.data[c->spare.len++] = d;
    pthread_cond_broadcast(&c->changed);
}

static bool first_is_spare(const struct unit_cache *c) {
    for (size_t i = 0; i < c->spare.len; i++) {
        if (c->spare.data[i] == c->first) {
            return true;
        }
    }
    return false;
}

/* ---- units in memory; the lock is held ---- */

static void unlink_unit(struct unit_cache *c, struct flat_unit *u) {
    *(u->newer ? &u->newer->older : &c->newest) = u->older;
    *(u->older ? &u->older->newer : &c->oldest) = u->newer;
    u->newer = u->older = NULL;
}

static void link_newest(struct unit_cache *c, struct flat_unit *u) {
    u->older = c->newest;
    *(c->newest ? &c->newest->newer : &c->oldest) = u;
    c->newest = u;
}

static void drop_old_units(struct unit_cache *c) {
    struct flat_unit *next = c->oldest;
    if (c->bytes <= c->byte_limit) {
        return;
    }
    atomic_store(&c->crowded, true); /* must precede the reading of users, see unit_cache_put */
    while (c->bytes > c->byte_limit && next != c->newest) {
        struct flat_unit *u = next;
        next = u->newer;
        if (atomic_load(&u->users) == 0) {
            unlink_unit(c, u);
            c->bytes -= u->bytes;
            c->slots[u->index].unit = NULL;
            flat_unit_free(u);
        }
    }
    atomic_store(&c->crowded, c->bytes > c->byte_limit && c->oldest != c->newest);
}

/* Replaces the unit's paths by copies that the cache keeps, because answers borrow them and may
 * outlive the unit. */
static enum st intern_paths(struct unit_cache *c, struct flat_unit *u, struct err *e) {
    for (size_t i = 0; i < u->unit.path_count; i++) {
        const char *path = u->unit.files[i];
        size_t index = path ? map_intern(&c->paths, path, strlen(path)) : 0;
        if (index == SIZE_MAX) {
            return err_nomem(e);
        }
        u->unit.files[i] = path ? map_string(&c->paths, index) : NULL;
    }
    return ST_OK;
}

/* Reads a unit; the lock is released while flat_unit_open runs. ST_NONE: the unit is damaged. */
static enum st read_unit(struct unit_cache *c, size_t index, struct err *e) {
    struct unit_slot *slot = &c->slots[index];
    struct debug *reader = NULL;
    struct flat_unit *u = NULL;
    struct err why = {0};
    slot->reading = true;
    c->read += debug_unit_size(c->first, index);
    enum st st = take_reader(c, &reader, &why);
    if (st == ST_OK) {
        pthread_mutex_unlock(&c->lock);
        st = flat_unit_open(&u, reader, c->own, index, &why);
        pthread_mutex_lock(&c->lock);
        give_back(c, reader);
    }
    if (st == ST_OK && intern_paths(c, u, &why) != ST_OK) {
        flat_unit_free(u);
        st = ST_ERR;
    }
    slot->reading = false;
    pthread_cond_broadcast(&c->changed);
    if (st == ST_OK) {
        slot->unit = u;
        c->bytes += u->bytes;
        link_newest(c, u);
        return ST_OK;
    }
    if (why.code == ERR_NOMEM || !reader) {
        return err_copy(e, &why); /* the unit itself may be undamaged */
    }
    slot->unreadable = true;
    return ST_NONE;
}

enum st unit_cache_get(struct unit_cache *c, size_t index, struct flat_unit **out, struct err *e) {
    struct unit_slot *slot = &c->slots[index];
    enum st st = ST_OK;
    pthread_mutex_lock(&c->lock);
    while (slot->reading) {
        pthread_cond_wait(&c->changed, &c->lock);
    }
    if (slot->unreadable) {
        st = ST_NONE;
    } else if (!slot->unit) {
        st = read_unit(c, index, e);
    }
    if (st == ST_OK) {
        atomic_fetch_add(&slot->unit->users, 1);
        unlink_unit(c, slot->unit);
        link_newest(c, slot->unit);
        drop_old_units(c);
        *out = slot->unit;
    }
    pthread_mutex_unlock(&c->lock);
    return st;
}

/* Ends the use of a unit, and drops old units if the cache is crowded. Either this thread sees that
 * the cache is crowded, or the thread that set crowded sees that this user has left. */
void unit_cache_put(struct unit_cache *c, struct flat_unit *u) {
    atomic_fetch_sub(&u->users, 1); /* from here on another thread may free the unit */
    if (atomic_load(&c->crowded)) {
        pthread_mutex_lock(&c->lock);
        drop_old_units(c);
        pthread_mutex_unlock(&c->lock);
    }
}

void unit_cache_limit(struct unit_cache *c, size_t bytes) {
    pthread_mutex_lock(&c->lock);
    c->byte_limit = bytes;
    drop_old_units(c);
    pthread_mutex_unlock(&c->lock);
}

/* ---- finding ---- */

static size_t find_known(struct unit_cache *c, uint64_t address, size_t *units, size_t max) {
    pthread_rwlock_rdlock(&c->ranges);
    size_t count = debug_find_known_units(c->first, address, units, max);
    pthread_rwlock_unlock(&c->ranges);
    return count;
}

/* Scans the ranges of all units once. No other thread uses the first reader then: the lock is held,
 * and the reader is spare. */
static enum st scan_ranges(struct unit_cache *c, struct err *e) {
    enum st st = ST_OK;
    pthread_mutex_lock(&c->lock);
    while (!c->scanned && !first_is_spare(c)) {
        pthread_cond_wait(&c->changed, &c->lock);
    }
    if (!c->scanned) {
        pthread_rwlock_wrlock(&c->ranges);
        st = debug_scan_units(c->first, e);
        pthread_rwlock_unlock(&c->ranges);
        c->scanned = st == ST_OK;
    }
    pthread_mutex_unlock(&c->lock);
    return st;
}

enum st unit_cache_find(struct unit_cache *c, uint64_t address, size_t *units, size_t max,
                        size_t *count, struct err *e) {
    *count = find_known(c, address, units, max);
    if (*count == 0 && !c->scanned) {
        if (scan_ranges(c, e) != ST_OK) {
            return ST_ERR;
        }
        *count = find_known(c, address, units, max);
    }
    return ST_OK;
}

/* ---- figures ---- */

uint64_t unit_cache_bytes(struct unit_cache *c) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < c->unit_count; i++) {
        bytes += debug_unit_size(c->first, i);
    }
    return bytes;
}

uint64_t unit_cache_bytes_read(struct unit_cache *c) {
    pthread_mutex_lock(&c->lock);
    uint64_t read = c->read;
    pthread_mutex_unlock(&c->lock);
    return read;
}

enum st unit_cache_check(const struct unit_cache *c, struct err *e) {
    if (c->unit_count > 0 || c->told.count == 0) {
        return c->unit_count > 0 ? ST_OK : ST_NONE;
    }
    return err_set(e, ERR_FORMAT, "none of its units can be read");
}

bool unit_cache_is_split(const struct unit_cache *c) {
    return debug_split_units(c->first) > 0;
}

struct debug_map_files unit_cache_map(const struct unit_cache *c) {
    return debug_map_files(c->first);
}

bool unit_cache_is_dieless(const struct unit_cache *c) {
    return debug_dieless_units(c->first) > 0;
}

bool unit_cache_is_lineless(const struct unit_cache *c) {
    return debug_is_lineless(c->first);
}

size_t unit_cache_held(struct unit_cache *c) {
    size_t held = 0;
    pthread_mutex_lock(&c->lock);
    for (const struct flat_unit *u = c->newest; u; u = u->older) {
        held++;
    }
    pthread_mutex_unlock(&c->lock);
    return held;
}

/* ---- open, close ---- */

static enum st open_first(struct unit_cache *c, struct err *e) {
    pthread_mutex_lock(&c->lock);
    enum st st = open_reader(c, &c->first, e);
    if (st == ST_OK) {
        give_back(c, c->first);
        c->unit_count = debug_unit_count(c->first);
        c->slots = calloc(c->unit_count + 1, sizeof *c->slots);
        st = c->slots ? ST_OK : err_nomem(e);
    }
    pthread_mutex_unlock(&c->lock);
    return st;
}

enum st unit_cache_open(struct unit_cache **out, const struct object_slice *s,
                        const struct debug_others *others, const struct own_symbols *own,
                        lookup_complain complain, void *ctx, struct err *e) {
    struct unit_cache *c = calloc(1, sizeof *c);
    if (!c) {
        return err_nomem(e);
    }
    c->slice = s;
    c->others = others ? *others : (struct debug_others){0};
    c->own = own;
    c->byte_limit = CACHE_BYTES;
    c->complain = complain;
    c->complain_ctx = ctx;
    pthread_mutex_init(&c->lock, NULL);
    pthread_mutex_init(&c->talk, NULL);
    pthread_rwlock_init(&c->ranges, NULL);
    pthread_cond_init(&c->changed, NULL);
    enum st st = open_first(c, e);
    if (st != ST_OK) {
        unit_cache_close(c);
        return st;
    }
    *out = c;
    return ST_OK;
}

void unit_cache_close(struct unit_cache *c) {
    if (!c) {
        return;
    }
    while (c->newest) {
        struct flat_unit *u = c->newest;
        unlink_unit(c, u);
        flat_unit_free(u);
    }
    for (size_t i = 0; i < c->readers.len; i++) {
        debug_close(c->readers.data[i]);
    }
    VEC_RELEASE(&c->readers);
    VEC_RELEASE(&c->spare);
    map_release(&c->told);
    map_release(&c->paths);
    free(c->slots);
    pthread_cond_destroy(&c->changed);
    pthread_mutex_destroy(&c->talk);
    pthread_rwlock_destroy(&c->ranges);
    pthread_mutex_destroy(&c->lock);
    free(c);
}
