/* Removes the frames that rules hide from a dump's stacks. */
#include "classify/keys/keyer_private.h"

/* Does a rule hide frame i of the stack? *failed is set when memory runs out. */
static bool frame_is_hidden(struct keyer *k, const struct dump *d, const struct dump_stack *s,
                            size_t i, bool *failed) {
    const struct frame_info *info;
    if (s->locations && d->locations) {
        struct frame_info **known = &k->by_location.data[s->locations[i]];
        if (!*known) {
            *known = frame_of_location(&k->table, d, &d->locations[s->locations[i]]);
        }
        info = *known;
    } else {
        info = frame_of_address(&k->table, d, s, i);
    }
    *failed = *failed || !info;
    return info && info->hidden;
}

/* Renumbers the stack's exact frames, because hidden frames before them are removed. False: out of
 * memory. */
static bool keep_exact(struct dump *d, struct dump_stack *s, const bool *hidden) {
    static const uint32_t first[] = {0};
    const uint32_t *exact = s->exact ? s->exact : first;
    size_t count = s->exact ? s->exact_count : 1, kept = 0, before = 0;
    uint32_t *out = arena_array(&d->arena, count + 1, sizeof *out);
    if (!out) {
        return false;
    }
    for (size_t i = 0, next = 0; i < s->frame_count && next < count; i++) {
        if (i == exact[next]) {
            out[kept] = (uint32_t)before;
            kept += !hidden[i];
            next++;
        }
        before += !hidden[i];
    }
    s->exact = out;
    s->exact_count = kept;
    return true;
}

static bool drop_frames(struct dump *d, struct dump_stack *s, const bool *hidden) {
    uint64_t *frames = arena_array(&d->arena, s->frame_count, sizeof *frames);
    uint32_t *locations = arena_array(&d->arena, s->frame_count, sizeof *locations);
    size_t kept = 0;
    if (!frames || !locations || !keep_exact(d, s, hidden)) {
        return false;
    }
    for (size_t i = 0; i < s->frame_count; i++) {
        if (!hidden[i]) {
            frames[kept] = s->frames[i];
            locations[kept] = s->locations ? s->locations[i] : 0;
            kept++;
        }
    }
    s->frames = frames;
    s->locations = s->locations ? locations : NULL;
    s->frame_count = kept;
    return true;
}

static bool hide_in_stack(struct keyer *k, struct dump *d, struct dump_stack *s) {
    bool failed = false, any = false;
    bool hidden[DUMP_FRAMES_MAX];
    for (size_t i = 0; i < s->frame_count; i++) {
        hidden[i] = frame_is_hidden(k, d, s, i, &failed);
        any = any || hidden[i];
    }
    return !failed && (!any || drop_frames(d, s, hidden));
}

enum st keyer_hide_frames(struct keyer *k, struct dump *d, struct err *e) {
    bool ok = true;
    for (size_t i = 0; ok && k->options.rules && i < d->sample_count; i++) {
        ok = hide_in_stack(k, d, &d->samples[i]);
    }
    for (size_t i = 0; ok && k->options.rules && i < d->thread_count; i++) {
        ok = hide_in_stack(k, d, &d->threads[i].stack);
    }
    return ok ? ST_OK : err_nomem(e);
}
