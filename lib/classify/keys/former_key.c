/* Finds the ids that a dump's keys had when less was known about its frames: without symbol files,
 * without inlined functions, without the starts of nameless functions. */
#include "classify/keys/keyer_private.h"

/* The stack of a dump, as it is known and as it was known once. */
struct former_stack {
    const struct dump *dump;
    const struct dump_stack *now, *was;
};

static bool is_same_key(const struct key *a, const struct key *b) {
    bool same = a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++) {
        same = a->frames[i].info->canonical == b->frames[i].info->canonical;
    }
    return same;
}

/* ---- evidence ---- */

/* Does the frame tell which code it is? Without a name its offset in an image does. */
static bool tells_code(const struct frame_info *info) {
    return info->resolved ? info->function[0] != '\0' : strcmp(info->function, "+0x0") != 0;
}

/* Does the key have the function, perhaps as one of a linked library? A function without a name is
 * known by its image, too. */
static bool shows_function(const struct key *key, const struct frame_info *info) {
    for (size_t i = 0; i < key->count; i++) {
        const struct frame_info *f = key->frames[i].info;
        if (f->canonical == info->canonical ||
            (info->resolved && strcmp(f->function, info->function) == 0)) {
            return true;
        }
    }
    return false;
}

/* Sets *shows: does the key have frame i of the stack as it is known, or a function that is inlined
 * there? False: out of memory. */
static bool shows_now(struct keyer *k, const struct former_stack *s, size_t i,
                      const struct key *key, bool *shows) {
    const struct dump *d = s->dump;
    size_t location = s->now->locations[i];
    const struct dump_location *l = location < d->location_count ? &d->locations[location] : NULL;
    bool startless = k->table.startless, ok = true;
    k->table.startless = *shows = false;
    for (size_t n = 0; l && ok && !*shows && (n == 0 || n < l->line_count); n++) {
        const struct frame_info *info = frame_of_line(&k->table, d, l, n);
        ok = info != NULL;
        *shows = ok && shows_function(key, info);
    }
    k->table.startless = startless;
    return ok;
}

/* Returns frame i of the stack as it was known; NULL: out of memory. */
static struct frame_info *former_frame(struct keyer *k, const struct former_stack *s, size_t i) {
    const struct dump *d = s->dump;
    return s->was->locations && s->was->locations[i] < d->location_count
               ? frame_of_location(&k->table, d, &d->locations[s->was->locations[i]])
               : former_address(k, d, s->was, i);
}

/* Does the former key have a frame that tells which code it is? */
static bool key_tells_code(const struct key *key) {
    bool tells = false;
    for (size_t i = 0; i < key->count; i++) {
        tells = tells || tells_code(key->frames[i].info);
    }
    return tells;
}

/* Sets *shows: does the former key have a frame that tells which code it is, and that is also in
 * the present key, or further inside? Without one it says nothing about this stall: all code
 * without an image has one key, and so have all stacks whose only frame of the app is its first
 * function. False: out of memory. */
static bool former_shows(struct keyer *k, const struct former_stack *s, const struct key *was,
                         const struct key *now, bool *shows) {
    size_t count = key_tells_code(was) ? s->now->frame_count : 0;
    bool told = false;
    *shows = false;
    for (size_t i = 0; i < count && !*shows; i++) {
        const struct frame_info *info = told ? NULL : former_frame(k, s, i);
        if (!told && !info) {
            return false;
        }
        told = told || (shows_function(was, info) && tells_code(info));
        if (told && !shows_now(k, s, i, now, shows)) {
            return false;
        }
    }
    return true;
}

/* ---- ids ---- */

/* Sets was[] to the ids of the keys that the stack had; 0 means that such a key equals the present
 * one, has no frames, or shows no code of the present one. ST_ERR: out of memory. */
static enum st find_ids(struct keyer *k, const struct former_stack *s, const struct stall_key *now,
                        uint64_t was[KEY_LEVELS + 1], struct err *e) {
    struct judged_stack judged;
    struct key keys[KEY_LEVELS + 1];
    const struct key *const present[KEY_LEVELS + 1] = {&now->level[0], &now->level[1],
                                                       &now->action};
    if (judge_stack(k, s->dump, s->was, &judged, e) != ST_OK ||
        share_former(k, s->dump, now, s->was->locations != NULL, &judged, e) != ST_OK) {
        return ST_ERR;
    }
    if (!make_keys(k, &judged, keys, &keys[KEY_LEVELS])) {
        return err_nomem(e);
    }
    for (size_t i = 0; i < KEY_LEVELS + 1; i++) {
        bool shows = false;
        if (!is_same_key(&keys[i], present[i]) &&
            !former_shows(k, s, &keys[i], present[i], &shows)) {
            return err_nomem(e);
        }
        was[i] = shows ? keyer_number(k, "12a"[i], &keys[i]) : 0;
    }
    return k->text.failed ? err_nomem(e) : ST_OK;
}

static bool has_inlines(const struct dump *d, const struct dump_stack *s) {
    for (size_t i = 0; i < s->frame_count; i++) {
        if (s->locations[i] < d->location_count && d->locations[s->locations[i]].line_count > 1) {
            return true;
        }
    }
    return false;
}

static bool has_starts(const struct dump *d, const struct dump_stack *s) {
    for (size_t i = 0; i < s->frame_count; i++) {
        if (s->locations[i] < d->location_count &&
            dump_location_has_start(&d->locations[s->locations[i]])) {
            return true;
        }
    }
    return false;
}

/* Makes the stack, which has no locations, the one whose frames are looked up once. False: out of
 * memory. */
static bool former_begin(struct keyer *k, const struct dump_stack *s) {
    k->by_former.len = 0;
    if (s->frame_count && !VEC_RESERVE(&k->by_former, s->frame_count)) {
        return false;
    }
    for (size_t i = 0; i < s->frame_count; i++) {
        k->by_former.data[i] = NULL;
    }
    k->former = s;
    return true;
}

enum st find_former_keys(struct keyer *k, const struct dump *d, const struct judged_stack *chosen,
                         struct stall_key *out, struct err *e) {
    struct dump_stack raw = *chosen->stack;
    const struct former_stack s = {d, chosen->stack, chosen->stack}, nameless = {d, s.now, &raw};
    enum st st = ST_OK;
    if (!raw.locations || !d->locations) {
        return ST_OK;
    }
    if (k->options.rules && k->options.inlines && has_inlines(d, s.now)) {
        k->options.inlines = false;
        st = find_ids(k, &s, out, out->was[KEY_NOT_INLINED], e);
        k->options.inlines = true;
    }
    if (st == ST_OK && has_starts(d, s.now)) {
        k->table.startless = true;
        st = find_ids(k, &s, out, out->was[KEY_STARTLESS], e);
        k->table.startless = false;
    }
    raw.locations = NULL;
    if (st == ST_OK && !former_begin(k, &raw)) {
        st = err_nomem(e);
    }
    st = st == ST_OK ? find_ids(k, &nameless, out, out->was[KEY_NAMELESS], e) : st;
    k->former = NULL;
    return st;
}
