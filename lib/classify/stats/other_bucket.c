/* Implements the bucket "other", into which buckets are folded. */
#include "classify/stats/triage_private.h"

#include <inttypes.h>
#include <string.h>

#include "classify/stats/sum.h"

/* The image of the only frame of the bucket "other". No other key has it, because an image without
 * a name is "?" in keys. */
static const char OTHER_IMAGE[] = "";

bool bucket_is_other(const struct bucket *b) {
    return b->frame_count == 1 && b->frames[0]->function[0] == '\0' &&
           strcmp(b->frames[0]->image, OTHER_IMAGE) == 0;
}

uint64_t bucket_error_ms(const struct bucket_set *set, const struct bucket *b) {
    uint64_t most = 0;
    for (uint32_t i = 0; set->fold.ms && i <= b->joined && most < SUM_MAX; i++) {
        sum_add(&most, set->fold.ms);
    }
    return bucket_is_other(b) || most < b->kept_ms ? 0 : most - b->kept_ms;
}

struct bucket *bucket_find_other(const struct bucket_set *set) {
    for (size_t i = 0; i < set->buckets.len; i++) {
        if (bucket_is_other(set->buckets.data[i])) {
            return set->buckets.data[i];
        }
    }
    return NULL;
}

/* Sets the name of the bucket to the number of buckets folded into it. The number may be too high,
 * because several partials may have folded the same bucket. False: out of memory. */
static bool name_other(struct triage *t, const struct bucket_set *set) {
    struct bucket *b = bucket_find_other(set);
    if (!b) {
        return true;
    }
    strbuf_clear(&t->scratch);
    strbuf_addf(&t->scratch, "other (%s%" PRIu64 " %s%s)", set->fold.folds > 1 ? "up to " : "",
                set->fold.buckets, set == &t->actions ? "action" : "bucket",
                set->fold.buckets == 1 ? "" : "s");
    struct bucket_frame f = {.image = triage_intern(t, OTHER_IMAGE),
                             .function = triage_intern(t, ""),
                             .image_name = triage_intern(t, "?"),
                             .call = triage_intern(t, strbuf_cstr(&t->scratch)),
                             .resolved = true};
    b->frames[0] = !t->scratch.failed && f.image && f.function && f.image_name && f.call
                       ? triage_frame(t, &f)
                       : NULL;
    b->frame_count = b->frames[0] != NULL;
    return b->frames[0] != NULL;
}

bool triage_name_others(struct triage *t) {
    return name_other(t, &t->level[0]) && name_other(t, &t->level[1]) && name_other(t, &t->actions);
}
