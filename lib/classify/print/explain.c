/* Prints how a dump got its bucket: the frames that the keyer saw, with the rule that decided on
 * each.
 *
 *      2  pthread_mutex_lock  libsystem_pthread.dylib
 *            skip        darwin.rules:51      * in libsystem_pthread.dylib
 *            lock 90%    darwin.rules:49      pthread_mutex_lock: waits for a mutex
 *      3  -[Cart total]  Shop
 *            in app      as the dump says of its image
 *            key         level 1, level 2 */
#include "classify/print/explain.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/escape.h"
#include "base/path.h"
#include "classify/keys/keyer_private.h"

struct explanation {
    struct keyer *k;
    const struct dump *d;
    const struct explain_view *view;
    const struct stall_key *key;
    struct judged_stack stack;
    struct sink *out;
    struct strbuf text, shown;
};

/* ---- ids that name a dump ---- */

static bool begins(const char *text, const char *with) {
    return text && strncmp(text, with, strlen(with)) == 0;
}

/* Does the id of the key of this level begin with `id`? ST_NONE: it does not, or the key is empty.
 * ST_ERR: out of memory. */
static enum st key_begins(const struct stall_key *stall, size_t level, const char *id,
                          struct err *e) {
    const struct key *key = level < KEY_LEVELS ? &stall->level[level] : &stall->action;
    char text[KEY_ID_SIZE];
    struct strbuf b = {0};
    key_text(key, &b);
    enum st st = strbuf_check(&b, e);
    if (st == ST_OK) {
        key_id("12a"[level], strbuf_cstr(&b), b.len, text);
        st = key->count && begins(text, id) ? ST_OK : ST_NONE;
    }
    strbuf_release(&b);
    return st;
}

enum st explain_fits(const char *id, const struct dump *d, const struct stall_key *key,
                     enum explain_fit *fit, struct err *e) {
    enum st st = ST_NONE;
    *fit = EXPLAIN_NOT;
    if (strlen(id) < EXPLAIN_ID_MIN) {
        return ST_OK;
    }
    if (begins(d->id, id)) {
        *fit = EXPLAIN_DUMP;
        return ST_OK;
    }
    for (size_t level = 0; level <= KEY_LEVELS && st == ST_NONE; level++) {
        st = key_begins(key, level, id, e);
    }
    *fit = st == ST_OK ? EXPLAIN_BUCKET : EXPLAIN_NOT;
    return st == ST_ERR ? ST_ERR : ST_OK;
}

/* ---- printing ---- */

static void explain_style(const struct explanation *x, const char *code) {
    if (x->view->colour) {
        sink_printf(x->out, "\033[%sm", code);
    }
}

/* Prints a text of a dump, made safe for a terminal. */
static void print_text(struct explanation *x, const char *text) {
    strbuf_clear(&x->shown);
    text_add_shown(&x->shown, text, strlen(text));
    sink_write(x->out, strbuf_cstr(&x->shown), x->shown.len);
}

static void print_verdict(const struct explanation *x, const char *verdict) {
    explain_style(x, "1");
    sink_printf(x->out, "         %-11s ", verdict);
    explain_style(x, "0");
}

static void print_note(struct explanation *x, const char *verdict, const char *note) {
    print_verdict(x, verdict);
    print_text(x, note);
    sink_char(x->out, '\n');
}

/* Appends the pattern of a rule and at most two of its images and frameworks, as they stand in the
 * rule file, but without quotes. */
static void explain_add_pattern(struct strbuf *b, const struct rule *rule) {
    if (rule->unresolved) {
        strbuf_addstr(b, "unresolved");
    } else {
        pattern_text(&rule->function, b);
    }
    for (size_t i = 0; i < rule->image_count && i < 2; i++) {
        strbuf_addstr(b, i ? " " : " in ");
        strbuf_addstr(b, rule->images[i].by == IMAGE_BY_ID ? "id:" : "");
        pattern_text(&rule->images[i].pattern, b);
    }
    strbuf_addstr(b, rule->image_count > 2 ? " \xe2\x80\xa6" : "");
    for (size_t i = 0; i < rule->framework_count && i < 2; i++) {
        strbuf_addstr(b, i ? " " : " under ");
        pattern_text(&rule->frameworks[i], b);
    }
    strbuf_addstr(b, rule->framework_count > 2 ? " \xe2\x80\xa6" : "");
}

static void print_rule(struct explanation *x, const struct rule *rule, const char *verdict,
                       const char *note) {
    char where[80];
    snprintf(where, sizeof where, "%s:%" PRIu32, path_base(rule->file), rule->line);
    strbuf_clear(&x->text);
    explain_add_pattern(&x->text, rule);
    print_verdict(x, verdict);
    sink_printf(x->out, "%-20s ", where);
    explain_style(x, "2");
    sink_str(x->out, strbuf_cstr(&x->text));
    explain_style(x, "0");
    sink_str(x->out, note[0] ? ": " : "");
    print_text(x, note);
    sink_char(x->out, '\n');
}

/* ---- a frame ---- */

/* Prints whose code a frame is. The system's code is mentioned only if a rule decided so and the
 * dump marks the frame as the app's. */
static void print_side(struct explanation *x, const struct frame_info *info) {
    const struct rule *rule = info->by[RULE_SIDE];
    static const char *const sides[] = {
        [SIDE_SYSTEM] = "not in app", [SIDE_VENDOR] = "vendor", [SIDE_APP] = "in app"};
    const char *side = sides[info->side];
    if (rule && (info->in_app || info->vendor || info->said_in_app)) {
        print_rule(x, rule, side, info->vendor ? info->vendor : "");
    } else if (info->in_app) {
        print_note(x, side, "as the dump says of its image");
    }
}

static void print_rules(struct explanation *x, const struct judged_frame *f) {
    const struct frame_info *info = f->info;
    char verdict[32];
    if (info->by[RULE_NORMALISE]) {
        print_rule(x, info->by[RULE_NORMALISE], "renamed", info->function);
    }
    print_side(x, info);
    if (info->by[RULE_PLACE]) {
        print_rule(x, info->by[RULE_PLACE], rule_place_text(info->place),
                   info->place == PLACE_PREFIX ? "in the key, but not counted" : "");
    }
    if (info->by[RULE_CAUSE]) {
        snprintf(verdict, sizeof verdict, "%s %u%%", rule_cause_text(info->cause),
                 info->confidence / 10);
        print_rule(x, info->by[RULE_CAUSE], verdict, info->reason);
    }
    if (info->callout) {
        print_rule(x, info->by[RULE_CALLOUT], "callout", "");
    }
}

/* Returns the part of a key that frame i contributed: a function, or the framework of its function;
 * NULL = nothing. */
static const struct key_frame *part_of(const struct explanation *x, const struct key *key,
                                       size_t i) {
    const struct frame_info *info = judged_at(x->k, &x->stack, i)->info;
    for (size_t n = 0; n < key->count; n++) {
        const struct frame_info *from =
            key->frames[n].call ? key->frames[n].call : key->frames[n].info;
        if (from->canonical == info->canonical) {
            return &key->frames[n];
        }
    }
    return NULL;
}

/* Returns the first frame of the stack that has the same function as frame i. Only that frame is
 * shown as a part of the key. */
static size_t first_like(const struct explanation *x, size_t i) {
    size_t first = 0;
    while (judged_at(x->k, &x->stack, first)->info->canonical !=
           judged_at(x->k, &x->stack, i)->info->canonical) {
        first++;
    }
    return first;
}

static bool is_action(const struct explanation *x, const struct frame_info *info) {
    return x->key->action.count && x->key->action.frames[0].info->canonical == info->canonical;
}

/* Prints the framework that the frame gave to a key. */
static void print_framework(struct explanation *x, const struct frame_info *info,
                            const struct key_frame *part) {
    if (part && part->call && info->by[RULE_FRAMEWORK]) {
        print_rule(x, info->by[RULE_FRAMEWORK], "framework", part->info->image);
    } else if (part && part->call) {
        print_note(x, "framework", part->info->image);
    }
}

/* Prints the part of the keys that a frame contributed. */
static void print_part(struct explanation *x, size_t i) {
    const struct frame_info *info = judged_at(x->k, &x->stack, i)->info;
    const struct key_frame *in[KEY_LEVELS], *part = NULL;
    struct strbuf *b = &x->text;
    for (size_t n = 0; n < KEY_LEVELS; n++) {
        in[n] = part_of(x, &x->key->level[n], i);
        part = part ? part : in[n];
    }
    print_framework(x, info, part); /* print_framework writes into b, too */
    strbuf_clear(b);
    for (size_t n = 0; n < KEY_LEVELS; n++) {
        if (in[n]) {
            strbuf_addf(b, "%slevel %zu", b->len ? ", " : "", n + 1);
        }
    }
    if (part && first_like(x, i) < i) {
        strbuf_clear(b);
        strbuf_addf(b, "recursion of frame %zu", first_like(x, i));
    }
    if (is_action(x, info) && info->in_app) {
        strbuf_addf(b, "%saction", b->len ? ", " : "");
    }
    if (b->len) {
        print_note(x, "key", strbuf_cstr(b));
    }
}

static void print_frame(struct explanation *x, size_t i) {
    const struct judged_frame *f = judged_at(x->k, &x->stack, i);
    sink_printf(x->out, "%4zu  ", i);
    explain_style(x, f->info->in_app ? "1" : "0");
    print_text(x, f->info->function);
    explain_style(x, "0");
    explain_style(x, "2");
    sink_str(x->out, "  ");
    print_text(x, f->info->image_name);
    if (f->line && f->line->file) {
        sink_str(x->out, "  ");
        print_text(x, path_base(f->line->file));
        if (f->line->line > 0) {
            sink_printf(x->out, ":%" PRIu32, f->line->line);
        }
    }
    explain_style(x, "0");
    sink_str(x->out, "\n");
    print_rules(x, f);
    if (i < x->stack.cut || x->stack.cut == 0) {
        print_part(x, i);
    }
}

static void print_frames(struct explanation *x) {
    for (size_t i = 0; i < x->stack.count; i++) {
        print_frame(x, i);
        if (i == x->stack.cut && i + 1 < x->stack.count) {
            size_t left = x->stack.count - i - 1;
            sink_printf(x->out, "      %zu frame%s below %s cut off\n", left, left == 1 ? "" : "s",
                        left == 1 ? "is" : "are");
            return;
        }
    }
}

/* ---- around the frames ---- */

/* Prints which thread the stack belongs to, in a dump that is about threads that worked. */
static void print_worker(struct explanation *x) {
    const struct dump *d = x->d;
    size_t i = 0;
    while (i < d->thread_count && &d->threads[i].stack != x->key->stack) {
        i++;
    }
    if (i == d->thread_count || d->threads[i].main) {
        sink_str(x->out, "of the main thread, which worked most\n");
        return;
    }
    sink_printf(x->out, "of thread %" PRId64 "%s", d->threads[i].id, d->threads[i].name ? " " : "");
    print_text(x, d->threads[i].name ? d->threads[i].name : "");
    if (d->threads[i].cpu_permille >= 0) {
        sink_printf(x->out, ", on a processor for %" PRId64 "%% of the time",
                    d->threads[i].cpu_permille / 10);
    }
    sink_str(x->out, "\n");
}

static void print_head(struct explanation *x) {
    const struct dump *d = x->d;
    const char *const parts[] = {d->app.id, d->app.version, d->device.os, d->device.model,
                                 d->stall.kind};
    sink_str(x->out, "dump      ");
    print_text(x, d->id && *d->id ? d->id : "without an id");
    sink_printf(x->out, ", %" PRId64 " ms", dump_span_ms(d));
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (parts[i] && *parts[i]) {
            sink_str(x->out, i == 1 && parts[0] ? " " : ", ");
            print_text(x, parts[i]);
        }
    }
    sink_str(x->out, "\nstack     ");
    if (x->k->about_threads) {
        print_worker(x);
    } else if (x->key->samples) {
        sink_printf(x->out, "sampled %" PRIu64 " of %" PRIu64 " times", x->key->stack->count,
                    x->key->samples);
        sink_str(x->out, x->key->stack == dump_heaviest(d)
                             ? ", the device's choice\n"
                             : "; the device chose another, which names judge otherwise\n");
    } else {
        sink_str(x->out, "of the main thread\n");
    }
}

static void print_key(struct explanation *x, const char *label, char level, const struct key *key) {
    char id[KEY_ID_SIZE];
    if (!key->count) {
        return;
    }
    strbuf_clear(&x->text);
    key_text(key, &x->text);
    key_id(level, strbuf_cstr(&x->text), x->text.len, id);
    sink_printf(x->out, "%-9s %s  ", label, id);
    for (size_t i = 0; i < key->count; i++) {
        const struct frame_info *info = key->frames[i].info;
        sink_str(x->out, i ? " \xe2\x86\x90 " : "");
        print_text(x, info->image);
        sink_str(x->out, info->function[0] ? "!" : "");
        print_text(x, info->function);
    }
    sink_str(x->out, "\n");
}

static void print_outcome(struct explanation *x) {
    const struct stall_key *key = x->key;
    if (key->status != KEY_OK) {
        sink_str(x->out, "apart     only the loop that waits for work: no stall, or dumped too "
                         "late\n");
        return;
    }
    print_key(x, "level 1", '1', &key->level[0]);
    print_key(x, "level 2", '2', &key->level[1]);
    print_key(x, "action", 'a', &key->action);
    if (key->truth >= 0) {
        sink_printf(x->out,
                    "truth     %" PRId64 "%%: %" PRIu64 " of %" PRIu64 " samples contain level 1\n",
                    key->truth / 10, key->hits, key->samples);
    }
    sink_printf(x->out, "cause     %s", rule_cause_text(key->cause));
    if (key->confidence) {
        sink_printf(x->out, " %u%%", key->confidence / 10);
    }
    sink_str(x->out, key->reason[0] ? ": " : "");
    print_text(x, key->reason);
    sink_str(x->out, "\n");
    if (key->unresolved) {
        sink_str(x->out, "note      frames without names: the key will change when symbols come\n");
    }
}

enum st explain_dump(struct keyer *k, const struct dump *d, const struct explain_view *v,
                     struct stall_key *key, struct sink *out, struct err *e) {
    struct explanation x = {.k = k, .d = d, .view = v, .key = key, .out = out};
    if (keyer_key(k, d, key, e) != ST_OK) {
        return ST_ERR;
    }
    if (!key->stack || key->status == KEY_NO_STACK) {
        sink_str(out, "dump      without a stack\n");
        return ST_OK;
    }
    if (judge_stack(k, d, key->stack, &x.stack, e) != ST_OK) {
        return ST_ERR;
    }
    print_head(&x);
    sink_str(out, "\n");
    print_frames(&x);
    sink_str(out, "\n");
    print_outcome(&x);
    bool failed = x.text.failed || x.shown.failed;
    strbuf_release(&x.text);
    strbuf_release(&x.shown);
    return failed ? err_nomem(e) : ST_OK;
}
