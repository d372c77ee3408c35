/* Which of a dump's stacks is classified: the heaviest of the samples, judged again from symbols.
 */
#include <string.h>

#include "classify/keys/keyer_private.h"

static const struct dump_location *location_of(const struct dump *d, const struct dump_stack *s,
                                               size_t i) {
    return d->locations && s->locations && s->locations[i] < d->location_count
               ? &d->locations[s->locations[i]]
               : NULL;
}

/* ---- one stack ---- */

static bool push(struct keyer *k, struct frame_info *info, const struct dump_line *line) {
    return info && VEC_PUSH(&k->frames, (struct judged_frame){info, line});
}

/* Frame i of a stack, and the functions inlined there if they count; false: out of memory. */
static bool push_frame(struct keyer *k, const struct dump *d, const struct dump_stack *s,
                       size_t i) {
    const struct dump_location *l = location_of(d, s, i);
    if (!l) {
        return push(k, frame_of_address(&k->table, d, s, i), NULL);
    }
    for (size_t n = 0; k->options.inlines && n + 1 < l->line_count; n++) {
        if (!push(k, frame_of_line(&k->table, d, l, n), &l->lines[n])) {
            return false;
        }
    }
    struct frame_info **info = &k->by_location.data[s->locations[i]];
    if (!*info) {
        *info = frame_of_location(&k->table, d, l);
    }
    return push(k, *info, l->line_count ? &l->lines[l->line_count - 1] : NULL);
}

/* What a frame is may hang on its caller. */
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

/* The surest frame tells the cause, the innermost of equals: a read is part of what its callers are
 * at. Callers of the first relevant frame tell nothing. */
static void find_top(const struct keyer *k, struct judged_stack *s) {
    for (size_t i = 0; i < s->count; i++) {
        struct frame_info *info = judged_at(k, s, i)->info;
        if (info->cause != CAUSE_NONE &&
            (!s->told || (info->confidence > s->told->confidence && info->cause != CAUSE_IDLE))) {
            s->told = info;
        }
        if (info->place == PLACE_KEEP) {
            s->top = info->canonical;
            return;
        }
        if (info->place == PLACE_CUT) {
            s->idle = info->cause == CAUSE_IDLE;
            s->top = s->idle ? info->canonical : NULL;
            return;
        }
    }
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
    if (k->options.rules) {
        if (!ask_callers(k, out)) {
            return err_nomem(e);
        }
        find_top(k, out);
    }
    return ST_OK;
}

/* ---- samples ---- */

enum st judge_samples(struct keyer *k, const struct dump *d, struct err *e) {
    k->samples.len = 0;
    if (d->sample_count && !VEC_RESERVE(&k->samples, d->sample_count)) {
        return err_nomem(e);
    }
    for (size_t i = 0; i < d->sample_count; i++) {
        struct judged_stack *s = &k->samples.data[i];
        if (judge_stack(k, d, &d->samples[i], s, e) != ST_OK) {
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

/* Samples with the same function on top vote together; the loop that waits is not elected. */
static const struct frame_info *count_votes(struct keyer *k) {
    const struct frame_info *best = NULL;
    k->epoch++;
    for (size_t i = 0; i < k->samples.len; i++) {
        const struct judged_stack *s = &k->samples.data[i];
        if (!s->top || s->idle) {
            continue;
        }
        if (s->top->vote_epoch != k->epoch) {
            s->top->vote_epoch = k->epoch;
            s->top->votes = s->top->newest = 0;
        }
        s->top->votes += s->stack->count;
        s->top->newest = s->newest > s->top->newest ? s->newest : s->top->newest;
    }
    for (size_t i = 0; i < k->samples.len; i++) {
        const struct judged_stack *s = &k->samples.data[i];
        if (s->top && !s->idle &&
            (!best || wins(s->top->votes, s->top->newest, best->votes, best->newest))) {
            best = s->top;
        }
    }
    return best;
}

static bool mostly_idle(const struct keyer *k) {
    uint64_t idle = 0, total = 0;
    for (size_t i = 0; i < k->samples.len; i++) {
        const struct judged_stack *s = &k->samples.data[i];
        total += s->stack->count;
        idle += s->idle ? s->stack->count : 0;
    }
    return idle > total / 2;
}

/* The device judged by addresses or function starts; with names, the samples whose innermost
 * relevant function is the same are the same stack. Most of them win, ties go to the newest, as on
 * the device; then that function's most frequent stack. Where more than half of the samples are the
 * loop waiting for work, that is what the dump shows. NULL: no sample has a relevant frame. */
static const struct judged_stack *elect(struct keyer *k) {
    const struct frame_info *function = count_votes(k);
    const struct judged_stack *best = NULL;
    bool idle = mostly_idle(k);
    for (size_t i = 0; i < k->samples.len; i++) {
        const struct judged_stack *s = &k->samples.data[i];
        bool fits = s->top && (idle ? s->idle : s->top == function && !s->idle);
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
