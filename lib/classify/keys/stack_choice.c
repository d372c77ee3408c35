/* Chooses the stack of a dump that is classified: the heaviest of the samples, judged again from
 * symbols. */
#include "classify/keys/keyer_private.h"

static const struct dump_location *location_of(const struct dump *d, const struct dump_stack *s,
                                               size_t i) {
    return d->locations && s->locations && s->locations[i] < d->location_count
               ? &d->locations[s->locations[i]]
               : NULL;
}

/* ---- one stack ---- */

static bool judged_push(struct keyer *k, struct frame_info *info, const struct dump_line *line) {
    return info && VEC_PUSH(&k->frames, (struct judged_frame){info, line});
}

/* Frame i of a stack, and the functions inlined there if they count; false: out of memory. */
static bool push_frame(struct keyer *k, const struct dump *d, const struct dump_stack *s,
                       size_t i) {
    const struct dump_location *l = location_of(d, s, i);
    if (!l) {
        return judged_push(k, frame_of_address(&k->table, d, s, i), NULL);
    }
    for (size_t n = 0; k->options.inlines && n + 1 < l->line_count; n++) {
        if (!judged_push(k, frame_of_line(&k->table, d, l, n), &l->lines[n])) {
            return false;
        }
    }
    struct frame_info **info = &k->by_location.data[s->locations[i]];
    if (!*info) {
        *info = frame_of_location(&k->table, d, l);
    }
    return judged_push(k, *info, l->line_count ? &l->lines[l->line_count - 1] : NULL);
}

/* Applies rules that depend on the caller. */
static bool ask_callers(struct keyer *k, const struct judged_stack *s) {
    for (size_t i = 0; i < s->count; i++) {
        struct judged_frame *f = &k->frames.data[s->first + i];
        if (f->info->by_caller) {
            f->info = frame_from(&k->table, f->info, i + 1 < s->count ? f[1].info : NULL);
            if (!f->info) {
                return false;
            }
        }
    }
    return true;
}

/* The innermost relevant function; of an idle stack the loop. */
static struct frame_info *find_top(const struct keyer *k, const struct judged_stack *s) {
    if (s->idle) {
        return judged_at(k, s, s->cut)->info->canonical;
    }
    for (size_t i = 0; i < s->cut; i++) {
        struct frame_info *info = judged_at(k, s, i)->info;
        if (info->place == PLACE_KEEP) {
            return info->canonical;
        }
    }
    return NULL;
}

enum st judge_stack(struct keyer *k, const struct dump *d, const struct dump_stack *s,
                    struct judged_stack *out, struct err *e) {
    *out = (struct judged_stack){.stack = s, .first = k->frames.len};
    for (size_t i = 0; i < s->frame_count; i++) {
        if (!push_frame(k, d, s, i)) {
            return err_nomem(e);
        }
    }
    out->count = k->frames.len - out->first;
    out->cut = out->count;
    if (k->options.rules) {
        if (!ask_callers(k, out)) {
            return err_nomem(e);
        }
        scan_cut(k, out);
        out->idle = scan_is_idle(k, out);
        out->told = scan_cause(k, out);
        out->top = find_top(k, out);
    }
    return ST_OK;
}

/* ---- samples ---- */

/* The ballot for a key: what its frames are, as numbers. SIZE_MAX: out of memory. */
static size_t find_ballot(struct keyer *k, const struct frame_info *const *infos, size_t count) {
    size_t numbers[KEY_FRAMES_MAX];
    for (size_t i = 0; i < count; i++) {
        numbers[i] = infos[i]->canonical->index;
    }
    const struct map_entry *entry =
        map_put(&k->ballot_of, numbers, count * sizeof *numbers, k->ballots.len, NULL);
    if (!entry || (entry->value == k->ballots.len && !VEC_PUSH(&k->ballots, (struct ballot){0}))) {
        return SIZE_MAX;
    }
    return entry->value;
}

/* What a sample votes for: its key of level 1, or its innermost relevant function. */
static enum st cast_vote(struct keyer *k, struct judged_stack *s, struct err *e) {
    const struct frame_info *infos[KEY_FRAMES_MAX] = {s->top};
    struct key keys[KEY_LEVELS], action;
    size_t count = s->top != NULL;
    s->ballot = SIZE_MAX;
    if (s->idle || !k->options.rules) {
        return ST_OK;
    }
    if (k->options.kind == KEY_OF_APP) {
        if (!make_keys(k, s, keys, &action)) {
            return err_nomem(e);
        }
        for (count = 0; count < keys[0].count; count++) {
            infos[count] = keys[0].frames[count].info;
        }
    }
    if (count) {
        s->ballot = find_ballot(k, infos, count);
    }
    return count && s->ballot == SIZE_MAX ? err_nomem(e) : ST_OK;
}

enum st judge_samples(struct keyer *k, const struct dump *d, struct err *e) {
    k->samples.len = 0;
    if (d->sample_count && !VEC_RESERVE(&k->samples, d->sample_count)) {
        return err_nomem(e);
    }
    for (size_t i = 0; i < d->sample_count; i++) {
        struct judged_stack *s = &k->samples.data[i];
        if (judge_stack(k, d, &d->samples[i], s, e) != ST_OK || cast_vote(k, s, e) != ST_OK) {
            return ST_ERR;
        }
        s->newest = i;
    }
    k->samples.len = d->sample_count;
    for (size_t i = 0; i < d->ring_count; i++) {
        if (d->ring[i] >= 0) {
            k->samples.data[d->ring[i]].newest = d->sample_count + i;
        }
    }
    return ST_OK;
}

static bool wins(uint64_t votes, uint64_t newest, uint64_t best_votes, uint64_t best_newest) {
    return votes != best_votes ? votes > best_votes : newest > best_newest;
}

/* The ballot with most votes, SIZE_MAX = none; the loop that waits is not elected. */
static size_t count_votes(struct keyer *k) {
    size_t best = SIZE_MAX;
    k->epoch++;
    for (size_t i = 0; i < k->samples.len; i++) {
        const struct judged_stack *s = &k->samples.data[i];
        if (s->ballot == SIZE_MAX) {
            continue;
        }
        struct ballot *b = &k->ballots.data[s->ballot];
        if (b->epoch != k->epoch) {
            *b = (struct ballot){.epoch = k->epoch};
        }
        b->votes += s->stack->count;
        b->newest = s->newest > b->newest ? s->newest : b->newest;
    }
    for (size_t i = 0; i < k->samples.len; i++) {
        size_t at = k->samples.data[i].ballot;
        const struct ballot *b = at == SIZE_MAX ? NULL : &k->ballots.data[at];
        if (b && (best == SIZE_MAX || wins(b->votes, b->newest, k->ballots.data[best].votes,
                                           k->ballots.data[best].newest))) {
            best = at;
        }
    }
    return best;
}

/* Is the loop waiting for work what most samples show? A thread that ran much of the time was not.
 */
static bool mostly_idle(const struct keyer *k) {
    uint64_t idle = 0, total = 0;
    if (k->ran_permille >= CPU_WAITS) {
        return false;
    }
    for (size_t i = 0; i < k->samples.len; i++) {
        const struct judged_stack *s = &k->samples.data[i];
        total += s->stack->count;
        idle += s->idle ? s->stack->count : 0;
    }
    return idle > total / 2;
}

/* The device judged by addresses or function starts; with names, the samples that have the same key
 * are of the same stall. Most of them win, ties go to the newest, as on the device; then the key's
 * most frequent stack. Where more than half of the samples are the loop waiting for work, that is
 * what the dump shows. NULL: no sample votes. */
static const struct judged_stack *elect(struct keyer *k) {
    size_t winner = count_votes(k);
    const struct judged_stack *best = NULL;
    bool idle = mostly_idle(k);
    for (size_t i = 0; i < k->samples.len; i++) {
        const struct judged_stack *s = &k->samples.data[i];
        bool fits = idle ? s->idle : s->ballot == winner && winner != SIZE_MAX;
        if (fits && (!best || wins(s->stack->count, s->newest, best->stack->count, best->newest))) {
            best = s;
        }
    }
    return best;
}

enum st choose_stack(struct keyer *k, const struct dump *d, struct judged_stack *out,
                     struct err *e) {
    const struct judged_stack *elected = k->options.rules ? elect(k) : NULL;
    const struct dump_stack *heaviest = dump_heaviest(d);
    if (elected) {
        *out = *elected;
        return ST_OK;
    }
    if (!heaviest || heaviest->frame_count == 0) {
        return ST_NONE;
    }
    for (size_t i = 0; i < k->samples.len; i++) {
        if (k->samples.data[i].stack == heaviest) {
            *out = k->samples.data[i];
            return ST_OK;
        }
    }
    return judge_stack(k, d, heaviest, out, e);
}
