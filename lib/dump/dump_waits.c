/* Follows chains of threads that wait for each other. */
#include "dump/dump.h"

void dump_waits(const struct dump *d, const struct dump_thread *t, struct dump_waits *out) {
    *out = (struct dump_waits){.back = SIZE_MAX};
    while (t && out->count < DUMP_WAITS_MAX) {
        out->threads[out->count++] = t;
        if (!t->waits_for.kind || t->waits_for.owner < 0) {
            return;
        }
        t = dump_thread_by_id(d, t->waits_for.owner);
        for (size_t i = 0; t && i < out->count; i++) {
            if (out->threads[i] == t) {
                out->back = i;
                return;
            }
        }
    }
}

const struct dump_thread *dump_waits_owner(const struct dump_waits *w, size_t i) {
    if (i + 1 < w->count) {
        return w->threads[i + 1];
    }
    return w->back != SIZE_MAX ? w->threads[w->back] : NULL;
}
