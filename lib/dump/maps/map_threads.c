/* Reads a document's threads, their stacks and call trees, and recognises a thread that several
 * sources describe. */
#include <string.h>

#include "dump/maps/map_trees.h"

/* ---- lists of frames ---- */

/* A walk over a thread's frames along the paths of the map. */
struct frame_walk {
    struct map_stacks *s;
    enum st st;
};

static bool visit_frame(void *ctx, const json_t *value) {
    struct frame_walk *walk = ctx;
    if (walk->s->frames.len >= REPORT_FRAMES_MAX) {
        walk->st = err_set(walk->s->r->e, ERR_LIMIT, "its stacks have more than %d frames",
                           REPORT_FRAMES_MAX);
    } else if (json_is_object(value)) {
        walk->st = map_stacks_read_frame(walk->s, value);
    }
    return walk->st == ST_OK;
}

static enum st map_read_frames(struct map_stacks *s, const json_t *thread, struct map_thread *t) {
    struct frame_walk walk = {s, ST_OK};
    t->first = s->frames.len;
    for (size_t i = 0; i < s->map->frames.len && s->frames.len == t->first; i++) {
        if (!member_path_each(&s->map->frames.data[i], thread, visit_frame, &walk)) {
            return walk.st;
        }
    }
    t->count = s->frames.len - t->first;
    if (s->map->outermost_first && t->count > 1) {
        struct map_frame *frames = s->frames.data + t->first;
        for (size_t i = 0, k = t->count; i + 1 < k; i++) {
            struct map_frame swap = frames[i];
            frames[i] = frames[--k];
            frames[k] = swap;
        }
    }
    return ST_OK;
}

/* ---- threads ---- */

static bool map_same_text(const char *a, const char *b) {
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool map_same_frame(const struct map_frame *a, const struct map_frame *b) {
    return a->kind == b->kind && a->address == b->address && a->offset == b->offset &&
           a->image == b->image && a->line == b->line && map_same_text(a->symbol, b->symbol) &&
           map_same_text(a->file, b->file);
}

static bool map_same_stack(const struct map_stacks *s, const struct map_thread *a,
                           const struct map_thread *b) {
    for (size_t i = 0; i < a->count && i < b->count; i++) {
        if (!map_same_frame(&s->frames.data[a->first + i], &s->frames.data[b->first + i])) {
            return false;
        }
    }
    return a->count == b->count;
}

/* The strength of the evidence that a thread of a later source is the same as a listed thread. A
 * larger value is stronger. */
enum known_by { KNOWN_BY_NOTHING, KNOWN_BY_NO_STACK, KNOWN_BY_MARK, KNOWN_BY_STACK, KNOWN_BY_ID };

/* Returns the evidence that t is the same thread as the listed thread `old`. If both have ids, the
 * ids decide. Otherwise stacks are compared, because a source may lack the id that another gives
 * for the same thread. */
static enum known_by thread_known_by(const struct map_stacks *s, const struct map_thread *old,
                                     const struct map_thread *t) {
    bool marked = old->thread.main || old->thread.crashed;
    if (t->thread.id >= 0 && old->thread.id >= 0) {
        return t->thread.id == old->thread.id ? KNOWN_BY_ID : KNOWN_BY_NOTHING;
    }
    if (map_same_stack(s, old, t)) {
        return KNOWN_BY_STACK;
    }
    if (old->count > 0 || old->tree) {
        return KNOWN_BY_NOTHING;
    }
    return marked ? KNOWN_BY_MARK : KNOWN_BY_NO_STACK;
}

/* Returns the listed thread that t, a thread of a later source, describes again; NULL: t is another
 * thread. If several are equally likely, the first is returned; among those with an equal stack,
 * the first that crashed. */
static struct map_thread *known_thread(struct map_stacks *s, const struct map_thread *t) {
    struct map_thread *best = NULL;
    enum known_by surest = KNOWN_BY_NOTHING;
    for (size_t i = 0; i < s->threads.len; i++) {
        struct map_thread *old = &s->threads.data[i];
        enum known_by by = thread_known_by(s, old, t);
        bool crashed = by == KNOWN_BY_STACK && by == surest && old->thread.crashed;
        if (by > surest || (crashed && !best->thread.crashed)) {
            best = old;
            surest = by;
        }
    }
    return best;
}

enum st map_stacks_add_thread(struct map_stacks *s, const json_t *object, bool first_source) {
    struct map_thread t = {.thread = {.id = -1, .owner = -1}};
    uint64_t id;
    if (map_field_address(s->r, s->map, FIELD_THREAD_ID, object, &id) && id <= INT64_MAX) {
        t.thread.id = (int64_t)id;
    }
    t.thread.name = map_field_string(s->r, s->map, FIELD_THREAD_NAME, object);
    t.thread.main = map_field_true(s->r, s->map, FIELD_THREAD_MAIN, object);
    t.thread.crashed = map_field_true(s->r, s->map, FIELD_THREAD_CRASHED, object);
    t.thread.state = map_field_string(s->r, s->map, FIELD_THREAD_STATE, object);
    t.thread.waits_for = map_field_string(s->r, s->map, FIELD_THREAD_WAITS_FOR, object);
    if (!map_field_address(s->r, s->map, FIELD_THREAD_SAMPLES, object, &t.samples) ||
        t.samples > DUMP_COUNT_MAX) {
        t.samples = 0;
    }
    if (map_read_frames(s, object, &t) != ST_OK || map_trees_read(s, object, &t) != ST_OK) {
        return ST_ERR;
    }
    struct map_thread *old = first_source ? NULL : known_thread(s, &t);
    if (!old && !first_source && t.count == 0 && !t.tree) {
        return ST_OK; /* the later source has no stack for the thread */
    }
    if (!old) {
        if (s->threads.len >= DUMP_STACKS_MAX) {
            return err_set(s->r->e, ERR_LIMIT, "more than %d threads", DUMP_STACKS_MAX);
        }
        return VEC_PUSH(&s->threads, t) ? ST_OK : err_nomem(s->r->e);
    }
    if (old->count == 0) {
        old->first = t.first;
        old->count = t.count;
    }
    old->thread.id = old->thread.id >= 0 ? old->thread.id : t.thread.id;
    old->thread.name = old->thread.name ? old->thread.name : t.thread.name;
    old->thread.main = old->thread.main || t.thread.main;
    old->thread.state = old->thread.state ? old->thread.state : t.thread.state;
    old->thread.waits_for = old->thread.waits_for ? old->thread.waits_for : t.thread.waits_for;
    old->thread.crashed = old->thread.crashed || t.thread.crashed;
    return ST_OK;
}
