/* Turns dumps into weighted stacks. */
#include "flame/fold.h"

#include <inttypes.h>
#include <string.h>

#include "base/checked.h"
#include "dump/frame_address.h"
#include "flame/stacks/folded.h"
#include "flame/stacks/frame_name.h"
#include "flame/stacks/frame_place.h"
#include "flame/stacks/weigh.h"

const char *fold_weight_text(enum fold_weight w) {
    static const char *const texts[] = {"ms", "samples", "stalls", "users"};
    return texts[w];
}

/* ---- the text of a stack ---- */

/* The dump, thread and share to which the added stacks belong. */
struct fold_target {
    const struct dump *dump;
    struct address_rules addresses;   /* address format of the dump */
    const struct dump_thread *thread; /* NULL = the main thread */
    const struct fold_share *share;
    bool deferred; /* stacks are collected in fold.stacks instead of being added to the tree */
};

static void fold_add_name(struct fold *f, const char *module, const char *name, bool inlined) {
    strbuf_clear(&f->name);
    frame_name_join(&f->name, f->options.modules ? module : NULL, name, inlined);
    if (f->line.len > 0) {
        strbuf_addc(&f->line, ';');
    }
    folded_escape(&f->line, strbuf_cstr(&f->name), f->name.len, f->line.len == 0);
    f->line.failed |= f->name.failed;
}

static const char *image_name(const struct dump *d, int32_t image) {
    return image < 0 ? NULL : dump_image_name(&d->images[image]);
}

/* Appends a frame with the name in f->plain to f->line. */
static void fold_add_plain(struct fold *f, const char *module, bool inlined) {
    fold_add_name(f, module, strbuf_cstr(&f->plain), inlined);
    f->line.failed |= f->plain.failed;
}

/* Appends a frame IMAGE+0xOFFSET, or 0xADDRESS for code in no image. */
static void fold_add_unresolved(struct fold *f, const char *module, uint64_t place) {
    strbuf_clear(&f->plain);
    strbuf_addf(&f->plain, "%s%s0x%" PRIx64, module ? module : "", module ? "+" : "", place);
    fold_add_plain(f, NULL, false);
}

/* Appends an unresolved frame for an address in an image (-1 = none). */
static void fold_add_at(struct fold *f, const struct dump *d, int32_t image, uint64_t address) {
    const char *module = image_name(d, image);
    fold_add_unresolved(f, module, module ? address - d->images[image].load : address);
}

/* Appends a frame FUNCTION, or FUNCTION (FILE:LINE). */
static void fold_add_function(struct fold *f, const char *module, const char *function,
                              const char *file, uint32_t line, bool inlined) {
    strbuf_clear(&f->plain);
    frame_place_join(&f->plain, function, f->options.lines ? file : NULL, line);
    fold_add_plain(f, module, inlined);
}

static void fold_add_location(struct fold *f, const struct dump *d, const struct dump_location *l,
                              uint64_t address) {
    const char *module = image_name(d, l->image);
    const struct dump_line *real = l->line_count ? &l->lines[l->line_count - 1] : NULL;
    if (real && real->function) {
        fold_add_function(f, module, real->function, real->file, real->line, false);
    } else if (module && (l->line_count > 0 || dump_location_has_start(l))) {
        fold_add_unresolved(f, module, l->start);
    } else {
        fold_add_at(f, d, l->image, address);
    }
    for (size_t i = l->line_count; !f->options.no_inlines && i > 1; i--) {
        const struct dump_line *inlined = &l->lines[i - 2];
        fold_add_function(f, module, inlined->function ? inlined->function : "[unknown]",
                          inlined->file, inlined->line, true);
    }
}

/* Appends a frame of a dump that was not symbolicated, by its own address, even if that is a return
 * address. If the dump has a name for the address, the frame has that name. */
static void fold_add_address(struct fold *f, const struct fold_target *a, uint64_t frame) {
    const struct dump *d = a->dump;
    uint64_t address = address_strip(&a->addresses, frame);
    int32_t image = dump_image_at(d, address);
    const char *module = image_name(d, image);
    const struct dump_name *name = dump_name_at(d, frame);
    if (name) {
        fold_add_function(f, module, name->symbol, name->file, name->line, false);
    } else {
        fold_add_at(f, d, image, address);
    }
}

/* Appends a frame for the thread: its name, else "thread 259" or "main". */
static void fold_add_thread(struct fold *f, const struct dump *d, const struct dump_thread *t) {
    const struct dump_thread *named = t ? t : dump_main_thread(d);
    strbuf_clear(&f->plain);
    if (named && named->name && *named->name) {
        strbuf_addstr(&f->plain, named->name);
    } else if (t) {
        strbuf_addf(&f->plain, "thread %" PRId64, t->id);
    } else {
        strbuf_addstr(&f->plain, "main");
    }
    fold_add_plain(f, NULL, false);
}

/* Appends a named frame that is no function, in stallclassify's form: "sync cart (action)". */
static void fold_add_named(struct fold *f, const char *name, const char *kind) {
    strbuf_clear(&f->plain);
    strbuf_addf(&f->plain, "%s (%s)", name, kind);
    fold_add_plain(f, NULL, false);
}

/* Appends the frames of a stack, the outermost first. */
static void fold_add_frames(struct fold *f, const struct fold_target *a,
                            const struct dump_stack *s) {
    const struct dump *d = a->dump;
    for (size_t i = s ? s->frame_count : 0; i > 0; i--) {
        if (s->locations && d->locations) {
            fold_add_location(f, d, &d->locations[s->locations[i - 1]],
                              address_strip(&a->addresses, s->frames[i - 1]));
        } else {
            fold_add_address(f, a, s->frames[i - 1]);
        }
    }
}

/* Makes the text of a stack in f->line, the outermost part first: the labels, a slow action, the
 * thread if by_thread is set, the frames, and the links if it is share->only. If nothing worked in
 * the action, the text ends with it; if the thread that worked has no stack, with that thread's
 * name. */
static void fold_make_line(struct fold *f, const struct fold_target *a,
                           const struct dump_stack *s) {
    const struct dump *d = a->dump;
    strbuf_clear(&f->line);
    for (const char *const *label = a->share->labels; label && *label; label++) {
        fold_add_name(f, NULL, *label, false);
    }
    if (dump_slow_action(d)) {
        fold_add_named(f, dump_slow_action(d), "action");
    }
    if (dump_nothing_worked(d)) {
        return;
    }
    if (dump_absent_worker(d)) {
        fold_add_named(f, dump_absent_worker(d), "thread");
        return;
    }
    if (f->options.by_thread) {
        fold_add_thread(f, d, a->thread);
    }
    fold_add_frames(f, a, s);
    if (!s || s->frame_count == 0) {
        fold_add_name(f, NULL, "[unavailable]", false);
    }
    for (size_t i = 0; s && s == a->share->only && i < a->share->link_count; i++) {
        fold_add_name(f, NULL, a->share->links[i].mark, false);
        fold_add_frames(f, a, a->share->links[i].stack);
    }
}

/* ---- weights ---- */

/* Sets f->votes to the dump's stacks: in an ordered tree one for each slot of the ring, if the dump
 * has a ring and is not about threads, else those of dump_votes. */
static enum st collect_votes(struct fold *f, const struct dump *d, struct err *e) {
    bool slots = f->tree->ordered && d->ring_count > 0 && !dump_is_about_threads(d);
    size_t n = slots ? d->ring_count : dump_vote_count(d);
    f->votes.len = 0;
    if (!VEC_RESERVE(&f->votes, n + 1)) {
        return err_nomem(e);
    }
    if (!slots) {
        dump_votes(d, f->votes.data);
    }
    for (size_t i = 0; slots && i < n; i++) {
        f->votes.data[i] = (struct dump_vote){0};
        if (d->ring[i] >= 0) {
            f->votes.data[i] = (struct dump_vote){.stack = &d->samples[d->ring[i]], .weight = 1};
        }
    }
    f->votes.len = n;
    return ST_OK;
}

/* Fills f->votes with the dump's stacks and f->shares with their counts. *sum is the sum of the
 * counts, 0 if there are none. */
static enum st count_votes(struct fold *f, const struct dump *d, uint64_t *sum, struct err *e) {
    f->shares.len = 0;
    *sum = 0;
    if (collect_votes(f, d, e) != ST_OK) {
        return ST_ERR;
    }
    if (!VEC_RESERVE(&f->shares, f->votes.len + 1)) {
        return err_nomem(e);
    }
    for (size_t i = 0; i < f->votes.len; i++) {
        uint64_t count = f->votes.data[i].weight;
        f->shares.data[f->shares.len++] = count;
        if (!checked_add_u64(*sum, count, sum)) {
            return err_set(e, ERR_LIMIT, "the sum of the sample counts passes 64 bits");
        }
    }
    return ST_OK;
}

/* Returns the stack that the dump is about: for a dump about threads, the stack of the thread that
 * worked most, if any worked; else that of dump_heaviest. NULL: the dump has none. */
static const struct dump_stack *subject_of(const struct fold *f, const struct dump *d) {
    const struct dump_vote *best = NULL;
    for (size_t i = 0; dump_is_about_threads(d) && i < f->votes.len; i++) {
        const struct dump_vote *v = &f->votes.data[i];
        best = v->weight > (best ? best->weight : 0) ? v : best;
    }
    return best ? best->stack : dump_heaviest(d);
}

/* Returns the dump's user. Without one, each stall counts as a user of its own, by its id, or, if
 * that is absent, too, each dump by its id. All dumps without any of these are one user, "". */
static const char *user_of(const struct dump *d) {
    const char *const ids[] = {d->user, d->stall.id, d->id};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        if (ids[i]) {
            return ids[i];
        }
    }
    return "";
}

/* Adds the stack in f->line to f->by_user, with the user as outermost frame. */
static enum st fold_add_for_user(struct fold *f, const struct dump *d, uint64_t weight,
                                 struct err *e) {
    const char *user = user_of(d);
    strbuf_clear(&f->name);
    folded_escape(&f->name, user, strlen(user), true);
    strbuf_addc(&f->name, ';');
    strbuf_add(&f->name, strbuf_cstr(&f->line), f->line.len);
    if (strbuf_check(&f->name, e) != ST_OK) {
        return ST_ERR;
    }
    return stack_tree_add(&f->by_user, strbuf_cstr(&f->name), f->name.len, weight, 0, e);
}

static enum st fold_add_stack(struct fold *f, const struct fold_target *a,
                              const struct dump_stack *s, uint64_t weight, struct err *e) {
    if (weight == 0) {
        return ST_OK;
    }
    fold_make_line(f, a, s);
    enum st st = strbuf_check(&f->line, e);
    if (st != ST_OK) {
        return st;
    }
    if (a->deferred) {
        strbuf_add(&f->stacks, strbuf_cstr(&f->line), f->line.len);
        strbuf_addc(&f->stacks, '\0');
        return strbuf_check(&f->stacks, e);
    }
    return f->options.weight == FOLD_USERS
               ? fold_add_for_user(f, a->dump, weight, e)
               : stack_tree_add(f->tree, strbuf_cstr(&f->line), f->line.len, weight, 0, e);
}

/* The weights of a dump's stacks. */
struct fold_weights {
    uint64_t ms;      /* stalled time that counts, in ms */
    uint64_t votes;   /* sum of f->shares */
    uint64_t samples; /* number of samples; 0 = there are none, or the dump is about threads */
    uint64_t main;    /* weight of all stacks of the main thread, or of the threads that the dump is
                         about, together */
    uint64_t other;   /* weight of each other thread's stack */
};

static void fold_count_dump(struct fold *f, const struct dump *d, const struct fold_weights *w) {
    struct fold_stats *s = &f->stats;
    uint64_t interval = d->sample_interval_ms > 0 ? (uint64_t)d->sample_interval_ms : 0;
    uint64_t sampled;
    if (!checked_mul_u64(interval, w->samples, &sampled) || sampled > w->ms) {
        sampled = w->ms;
    }
    s->dumps++;
    s->untimed += dump_span_ms(d) <= 0;
    s->total_ms += w->ms; /* fold_check_sums has ruled out an overflow */
    s->sampled_ms += sampled;
}

/* Adds the stacks of f->votes with the weights in f->shares. */
static enum st fold_add_votes(struct fold *f, struct fold_target *a, struct err *e) {
    enum st st = ST_OK;
    for (size_t i = 0; st == ST_OK && i < f->shares.len; i++) {
        a->thread = f->votes.data[i].thread;
        st = fold_add_stack(f, a, f->votes.data[i].stack, f->shares.data[i], e);
    }
    a->thread = NULL;
    return st;
}

/* Is thread i one whose stack is added only if all_threads is set? */
static bool is_other_thread(const struct fold *f, const struct dump *d, size_t i) {
    const struct dump_thread *t = &d->threads[i];
    if (dump_is_about_threads(d)) {
        return !t->main && f->votes.data[d->sample_count + i].weight == 0;
    }
    return !t->main && &t->stack != dump_heaviest(d);
}

static uint64_t count_other_threads(const struct fold *f, const struct dump *d) {
    uint64_t n = 0;
    for (size_t i = 0; f->options.all_threads && i < d->thread_count; i++) {
        n += is_other_thread(f, d, i);
    }
    return n;
}

static enum st fold_add_other_threads(struct fold *f, struct fold_target *a, uint64_t weight,
                                      struct err *e) {
    for (size_t i = 0; f->options.all_threads && i < a->dump->thread_count; i++) {
        a->thread = &a->dump->threads[i];
        if (is_other_thread(f, a->dump, i)) {
            f->stats.threads++;
            if (fold_add_stack(f, a, &a->thread->stack, weight, e) != ST_OK) {
                return ST_ERR;
            }
        }
    }
    return ST_OK;
}

/* Checks that the sums will still fit 63 bits with this dump, because pprof and other readers take
 * no larger ones. ST_ERR: ERR_LIMIT. */
static enum st fold_check_sums(const struct fold *f, const struct dump *d,
                               const struct fold_weights *w, struct err *e) {
    const struct stack_tree *t = f->options.weight == FOLD_USERS ? &f->by_user : f->tree;
    uint64_t ms, others, sum;
    if (!checked_add_u64(f->stats.total_ms, w->ms, &ms) || ms > INT64_MAX ||
        !checked_mul_u64(count_other_threads(f, d), w->other, &others) ||
        !checked_add_u64(w->main, others, &sum) ||
        !checked_add_u64(stack_tree_total(t), sum, &sum) || sum > INT64_MAX) {
        return err_set(e, ERR_LIMIT, "the sum of all weights passes 63 bits");
    }
    return ST_OK;
}

static void choose_weights(const struct fold *f, struct fold_weights *w) {
    switch (f->options.weight) {
    case FOLD_MS:
        w->main = w->other = w->ms;
        break;
    case FOLD_SAMPLES:
        w->other = 1;
        w->main = w->samples > 0 ? w->samples : 1;
        break;
    case FOLD_STALLS:
        w->main = w->other = 1;
        break;
    case FOLD_USERS:
        /* A dump that counts no ms (its stall has no duration, or earlier dumps of the stall used
         * up the cap) is given 1 ms here, because its user counts nevertheless. */
        w->main = w->other = w->ms > 0 ? w->ms : 1;
        break;
    }
}

static enum st fold_add_main(struct fold *f, struct fold_target *a, const struct fold_weights *w,
                             struct err *e) {
    if (a->share->only) {
        return fold_add_stack(f, a, a->share->only, w->main, e);
    }
    if (f->options.weight == FOLD_STALLS || w->votes == 0) {
        return fold_add_stack(f, a, subject_of(f, a->dump), w->main, e);
    }
    if (w->main != w->votes &&
        weigh_split(w->main, f->shares.data, f->shares.len, f->shares.data, e) != ST_OK) {
        return ST_ERR;
    }
    return fold_add_votes(f, a, e);
}

/* Adds the stacks of the main thread and, if all_threads is set, of the others. */
static enum st fold_add_threads(struct fold *f, struct fold_target *a, const struct fold_weights *w,
                                struct err *e) {
    return fold_add_main(f, a, w, e) == ST_OK ? fold_add_other_threads(f, a, w->other, e) : ST_ERR;
}

/* Adds a dump whose stall may have several dumps. With FOLD_STALLS only the stall's first dump
 * counts, which is known after the last dump; in an ordered tree the one that is added first
 * counts. */
static enum st fold_add_part(struct fold *f, struct fold_target *a, const struct fold_weights *w,
                             struct err *e) {
    const struct dump *d = a->dump;
    bool stalls = f->options.weight == FOLD_STALLS, added;
    if (a->share->counted) {
        return stalls ? ST_OK : fold_add_threads(f, a, w, e);
    }
    strbuf_clear(&f->stacks);
    a->deferred = stalls && !f->tree->ordered;
    if (a->deferred && fold_add_threads(f, a, w, e) != ST_OK) {
        return ST_ERR;
    }
    if (fold_stalls_offer(&f->stalls, a->share->stall, d->stall.seq, &f->stacks, &added, e) !=
        ST_OK) {
        return ST_ERR;
    }
    f->stats.stalls += added;
    if (a->deferred || (stalls && !added)) {
        return ST_OK;
    }
    return fold_add_threads(f, a, w, e);
}

enum st fold_add(struct fold *f, const struct dump *d, const struct fold_share *share,
                 struct err *e) {
    struct fold_target a = {.dump = d, .addresses = address_rules_of(d), .share = share};
    struct fold_weights w = {.ms = share->ms};
    if (count_votes(f, d, &w.votes, e) != ST_OK) {
        return ST_ERR;
    }
    w.samples = dump_is_about_threads(d) ? 0 : w.votes;
    choose_weights(f, &w);
    if (fold_check_sums(f, d, &w, e) != ST_OK) {
        return ST_ERR;
    }
    stack_tree_break(f->tree);
    enum st st = share->whole ? fold_add_threads(f, &a, &w, e) : fold_add_part(f, &a, &w, e);
    if (st != ST_OK) {
        return ST_ERR;
    }
    f->stats.stalls += share->whole;
    fold_count_dump(f, d, &w);
    return ST_OK;
}

/* ---- users ---- */

/* The stacks of one user while they are collected from fold.by_user. */
struct user_stacks {
    struct fold *fold;
    struct strbuf user;
    struct strbuf texts; /* texts of the stacks, a NUL after each */
    VEC(uint64_t) shares;
};

/* Splits the weight of one user, 1.000000, among the user's stacks in proportion to their time. */
static enum st add_user(struct user_stacks *u, struct err *e) {
    if (u->shares.len == 0) {
        return ST_OK;
    }
    uint64_t one = weigh_power_of_ten(STACK_DECIMALS_MAX);
    enum st st = weigh_split(one, u->shares.data, u->shares.len, u->shares.data, e);
    const char *text = strbuf_cstr(&u->texts);
    for (size_t i = 0; st == ST_OK && i < u->shares.len; i++) {
        size_t len = strlen(text); /* canonical text has no NUL */
        st = stack_tree_add(u->fold->tree, text, len, u->shares.data[i], STACK_DECIMALS_MAX, e);
        text += len + 1;
    }
    u->fold->stats.users++;
    strbuf_clear(&u->texts);
    u->shares.len = 0;
    return st;
}

static enum st collect_user(void *ctx, const char *text, size_t len, uint64_t weight,
                            struct err *e) {
    struct user_stacks *u = ctx;
    const char *end = memchr(text, ';', len);
    size_t user = (size_t)(end - text);
    if (u->user.len != user || memcmp(strbuf_cstr(&u->user), text, user) != 0) {
        if (add_user(u, e) != ST_OK) {
            return ST_ERR;
        }
        strbuf_clear(&u->user);
        strbuf_add(&u->user, text, user);
    }
    strbuf_add(&u->texts, end + 1, len - user - 1);
    strbuf_addc(&u->texts, '\0');
    if (!VEC_PUSH(&u->shares, weight) || u->user.failed || u->texts.failed) {
        return err_nomem(e);
    }
    return ST_OK;
}

enum st fold_finish(struct fold *f, struct err *e) {
    struct user_stacks u = {.fold = f};
    enum st st = stack_tree_each(&f->by_user, collect_user, &u, e);
    if (st == ST_OK) {
        st = add_user(&u, e);
    }
    if (st == ST_OK) {
        st = fold_stalls_add(&f->stalls, f->tree, e);
    }
    strbuf_release(&u.user);
    strbuf_release(&u.texts);
    VEC_RELEASE(&u.shares);
    stack_tree_release(&f->by_user);
    return st;
}

void fold_release(struct fold *f) {
    stack_tree_release(&f->by_user);
    fold_stalls_release(&f->stalls);
    strbuf_release(&f->stacks);
    strbuf_release(&f->line);
    strbuf_release(&f->name);
    strbuf_release(&f->plain);
    VEC_RELEASE(&f->shares);
    VEC_RELEASE(&f->votes);
}

/* ---- words ---- */

void fold_add_duration(struct strbuf *out, uint64_t ms) {
    uint64_t s = ms / 1000;
    if (ms < 1000) {
        strbuf_addf(out, "%" PRIu64 " ms", ms);
    } else if (s < 120) {
        strbuf_addf(out, "%" PRIu64 ".%" PRIu64 " s", s, ms % 1000 / 100);
    } else if (s < 7200) {
        strbuf_addf(out, "%" PRIu64 " min %" PRIu64 " s", s / 60, s % 60);
    } else {
        strbuf_addf(out, "%" PRIu64 " h %" PRIu64 " min", s / 3600, s / 60 % 60);
    }
}

static void add_plural(struct strbuf *out, uint64_t n, const char *what) {
    strbuf_addf(out, "%" PRIu64 " %s%s", n, what, n == 1 ? "" : "s");
}

void fold_describe(const struct fold_stats *s, struct strbuf *out) {
    fold_add_duration(out, s->total_ms);
    strbuf_addstr(out, " stalled in ");
    if (s->stalls == s->dumps) {
        add_plural(out, s->stalls, "stall");
    } else {
        add_plural(out, s->dumps, "dump");
        strbuf_addstr(out, " of ");
        add_plural(out, s->stalls, "stall");
    }
    if (s->total_ms > 0) {
        strbuf_addf(out, ", %" PRIu64 " %% of it sampled",
                    weigh_muldiv(s->sampled_ms, 100, s->total_ms, NULL));
    }
    if (s->users > 0) {
        strbuf_addstr(out, ", ");
        add_plural(out, s->users, "user");
    }
    if (s->threads > 0) {
        strbuf_addstr(out, ", counted for each thread");
    }
    if (s->untimed > 0) {
        strbuf_addf(out, ", %" PRIu64 " without a duration", s->untimed);
    }
}
