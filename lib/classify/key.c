/* Which stack, which of its frames, and their text. */
#include "classify/key.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "classify/frame_info.h"

struct keyer {
    struct frame_table table;
    VEC(struct frame_info *) by_location; /* of the dump at hand; NULL = not looked at yet */
    uint64_t epoch;                       /* one per dump: makes votes of earlier dumps void */
};

enum st keyer_new(struct keyer **out, const struct rules *rules, struct err *e) {
    struct keyer *k = calloc(1, sizeof *k);
    if (!k) {
        return err_nomem(e);
    }
    k->table.rules = rules;
    *out = k;
    return ST_OK;
}

void keyer_free(struct keyer *k) {
    if (k) {
        frame_table_release(&k->table);
        VEC_RELEASE(&k->by_location);
        free(k);
    }
}

static const struct dump_location *location_of(const struct dump *d, const struct dump_stack *s,
                                               size_t i) {
    return d->locations && s->locations && s->locations[i] < d->location_count
               ? &d->locations[s->locations[i]]
               : NULL;
}

/* Frame i of a stack, whoever called it; NULL = out of memory. */
static struct frame_info *frame_alone(struct keyer *k, const struct dump *d,
                                      const struct dump_stack *s, size_t i) {
    const struct dump_location *l = location_of(d, s, i);
    if (!l) {
        return frame_of_address(&k->table, d, s, i);
    }
    struct frame_info **info = &k->by_location.data[s->locations[i]];
    if (!*info) {
        *info = frame_of_location(&k->table, d, l);
    }
    return *info;
}

/* Frame i of a stack; NULL = out of memory. */
static struct frame_info *frame_at(struct keyer *k, const struct dump *d,
                                   const struct dump_stack *s, size_t i) {
    struct frame_info *info = frame_alone(k, d, s, i), *caller = NULL;
    if (!info || !info->by_caller) {
        return info;
    }
    if (i + 1 < s->frame_count && !(caller = frame_alone(k, d, s, i + 1))) {
        return NULL;
    }
    return frame_from(&k->table, info, caller);
}

/* ---- which stack ---- */

/* The innermost relevant frame, or the loop that waits for work if there is none inside it (a
 * PLACE_CUT frame); ST_NONE: neither. */
static enum st top_frame(struct keyer *k, const struct dump *d, const struct dump_stack *s,
                         struct frame_info **out, struct err *e) {
    for (size_t i = 0; i < s->frame_count; i++) {
        struct frame_info *info = frame_at(k, d, s, i);
        if (!info) {
            return err_nomem(e);
        }
        if (info->place == PLACE_KEEP || info->place == PLACE_CUT) {
            *out = info->canonical;
            return info->place == PLACE_KEEP || info->cause == CAUSE_IDLE ? ST_OK : ST_NONE;
        }
    }
    return ST_NONE;
}

struct votes {
    const struct frame_info *best; /* the function with most samples */
    uint64_t total, idle;
};

static enum st count_votes(struct keyer *k, const struct dump *d, struct votes *v, struct err *e) {
    k->epoch++;
    for (size_t i = 0; i < d->sample_count; i++) {
        struct frame_info *top = NULL;
        enum st st = top_frame(k, d, &d->samples[i], &top, e);
        if (st == ST_ERR) {
            return ST_ERR;
        }
        v->total += d->samples[i].count;
        if (st == ST_OK && top->place == PLACE_CUT) {
            v->idle += d->samples[i].count;
        } else if (st == ST_OK) {
            top->votes = (top->vote_epoch == k->epoch ? top->votes : 0) + d->samples[i].count;
            top->vote_epoch = k->epoch;
            v->best = !v->best || top->votes >= v->best->votes ? top : v->best;
        }
    }
    return ST_OK;
}

/* The device judged by addresses or function starts; with names, the samples whose innermost
 * relevant function is the same vote together. Most votes win, ties go to the later stack, as on
 * the device; then that function's most frequent stack. Where more than half of the samples are the
 * loop waiting for work, that is what the dump shows: it came too late. NULL in *out: no sample has
 * a relevant frame. */
static enum st judge_samples(struct keyer *k, const struct dump *d, const struct dump_stack **out,
                             struct err *e) {
    struct votes v = {0};
    *out = NULL;
    if (count_votes(k, d, &v, e) != ST_OK) {
        return ST_ERR;
    }
    bool idle = v.idle > v.total / 2;
    for (size_t i = 0; i < d->sample_count; i++) {
        const struct dump_stack *s = &d->samples[i];
        struct frame_info *top = NULL;
        enum st st = top_frame(k, d, s, &top, e);
        if (st == ST_ERR) {
            return ST_ERR;
        }
        bool fits = st == ST_OK && (idle ? top->place == PLACE_CUT : top == v.best);
        if (fits && (!*out || s->count >= (*out)->count)) {
            *out = s;
        }
    }
    return ST_OK;
}

static enum st choose_stack(struct keyer *k, const struct dump *d, const struct dump_stack **out,
                            struct err *e) {
    *out = NULL;
    if (k->table.rules && d->sample_count && judge_samples(k, d, out, e) != ST_OK) {
        return ST_ERR;
    }
    if (!*out) {
        *out = dump_heaviest(d);
    }
    return ST_OK;
}

/* ---- which frames ---- */

static bool key_has(const struct key *key, const struct frame_info *info) {
    for (size_t i = 0; i < key->count; i++) {
        if (key->frames[i].info->canonical == info->canonical) {
            return true;
        }
    }
    return false;
}

static bool key_has_app(const struct key *key) {
    for (size_t i = 0; i < key->count; i++) {
        if (key->frames[i].info->in_app) {
            return true;
        }
    }
    return false;
}

static void key_add(struct key *key, const struct key_frame *f) {
    if (key->count < KEY_FRAMES_MAX) {
        key->frames[key->count++] = *f;
    }
}

static struct key_frame make_frame(const struct dump *d, const struct dump_stack *s, size_t i,
                                   const struct frame_info *info) {
    struct key_frame f = {.info = info};
    const struct dump_location *l = location_of(d, s, i);
    if (l && l->line_count) {
        const struct dump_line *real = &l->lines[l->line_count - 1];
        f.file = real->line ? real->file : NULL;
        f.line = real->line;
    }
    return f;
}

/* Fills one level while walking outwards: its frames, then, if none of them is the app's, the
 * nearest that is. */
struct level {
    struct key *key;
    size_t wanted, counted;
};

static void level_offer(struct level *l, const struct key_frame *f) {
    bool full = l->counted >= l->wanted;
    if (key_has(l->key, f->info)) {
        return; /* recursion, direct or mutual */
    }
    if (!full) {
        /* One slot stays free for the app's frame. */
        if (l->key->count < KEY_FRAMES_MAX - 1) {
            key_add(l->key, f);
        }
        l->counted += f->info->place == PLACE_KEEP;
    } else if (f->info->in_app && !key_has_app(l->key)) {
        key_add(l->key, f);
    }
}

/* Nothing is relevant: idle, or else the frames as they are, up to the one that cut. */
static enum st fall_back(struct keyer *k, const struct dump *d, struct stall_key *out,
                         struct err *e) {
    const struct dump_stack *s = out->stack;
    struct level levels[KEY_LEVELS] = {{&out->level[0], 2, 0}, {&out->level[1], 4, 0}};
    for (size_t i = 0; i < s->frame_count; i++) {
        const struct frame_info *info = frame_at(k, d, s, i);
        if (!info) {
            return err_nomem(e);
        }
        struct key_frame f = make_frame(d, s, i, info);
        for (size_t n = 0; n < KEY_LEVELS; n++) {
            if (!key_has(levels[n].key, info) && levels[n].counted < levels[n].wanted) {
                key_add(levels[n].key, &f);
                levels[n].counted++;
            }
        }
        if (info->place == PLACE_CUT) {
            if (info->cause == CAUSE_IDLE) {
                out->status = KEY_IDLE;
                out->cause = CAUSE_IDLE;
            }
            break;
        }
    }
    return ST_OK;
}

/* The surest frame decides, the innermost of equals: a read is part of what its callers are at. */
static void refine_cause(struct stall_key *key, const struct frame_info *info) {
    if (info->cause != CAUSE_NONE &&
        (key->cause == CAUSE_NONE ||
         (info->confidence > key->confidence && info->cause != CAUSE_IDLE))) {
        key->cause = info->cause;
        key->confidence = info->confidence;
        key->reason = info->reason;
    }
}

static enum st relevant_frames(struct keyer *k, const struct dump *d, struct stall_key *out,
                               struct err *e) {
    const struct dump_stack *s = out->stack;
    struct level levels[KEY_LEVELS] = {{&out->level[0], 2, 0}, {&out->level[1], 4, 0}};
    for (size_t i = 0; i < s->frame_count; i++) {
        const struct frame_info *info = frame_at(k, d, s, i);
        if (!info) {
            return err_nomem(e);
        }
        if (levels[0].counted == 0) {
            refine_cause(out, info);
        }
        if (info->place == PLACE_CUT) {
            break;
        }
        if (info->place == PLACE_SKIP) {
            continue;
        }
        struct key_frame f = make_frame(d, s, i, info);
        for (size_t n = 0; n < KEY_LEVELS; n++) {
            level_offer(&levels[n], &f);
        }
        if (info->in_app) {
            out->action.frames[0] = f; /* the last one seen is the outermost */
            out->action.count = 1;
        }
    }
    return out->level[0].count ? ST_OK : fall_back(k, d, out, e);
}

/* The published rule: the innermost two and four frames, whatever they are. */
static enum st raw_frames(struct keyer *k, const struct dump *d, struct stall_key *out,
                          struct err *e) {
    const struct dump_stack *s = out->stack;
    for (size_t i = 0; i < s->frame_count && i < 4; i++) {
        const struct frame_info *info = frame_at(k, d, s, i);
        if (!info) {
            return err_nomem(e);
        }
        struct key_frame f = make_frame(d, s, i, info);
        if (i < 2) {
            key_add(&out->level[0], &f);
        }
        key_add(&out->level[1], &f);
    }
    return ST_OK;
}

enum st keyer_key(struct keyer *k, const struct dump *d, struct stall_key *out, struct err *e) {
    *out = (struct stall_key){.reason = ""};
    k->by_location.len = 0;
    if (d->location_count && !VEC_RESERVE(&k->by_location, d->location_count)) {
        return err_nomem(e);
    }
    for (size_t i = 0; i < d->location_count; i++) {
        k->by_location.data[i] = NULL;
    }
    if (!frame_table_begin(&k->table, d)) {
        return err_nomem(e);
    }
    if (choose_stack(k, d, &out->stack, e) != ST_OK) {
        return ST_ERR;
    }
    if (!out->stack || out->stack->frame_count == 0) {
        out->status = KEY_NO_STACK;
        return ST_OK;
    }
    enum st st = k->table.rules ? relevant_frames(k, d, out, e) : raw_frames(k, d, out, e);
    for (size_t i = 0; i < out->level[0].count; i++) {
        out->unresolved = out->unresolved || !out->level[0].frames[i].info->resolved;
    }
    return st;
}

/* ---- text and id ---- */

void key_text(const struct key *key, struct strbuf *out) {
    for (size_t i = 0; i < key->count; i++) {
        strbuf_addstr(out, key->frames[i].info->image);
        strbuf_addc(out, '\t');
        strbuf_addstr(out, key->frames[i].info->function);
        strbuf_addc(out, '\n');
    }
}

void key_id(char level, const char *text, size_t len, char out[KEY_ID_SIZE]) {
    /* The level is mixed in by hashing the text's hash with it: equal texts of two levels differ.
     */
    uint64_t parts = hash_bytes(text, len) ^ (uint64_t)(unsigned char)level;
    uint8_t bytes[8];
    for (int i = 0; i < 8; i++) {
        bytes[i] = (uint8_t)(parts >> (8 * i));
    }
    uint64_t hash = hash_bytes(bytes, sizeof bytes);
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < KEY_ID_SIZE - 1; i++) {
        out[i] = digits[hash >> (60 - 4 * i) & 0xf];
    }
    out[KEY_ID_SIZE - 1] = 0;
}
