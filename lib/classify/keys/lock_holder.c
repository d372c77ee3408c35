/* Finds the thread that holds the lock that a stall waits for: the last thread of the chain of
 * waits that begins with the stalled thread, or, in a deadlock, a thread of the cycle. If the dump
 * names no owner, the holder is guessed from the frames of all threads (cause_waits.c), or unknown.
 */
#include "classify/keys/lock_holder.h"

#include "classify/keys/keyer_private.h"
#include "names/names.h"

/* ---- chains ---- */

void holder_chain_from(const struct dump *d, const struct dump_thread *waiter,
                       struct holder_chain *out) {
    const struct dump_waits *w = &out->waits;
    *out = (struct holder_chain){.holder = SIZE_MAX};
    dump_waits(d, waiter, &out->waits);
    if (w->back != SIZE_MAX && w->back > 0) {
        out->holder = w->back;
    } else if (w->back == 0) {
        /* In a deadlock that includes the waiter, the holder is the next thread of the cycle; a
         * waiter that waits for itself is its own holder. */
        out->holder = w->count > 1 ? 1 : 0;
    } else if (w->count > 1) {
        out->holder = w->count - 1;
    }
    bool before = out->holder != SIZE_MAX && out->holder > 0;
    out->waiter = before ? out->holder - 1 : 0;
}

/* Does t wait for the holder, directly or through others? */
static bool is_held_up(const struct dump *d, const struct dump_thread *t,
                       const struct dump_thread *holder) {
    struct dump_waits w;
    if (!t->waits_for.kind || t->waits_for.owner < 0) {
        return false;
    }
    dump_waits(d, t, &w);
    for (size_t i = 1; i < w.count; i++) {
        if (w.threads[i] == holder) {
            return true;
        }
    }
    return false;
}

static uint64_t count_waiters(const struct dump *d, const struct dump_thread *holder) {
    uint64_t n = 0;
    for (size_t i = 0; i < d->thread_count; i++) {
        n += &d->threads[i] != holder && is_held_up(d, &d->threads[i], holder);
    }
    return n;
}

/* ---- names ---- */

static bool is_name_digit(char c) {
    return c >= '0' && c <= '9';
}

void holder_add_thread(struct strbuf *out, const struct dump_thread *t) {
    const char *name = t->main ? "main" : t->name;
    for (const char *c = name ? name : ""; *c; c++) {
        if (!is_name_digit(*c)) {
            strbuf_addc(out, *c);
        } else if (!is_name_digit(c[1])) {
            strbuf_addc(out, '*');
        }
    }
}

void holder_add_lock(struct strbuf *out, const struct dump *d, const struct dump_wait *wait) {
    int32_t image = wait->address ? dump_image_at(d, wait->address) : -1;
    const char *name = image >= 0 ? dump_image_name(&d->images[image]) : NULL;
    strbuf_addstr(out, judged_is(wait->kind, "thread") ? "its end" : wait->kind);
    if (name) {
        strbuf_addstr(out, " in ");
        names_image(name, strlen(name), out);
    }
}

/* ---- keys ---- */

/* Appends a frame with this name to the key. False: out of memory. */
static bool holder_add_name(struct keyer *k, struct key *key, const char *kind,
                            const struct strbuf *name) {
    struct key_frame f = {.info = name->failed ? NULL
                                               : frame_of_name(&k->table, kind, strbuf_cstr(name))};
    key_add(key, &f);
    return f.info != NULL;
}

/* Appends the level-1 frames of the holder's stack to the key. ST_ERR: out of memory. */
static enum st holder_add_frames(struct keyer *k, const struct dump *d,
                                 const struct dump_thread *holder, struct key *key, struct err *e) {
    struct judged_stack s;
    struct key levels[KEY_LEVELS], action;
    if (!holder->stack.frame_count) {
        return ST_OK;
    }
    if (judge_other_stack(k, d, &holder->stack, &s, e) != ST_OK) {
        return ST_ERR;
    }
    if (!stack_keys(k, &s, levels, &action)) {
        return err_nomem(e);
    }
    for (size_t i = 0; i < levels[0].count; i++) {
        key_add(key, &levels[0].frames[i]);
    }
    return ST_OK;
}

/* Sets the holder from the guess if no chain of waits names one; if there is no guess, the holder
 * is unknown. ST_ERR: out of memory. */
static enum st take_guess(struct keyer *k, const struct dump *d, const struct holder_guess *guess,
                          struct lock_holder *h, struct err *e) {
    struct strbuf name = {0};
    if (!guess->thread) {
        h->status = HOLDER_UNKNOWN;
        return holder_add_name(k, &h->key, HOLDER_IS_UNKNOWN, &name) ? ST_OK : err_nomem(e);
    }
    h->status = HOLDER_INFERRED;
    h->inferred = guess->thread;
    h->waiters = 1;
    holder_add_thread(&name, guess->thread);
    bool ok = holder_add_name(k, &h->key, HOLDER_IS_THREAD, &name);
    strbuf_clear(&name);
    strbuf_addstr(&name, guess->lock);
    ok = ok && holder_add_name(k, &h->key, HOLDER_BY_FRAMES, &name);
    strbuf_release(&name);
    return ok ? holder_add_frames(k, d, guess->thread, &h->key, e) : err_nomem(e);
}

enum st find_holder(struct keyer *k, const struct dump *d, const struct dump_thread *waiter,
                    const struct holder_guess *guess, struct stall_key *out, struct err *e) {
    struct lock_holder *h = &out->holder;
    struct strbuf name = {0};
    struct holder_chain chain;
    if (out->cause != CAUSE_LOCK && out->cause != CAUSE_DEADLOCK) {
        return ST_OK;
    }
    holder_chain_from(d, waiter, &chain);
    if (chain.holder == SIZE_MAX) {
        return take_guess(k, d, guess, h, e);
    }
    const struct dump_thread *holder = chain.waits.threads[chain.holder];
    bool cycle = chain.waits.back != SIZE_MAX;
    h->status = cycle ? HOLDER_DEADLOCK : HOLDER_KNOWN;
    h->waiter = waiter;
    h->waiters = count_waiters(d, holder);
    holder_add_thread(&name, holder);
    bool ok = holder_add_name(k, &h->key, HOLDER_IS_THREAD, &name);
    strbuf_clear(&name);
    holder_add_lock(&name, d, &chain.waits.threads[chain.waiter]->waits_for);
    ok = ok && holder_add_name(k, &h->key, cycle ? HOLDER_OF_DEADLOCK : HOLDER_OF_LOCK, &name);
    strbuf_release(&name);
    return ok ? holder_add_frames(k, d, holder, &h->key, e) : err_nomem(e);
}
