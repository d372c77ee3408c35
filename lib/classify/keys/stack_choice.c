/* Looks up and judges the frames of stacks, and chooses the stack by which a dump is classified:
 * the most frequent one of the samples, which are counted by symbols rather than by addresses, or,
 * if no sample votes, the one that the device chose. */
#include "classify/keys/keyer_private.h"

static const struct dump_location *location_of(const struct dump *d, const struct dump_stack *s,
                                               size_t i) {
    return d->locations && s->locations && s->locations[i] < d->location_count
               ? &d->locations[s->locations[i]]
               : NULL;
}

/* ---- one stack ---- */

static bool judged_push(struct keyer *k, struct frame_info *info, const struct dump_line *line) {
    const struct judged_frame f = {info, line, line && !line->file};
    return info && (info->hidden || VEC_PUSH(&k->frames, f));
}

struct frame_info *former_address(struct keyer *k, const struct dump *d, const struct dump_stack *s,
                                  size_t i) {
    struct frame_info **known = s == k->former ? &k->by_former.data[i] : NULL;
    struct frame_info *info = known ? *known : NULL;
    if (!info) {
        info = frame_of_address(&k->table, d, s, i);
        if (known) {
            *known = info;
        }
    }
    return info;
}

/* Appends frame i of a stack without locations. False: out of memory. */
static bool push_address(struct keyer *k, const struct dump *d, const struct dump_stack *s,
                         size_t i) {
    struct frame_info *info = former_address(k, d, s, i);
    struct judged_frame f = {.info = info};
    if (info && info->in_app && info->resolved) {
        const struct dump_name *name = dump_name_at(d, s->frames[i]);
        f.fileless = name && !name->file;
    }
    return info && (info->hidden || VEC_PUSH(&k->frames, f));
}

/* Appends frame i of a stack to k->frames, after the functions that are inlined in it if
 * key_options.inlines is true; functions that rules hide are left out. False: out of memory. */
static bool push_frame(struct keyer *k, const struct dump *d, const struct dump_stack *s,
                       size_t i) {
    const struct dump_location *l = location_of(d, s, i);
    if (!l) {
        return push_address(k, d, s, i);
    }
    for (size_t n = 0; k->options.inlines && n + 1 < l->line_count; n++) {
        if (!judged_push(k, frame_of_line(&k->table, d, l, n), &l->lines[n])) {
            return false;
        }
    }
    if (k->table.startless && dump_location_has_start(l)) {
        return judged_push(k, frame_of_location(&k->table, d, l), NULL);
    }
    struct frame_info **info = &k->by_location.data[s->locations[i]];
    if (!*info) {
        *info = frame_of_location(&k->table, d, l);
    }
    return judged_push(k, *info, l->line_count ? &l->lines[l->line_count - 1] : NULL);
}

bool whole_frames(struct keyer *k, const struct dump *d, const struct dump_stack *s,
                  size_t functions, size_t *whole) {
    size_t start = k->frames.len;
    bool ok = true;
    *whole = 0;
    for (size_t i = s->frame_count; ok && i-- > 0;) {
        ok = push_frame(k, d, s, i);
        if (k->frames.len - start > functions) {
            break;
        }
        *whole += ok;
    }
    k->frames.len = start;
    return ok;
}

/* Returns the caller of frame i, for rules: the next frame outwards. If that frame is nameless and
 * outside of the app, the first named frame further out is returned in its place, if it and all
 * frames before it are of the same image as the next frame. NULL: there is no next frame. */
static const struct frame_info *caller_of(const struct keyer *k, const struct judged_stack *s,
                                          size_t i) {
    const struct frame_info *next = i + 1 < s->count ? judged_at(k, s, i + 1)->info : NULL;
    if (!next || next->resolved || next->in_app) {
        return next;
    }
    for (size_t n = i + 2; n < s->count; n++) {
        const struct frame_info *info = judged_at(k, s, n)->info;
        if (strcmp(info->image_name, next->image_name) != 0) {
            break;
        }
        if (info->resolved) {
            return info;
        }
    }
    return next;
}

/* Replaces the infos of frames whose rules depend on callers by those that they have with their
 * callers. False: out of memory. */
static bool ask_callers(struct keyer *k, const struct judged_stack *s) {
    struct frame_callers callers = {.under = NULL};
    for (size_t i = s->count; i-- > 0;) {
        struct judged_frame *f = &k->frames.data[s->first + i];
        if (f->info->by_caller) {
            callers.next = caller_of(k, s, i);
            f->info = frame_from(&k->table, f->info, &callers);
            if (!f->info) {
                return false;
            }
        }
        if (f->info->callout) {
            callers.under = NULL;
        } else if (f->info->framework[0]) {
            callers.under = f->info;
        }
    }
    return true;
}

/* Returns the innermost relevant function of a stack; for an idle stack, the loop. NULL = none. */
static struct frame_info *find_top(const struct keyer *k, const struct judged_stack *s) {
    if (s->idle) {
        return judged_at(k, s, s->at_place ? s->place : s->cut)->info->canonical;
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
    *out = (struct judged_stack){
        .stack = s, .first = k->frames.len, .place = SIZE_MAX, .in_place_image = SIZE_MAX};
    for (size_t i = 0; i < s->frame_count; i++) {
        size_t at = k->frames.len - out->first;
        if (!push_frame(k, d, s, i)) {
            return err_nomem(e);
        }
        if (k->loop_place) {
            place_note(k, d, out, i, at);
        }
    }
    out->count = k->frames.len - out->first;
    out->cut = out->count;
    if (k->options.rules) {
        if (!own_program(k, out) || !ask_callers(k, out)) {
            return err_nomem(e);
        }
        scan_cut(k, out);
        scan_place(k, out);
        if (!link_other_owners(k, out)) {
            return err_nomem(e);
        }
        out->idle = scan_is_idle(k, out);
        out->told = scan_cause(k, out, &out->nested);
        out->top = find_top(k, out);
    }
    return ST_OK;
}

enum st judge_other_stack(struct keyer *k, const struct dump *d, const struct dump_stack *s,
                          struct judged_stack *out, struct err *e) {
    k->of_others = true;
    enum st st = judge_stack(k, d, s, out, e);
    k->of_others = false;
    return st;
}

/* ---- samples ---- */

/* Returns the index of the ballot for a key, which is identified by the indexes of its frames'
 * infos; a new ballot is added. SIZE_MAX: out of memory. */
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

/* Sets the ballot of a sample: that of its key of level 1, or, with KEY_OF_FRAMES, of its innermost
 * relevant function; SIZE_MAX if there is none, if the stack is idle, or without rules. ST_ERR: out
 * of memory. */
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

/* Judges one stack that votes. In a dump about threads that worked, a stack of weight 0 is not
 * judged, and has no ballot. ST_ERR: out of memory. */
static enum st judge_vote(struct keyer *k, const struct dump *d, const struct dump_vote *vote,
                          struct judged_stack *s, struct err *e) {
    if (k->about_threads && vote->weight == 0) {
        *s = (struct judged_stack){.stack = vote->stack, .ballot = SIZE_MAX};
        return ST_OK;
    }
    if (judge_stack(k, d, vote->stack, s, e) != ST_OK || cast_vote(k, s, e) != ST_OK) {
        return ST_ERR;
    }
    s->votes = vote->weight;
    return ST_OK;
}

/* Returns the processor share of a thread that worked, in permille, which may refute the waits that
 * its frames show. A thread that used the processor in a stall of kind cpu did not wait, whatever
 * its stack shows. */
static int64_t worker_cpu(const struct dump *d, const struct dump_thread *t) {
    int64_t cpu = t->cpu_permille;
    return judged_is(d->stall.kind, "cpu") && cpu < CPU_COMPUTES ? CPU_COMPUTES : cpu;
}

static enum st judge_votes(struct keyer *k, const struct dump *d, struct err *e) {
    const struct dump_thread *main = dump_main_thread(d);
    for (size_t i = 0; i < k->votes.len; i++) {
        struct judged_stack *s = &k->samples.data[i];
        const struct dump_vote *vote = &k->votes.data[i];
        const struct dump_thread *worker = k->about_threads ? vote->thread : NULL;
        worker = k->about_threads && !worker ? main : worker;
        if (worker) {
            k->cpu_permille = worker_cpu(d, worker);
            k->cpu_of_process = false;
        }
        if (judge_vote(k, d, vote, s, e) != ST_OK) {
            return ST_ERR;
        }
        s->worker = worker;
        s->newest = i;
    }
    k->samples.len = k->votes.len;
    return ST_OK;
}

enum st judge_samples(struct keyer *k, const struct dump *d, struct err *e) {
    size_t count = k->about_threads ? dump_vote_count(d) : d->sample_count;
    k->samples.len = k->votes.len = 0;
    if (!VEC_RESERVE(&k->samples, count + 1) || !VEC_RESERVE(&k->votes, count + 1)) {
        return err_nomem(e);
    }
    if (k->about_threads) {
        dump_votes(d, k->votes.data);
    }
    for (size_t i = 0; !k->about_threads && i < count; i++) {
        k->votes.data[i] =
            (struct dump_vote){.stack = &d->samples[i], .weight = d->samples[i].count};
    }
    k->votes.len = count;
    if (judge_votes(k, d, e) != ST_OK) {
        return ST_ERR;
    }
    for (size_t i = 0; i < d->ring_count; i++) {
        if (d->ring[i] >= 0) {
            k->samples.data[d->ring[i]].newest = count + i;
        }
    }
    return ST_OK;
}

static bool wins(uint64_t votes, uint64_t newest, uint64_t best_votes, uint64_t best_newest) {
    return votes != best_votes ? votes > best_votes : newest > best_newest;
}

/* Counts the votes, and returns the index of the ballot with most; SIZE_MAX = there is none. Idle
 * stacks do not vote. */
static size_t count_stack_votes(struct keyer *k) {
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
        b->votes += s->votes;
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

/* Do most samples show the loop waiting for work? False in a dump about threads that worked, and if
 * it is known that the loop ran. */
static bool mostly_idle(const struct keyer *k) {
    uint64_t idle = 0, total = 0;
    if (k->about_threads || k->loop_ran) {
        return false;
    }
    for (size_t i = 0; i < k->samples.len; i++) {
        const struct judged_stack *s = &k->samples.data[i];
        total += s->votes;
        idle += s->idle ? s->votes : 0;
    }
    return idle > total / 2;
}

/* Returns the stack that the samples elect. The device counted samples by addresses or function
 * starts; here, samples with the same key are counted together. The key with most samples wins; if
 * several have as many, the newest. The result is the most frequent stack of that key. If more than
 * half of the samples show the loop waiting for work, an idle stack is elected. NULL: no sample
 * votes. */
static const struct judged_stack *elect(struct keyer *k) {
    size_t winner = count_stack_votes(k);
    const struct judged_stack *best = NULL;
    bool idle = mostly_idle(k);
    for (size_t i = 0; i < k->samples.len; i++) {
        const struct judged_stack *s = &k->samples.data[i];
        bool fits = idle ? s->idle : s->ballot == winner && winner != SIZE_MAX;
        if (fits && (!best || wins(s->votes, s->newest, best->votes, best->newest))) {
            best = s;
        }
    }
    return best;
}

void choose_again(struct keyer *k, struct judged_stack *chosen) {
    const struct judged_stack *elected = elect(k);
    *chosen = elected ? *elected : *chosen;
}

/* Returns the stack of the thread that worked most, for a dump in which all threads that worked
 * were captured while they waited for work. NULL: the dump is not about threads that worked, or no
 * stack has a vote. */
static const struct judged_stack *elect_worker(const struct keyer *k) {
    const struct judged_stack *best = NULL;
    for (size_t i = 0; k->about_threads && i < k->samples.len; i++) {
        const struct judged_stack *s = &k->samples.data[i];
        best = s->votes > (best ? best->votes : 0) ? s : best;
    }
    return best;
}

enum st choose_stack(struct keyer *k, const struct dump *d, struct judged_stack *out,
                     struct err *e) {
    const struct judged_stack *elected = k->options.rules ? elect(k) : NULL;
    elected = elected ? elected : elect_worker(k);
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
