/* Makes the key of a dump, its text and its id. */
#include "classify/keys/key.h"

#include <stdlib.h>
#include <string.h>

#include "classify/keys/keyer_private.h"
#include "names/names.h"

/* Number of relevant frames in a key of level 1, unless key_options.wanted says another; a key of
 * level 2 then has twice as many. */
enum { WANTED_DEFAULT = 2 };

enum st keyer_new(struct keyer **out, const struct key_options *o, struct err *e) {
    struct keyer *k = calloc(1, sizeof *k);
    if (!k) {
        return err_nomem(e);
    }
    k->table.rules = o->rules;
    k->options = *o;
    k->options.inlines = o->inlines && o->rules; /* the published rule ignores inlined functions */
    if (!o->wanted[0]) {
        k->options.wanted[0] = WANTED_DEFAULT;
        k->options.wanted[1] = 2 * WANTED_DEFAULT;
    }
    *out = k;
    return ST_OK;
}

unsigned keyer_wanted(const struct keyer *k, size_t level) {
    return k->options.wanted[level];
}

void keyer_free(struct keyer *k) {
    if (k) {
        frame_table_release(&k->table);
        VEC_RELEASE(&k->by_location);
        VEC_RELEASE(&k->by_former);
        VEC_RELEASE(&k->frames);
        VEC_RELEASE(&k->votes);
        VEC_RELEASE(&k->samples);
        VEC_RELEASE(&k->ballots);
        VEC_RELEASE(&k->outer);
        VEC_RELEASE(&k->near);
        map_release(&k->ballot_of);
        strbuf_release(&k->text);
        free(k);
    }
}

enum st keyer_renew(struct keyer **k, struct keyer **retired, struct err *e) {
    struct keyer *next = NULL;
    *retired = NULL;
    if ((*k)->table.infos.len < KEYER_FUNCTIONS_MAX && (*k)->ballots.len < KEYER_FUNCTIONS_MAX) {
        return ST_OK;
    }
    if (keyer_new(&next, &(*k)->options, e) != ST_OK) {
        return ST_ERR;
    }
    *retired = *k;
    *k = next;
    return ST_OK;
}

/* ---- the samples that show the key ---- */

/* Does the stack contain the key's frames, in their order, perhaps with others between them? */
static bool stack_contains(const struct keyer *k, const struct judged_stack *s,
                           const struct key *key) {
    size_t found = 0;
    for (size_t i = 0; i < s->count && found < key->count; i++) {
        found += judged_at(k, s, i)->info->canonical == key->frames[found].info->canonical;
    }
    return found == key->count;
}

/* Counts the samples that show the key: those that vote for it, or, for other keys than the
 * app's, those that contain its frames. Stacks of threads that worked are no samples. */
static void judge_truth(const struct keyer *k, const struct judged_stack *chosen,
                        struct stall_key *out) {
    bool by_vote = k->options.rules && k->options.kind == KEY_OF_APP;
    for (size_t i = 0; i < k->samples.len && !k->about_threads; i++) {
        const struct judged_stack *s = &k->samples.data[i];
        bool hit = by_vote ? s->ballot == chosen->ballot : stack_contains(k, s, &out->level[0]);
        out->samples += s->votes;
        out->hits += hit ? s->votes : 0;
    }
    out->truth = out->samples ? (int64_t)((unsigned __int128)out->hits * 1000 / out->samples) : -1;
}

/* ---- a dump ---- */

/* Sets the members of k that say what the dump is about: which threads, and, as names in keys, a
 * slow action and a thread that used the processor but has no stack. False: out of memory. */
static bool find_subject(struct keyer *k, const struct dump *d) {
    const char *action = k->options.rules ? dump_slow_action(d) : NULL;
    const char *absent = k->options.rules ? dump_absent_worker(d) : NULL;
    k->about_threads = k->options.rules && dump_is_about_threads(d);
    k->watches_main = !judged_is(d->stall.kind, "cpu") && !judged_is(d->stall.kind, "slow-action");
    k->nothing_worked = action && dump_nothing_worked(d);
    k->action = action ? frame_of_name(&k->table, "action", action) : NULL;
    k->culprit = absent ? frame_of_name(&k->table, "thread", absent) : NULL;
    return (k->action || !action) && (k->culprit || !absent);
}

/* Was the dump captured after the stall had ended? False if the time of the capture or the stall's
 * length is unknown, or if the process died in the stall. */
static bool was_captured_late(const struct dump *d) {
    return !d->stall.fatal && d->stall.duration_ms >= 0 && d->stall.at_ms > d->stall.duration_ms;
}

/* Sets k->loop_ran: the main thread was at work although its stack shows its loop. It was if it ran
 * for CPU_WAITS of the stall or more, or if it was running when its stack, which shows the loop,
 * was captured during the stall. k->loop_ran stays false without rules, and if k->came_late.
 * ST_ERR: out of memory. */
static enum st judge_loop(struct keyer *k, const struct dump *d, const struct dump_thread *main,
                          struct err *e) {
    struct judged_stack captured;
    if (!k->options.rules || k->came_late) {
        return ST_OK;
    }
    k->loop_ran = k->ran_permille >= CPU_WAITS;
    bool runs = main && judged_is(main->state, "running") && !was_captured_late(d);
    if (k->loop_ran || !runs) {
        return ST_OK;
    }
    if (judge_stack(k, d, &main->stack, &captured, e) != ST_OK) {
        return ST_ERR;
    }
    k->loop_ran = captured.idle;
    return ST_OK;
}

static enum st keyer_begin(struct keyer *k, const struct dump *d, struct err *e) {
    k->frames.len = k->by_location.len = k->near.len = 0;
    k->owner = d->app.id;
    k->owner_len = d->app.id ? names_owner(d->app.id, strlen(d->app.id)) : 0;
    k->has_packages = false;
    if (d->location_count && !VEC_RESERVE(&k->by_location, d->location_count)) {
        return err_nomem(e);
    }
    for (size_t i = 0; i < d->location_count; i++) {
        k->by_location.data[i] = NULL;
    }
    const struct dump_thread *main = dump_main_thread(d);
    k->cpu_permille = judged_cpu(d, main);
    k->cpu_of_process = judged_knows_no_thread(d, main);
    k->ran_permille = judged_own_cpu(d, main);
    bool begun = frame_table_begin(&k->table, d) && find_subject(k, d);
    k->sampled = d->sample_count > 0 || k->about_threads;
    k->came_late = !k->sampled && was_captured_late(d);
    k->loop_ran = k->of_others = false;
    k->may_stand = !k->sampled && main && judged_may_stand(main);
    place_begin(k, d);
    if (!begun) {
        return err_nomem(e);
    }
    return judge_samples(k, d, e) == ST_OK ? judge_loop(k, d, main, e) : ST_ERR;
}

/* Replaces the keys of an idle stack by its innermost function; if that has no name, by its image.
 * False: out of memory. */
static bool key_idle(struct keyer *k, const struct judged_stack *s, struct stall_key *out) {
    struct key_frame f = key_frame_of(judged_at(k, s, 0));
    if (!f.info->resolved) {
        f.info = frame_of_library(&k->table, f.info, f.info->image_name);
    }
    for (size_t n = 0; f.info && n < KEY_LEVELS; n++) {
        out->level[n].count = 0;
        key_add(&out->level[n], &f);
    }
    return f.info != NULL;
}

enum st keyer_key(struct keyer *k, const struct dump *d, struct stall_key *out, struct err *e) {
    struct judged_stack chosen;
    memset(out, 0, sizeof *out);
    out->truth = -1;
    out->cause = CAUSE_UNKNOWN;
    if (keyer_begin(k, d, e) != ST_OK) {
        return ST_ERR;
    }
    enum st st = choose_stack(k, d, &chosen, e);
    if (st != ST_OK) {
        out->status = KEY_NO_STACK;
        return st == ST_NONE ? ST_OK : ST_ERR;
    }
    if (share_frames(k, d, &chosen, out, e) != ST_OK) {
        return ST_ERR;
    }
    out->stack = chosen.stack;
    if (!make_keys(k, &chosen, out->level, &out->action) ||
        (!out->level[0].count && !callout_keys(k, &chosen, out->level))) {
        return err_nomem(e);
    }
    if (!out->level[0].count) { /* rules hide all of the stack's frames */
        out->stack = NULL;
        out->status = KEY_NO_STACK;
        return ST_OK;
    }
    for (size_t i = 0; i < out->level[0].count; i++) {
        out->unresolved = out->unresolved || !out->level[0].frames[i].info->resolved;
    }
    judge_truth(k, &chosen, out);
    if (near_keys(k, out, e) != ST_OK) {
        return ST_ERR;
    }
    out->owner = k->has_packages ? k->owner : NULL; /* later rules or names may ask for it */
    out->owner_len = k->has_packages ? k->owner_len : 0;
    out->loop_at = k->place_counts ? d->stall.loop_at : NULL;
    out->loop_ran = chosen.idle && k->loop_ran;
    if (k->options.aliases && find_former_keys(k, d, &chosen, out, e) != ST_OK) {
        return ST_ERR;
    }
    if (chosen.idle && k->watches_main && !k->loop_ran) {
        out->status = k->samples.len ? KEY_IDLE : KEY_LATE;
        out->cause = CAUSE_IDLE;
        return key_idle(k, &chosen, out) ? ST_OK : err_nomem(e);
    }
    return k->options.rules ? judge_cause(k, d, &chosen, out, e) : ST_OK;
}
