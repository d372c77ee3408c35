/* Finds buckets by ids that they had formerly, and the buckets in which their dumps are now. */
#include "classify/print/former_ids.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "classify/print/triage_text.h"
#include "classify/stats/sum.h"

/* All kinds of keys, of which one is the present one, each with the options that select it. */
static const struct {
    const char *text;
    enum key_kind kind;
    bool inlines, raw;
} other_keys[FORMER_KEYERS] = {
    {"--keys frames", KEY_OF_FRAMES, true, false},
    {"--keys frames --no-inlines", KEY_OF_FRAMES, false, false},
    {"--no-inlines", KEY_OF_APP, false, false},
    {"--keys app", KEY_OF_APP, true, false},
    {"--rules none", KEY_OF_FRAMES, true, true},
};

/* Ways by which a dump had an id. The values from WAY_OTHER_KEYS on are those of the rows of
 * other_keys. */
enum { WAY_NAMELESS = 1, WAY_NOT_INLINED, WAY_STARTLESS, WAY_ANNOTATED, WAY_OTHER_KEYS };

const char *former_way_text(unsigned way) {
    static const char *const texts[] = {[WAY_NAMELESS] = "of the dumps without symbols",
                                        [WAY_NOT_INLINED] = "of the dumps without what was inlined",
                                        [WAY_STARTLESS] = "of the dumps without function starts",
                                        [WAY_ANNOTATED] = "with which the dumps were annotated"};
    return way < WAY_OTHER_KEYS ? texts[way] : other_keys[way - WAY_OTHER_KEYS].text;
}

enum st former_keyers_new(struct former_keyers *f, const struct key_options *now, struct err *e) {
    for (size_t i = 0; i < FORMER_KEYERS; i++) {
        struct key_options o = *now;
        bool same = other_keys[i].raw ? !now->rules
                                      : !now->rules || (now->kind == other_keys[i].kind &&
                                                        now->inlines == other_keys[i].inlines);
        o.rules = other_keys[i].raw ? NULL : now->rules;
        o.kind = other_keys[i].kind;
        o.inlines = other_keys[i].inlines;
        if (!same && keyer_new(&f->by[i], &o, e) != ST_OK) {
            return ST_ERR;
        }
    }
    return ST_OK;
}

void former_keyers_release(struct former_keyers *f) {
    for (size_t i = 0; i < FORMER_KEYERS; i++) {
        keyer_free(f->by[i]);
        f->by[i] = NULL;
    }
}

/* ---- a dump ---- */

static const struct key *key_of_level(const struct stall_key *key, size_t level) {
    return level < KEY_LEVELS ? &key->level[level] : &key->action;
}

/* Writes the id of a level; "" for an empty key. ST_ERR: out of memory. Never ST_NONE. */
static enum st id_of_level(const struct stall_key *key, size_t level, char id[KEY_ID_SIZE],
                           struct err *e) {
    const struct key *of = key_of_level(key, level);
    struct strbuf text = {0};
    id[0] = '\0';
    if (of->count) {
        key_text(of, &text);
        key_id("12a"[level], strbuf_cstr(&text), text.len, id);
    }
    enum st st = strbuf_check(&text, e);
    strbuf_release(&text);
    return st;
}

static bool id_begins(const char *text, const char *with) {
    return text && *text && strncmp(text, with, strlen(with)) == 0;
}

/* Returns the way by which the dump had an id of this level that begins with `id`, according to its
 * present key or its annotation; 0 = none. */
static unsigned told_way(const char *id, const struct dump *d, const struct stall_key *key,
                         size_t level) {
    const char *const annotated[][2] = {{d->class.level1, d->class.level1_was},
                                        {d->class.level2, d->class.level2_was},
                                        {d->class.action, d->class.action_was}};
    static const unsigned ways[KEY_WAYS] = {[KEY_NAMELESS] = WAY_NAMELESS,
                                            [KEY_NOT_INLINED] = WAY_NOT_INLINED,
                                            [KEY_STARTLESS] = WAY_STARTLESS};
    for (size_t way = 0; way < KEY_WAYS; way++) {
        char text[KEY_ID_SIZE];
        key_number_text(key->was[way][level], text);
        if (key->was[way][level] && id_begins(text, id)) {
            return ways[way];
        }
    }
    return id_begins(annotated[level][0], id) || id_begins(annotated[level][1], id) ? WAY_ANNOTATED
                                                                                    : 0;
}

static void find_told_way(const char *id, const struct dump *d, const struct stall_key *key,
                          struct former_fit *out) {
    for (size_t level = 0; level <= KEY_LEVELS && !out->way; level++) {
        out->way = told_way(id, d, key, level);
        out->level = level;
    }
}

static enum st find_other_keys(struct former_keyers *f, const char *id, const struct dump *d,
                               struct former_fit *out, struct err *e) {
    for (size_t i = 0; i < FORMER_KEYERS && !out->way; i++) {
        struct stall_key former;
        if (!f->by[i]) {
            continue;
        }
        if (keyer_key(f->by[i], d, &former, e) != ST_OK) {
            return ST_ERR;
        }
        for (size_t level = 0; level <= KEY_LEVELS && !out->way; level++) {
            char text[KEY_ID_SIZE];
            if (id_of_level(&former, level, text, e) != ST_OK) {
                return ST_ERR;
            }
            out->way = id_begins(text, id) ? WAY_OTHER_KEYS + (unsigned)i : 0;
            out->level = level;
        }
    }
    return ST_OK;
}

enum st former_fits(struct former_keyers *f, const char *id, const struct dump *d,
                    const struct stall_key *key, struct former_fit *out, struct err *e) {
    find_told_way(id, d, key, out);
    if (!out->way && find_other_keys(f, id, d, out, e) != ST_OK) {
        return ST_ERR;
    }
    if (!out->way || key->status != KEY_OK) {
        return ST_OK;
    }
    const struct key *now = key_of_level(key, out->level);
    if (id_of_level(key, out->level, out->now, e) != ST_OK) {
        return ST_ERR;
    }
    for (size_t i = 0; i < now->count; i++) {
        const struct frame_info *info = now->frames[i].info, *call = now->frames[i].call;
        struct bucket_frame frame = {.image_name = info->image_name,
                                     .function = info->function,
                                     .call = call && call->resolved ? call->function : NULL,
                                     .in_app = info->in_app,
                                     .resolved = info->resolved};
        strbuf_addstr(&out->title, i ? " \xe2\x86\x90 " : "");
        text_add_frame(&out->title, &frame);
    }
    return strbuf_check(&out->title, e);
}

void former_fit_release(struct former_fit *fit) {
    strbuf_release(&fit->title);
}

/* ---- buckets ---- */

void former_buckets_release(struct former_buckets *b) {
    for (size_t i = 0; i < b->buckets.len; i++) {
        free(b->buckets.data[i].title);
    }
    VEC_RELEASE(&b->buckets);
}

static struct former_bucket *find_bucket(struct former_buckets *b, const struct former_fit *fit) {
    for (size_t i = 0; i < b->buckets.len; i++) {
        struct former_bucket *of = &b->buckets.data[i];
        if (of->level == fit->level && strcmp(of->id, fit->now) == 0) {
            return of;
        }
    }
    struct former_bucket made = {.level = fit->level, .title = strdup(strbuf_cstr(&fit->title))};
    memcpy(made.id, fit->now, sizeof made.id);
    if (!made.title || !VEC_PUSH(&b->buckets, made)) {
        free(made.title);
        return NULL;
    }
    return &b->buckets.data[b->buckets.len - 1];
}

bool former_buckets_add(struct former_buckets *b, const struct former_fit *fit, uint64_t ms) {
    struct former_bucket *of = find_bucket(b, fit);
    if (!of) {
        return false;
    }
    of->dumps++;
    sum_add(&of->ms, ms);
    b->way = b->way && b->way < fit->way ? b->way : fit->way;
    return true;
}

static int by_time(const void *a, const void *b) {
    const struct former_bucket *x = a, *y = b;
    int order = COMPARE(y->ms, x->ms);
    order = order ? order : COMPARE(y->dumps, x->dumps);
    order = order ? order : COMPARE(x->level, y->level);
    return order ? order : strcmp(x->id, y->id);
}

void former_buckets_print(struct former_buckets *b, const char *id, struct sink *out) {
    static const char *const levels[] = {"level 1", "level 2", "action"};
    uint64_t ms = 0, dumps = 0;
    char number[NUMBER_SIZE];
    for (size_t i = 0; i < b->buckets.len; i++) {
        sum_add(&ms, b->buckets.data[i].ms);
        sum_add(&dumps, b->buckets.data[i].dumps);
    }
    qsort(b->buckets.data, b->buckets.len, sizeof *b->buckets.data, by_time);
    sink_printf(out, "former id %s, %s: ", id, former_way_text(b->way));
    sink_printf(out, "%s %s", text_grouped(dumps, number), dumps == 1 ? "dump" : "dumps");
    sink_printf(out, ", %s, now in\n", text_ms(ms, number));
    for (size_t i = 0; i < b->buckets.len; i++) {
        const struct former_bucket *of = &b->buckets.data[i];
        uint64_t part = ms ? of->ms : of->dumps;
        sink_printf(out, "  %6s", text_share(part, ms ? ms : dumps, number));
        sink_printf(out, " %9s", text_ms(of->ms, number));
        sink_printf(out, " %7s", text_grouped(of->dumps, number));
        if (of->id[0]) {
            sink_printf(out, "  %s %s  %s\n", levels[of->level], of->id, of->title);
        } else {
            sink_str(out, "  none: set apart\n");
        }
    }
    sink_str(out, "\n");
}
