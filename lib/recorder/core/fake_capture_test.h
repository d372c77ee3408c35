/* A fake platform for the core's tests, which set its answers. */
#ifndef STALLREC_FAKE_CAPTURE_TEST_H
#define STALLREC_FAKE_CAPTURE_TEST_H

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/capture.h"

enum { FAKE_DEPTH = 64, FAKE_IMAGES = 200, FAKE_IMAGE_SIZE = 0x10000 };

struct fake {
    /* The result of the next samples. */
    enum rec_sample answer;
    uint64_t frames[FAKE_DEPTH], starts[FAKE_DEPTH];
    uint32_t count, pause_ns;
    uint32_t exact[REC_EXACT_MAX], exact_count;
    bool idle;
    enum rec_rest rest;
    /* What was asked. */
    unsigned samples, may_repeat, image_calls, thread_calls;
    bool not_busy; /* still_busy() answers false */
    bool wakes;    /* the loop becomes idle while the other threads are captured */
    struct rec_cpu cpu;
    int64_t wall_ms;
    uint8_t random;
    char path[4096]; /* path of each image, to which the image's number is appended */
    unsigned images; /* number of images; the first one is at FAKE_IMAGE_SIZE, the next ones follow
                        without gaps */
    struct rec_thread main;
    uint32_t others;
    int64_t others_wait_for; /* id of the thread for which each other thread waits; 0 = they wait
                                for none */
    int64_t top;             /* id of the thread that uses the most CPU time; 0: not known */
    unsigned top_calls;
    struct rec_transition transitions[REC_TRANSITIONS];
    uint32_t transition_count;
    const char *mode;
};

static inline enum rec_sample fake_sample(void *ctx, bool may_repeat, struct rec_stack *out) {
    struct fake *f = ctx;
    f->samples++;
    f->may_repeat += may_repeat;
    if (f->answer != REC_SAMPLE_OK) {
        return f->answer;
    }
    out->count = f->count < out->cap ? f->count : out->cap;
    out->truncated = out->incomplete = out->count < f->count;
    memcpy(out->frames, f->frames, out->count * sizeof *out->frames);
    memcpy(out->starts, f->starts, out->count * sizeof *out->starts);
    memcpy(out->exact, f->exact, sizeof out->exact);
    out->exact_count = f->exact_count;
    out->idle = f->idle;
    out->rest = f->rest;
    out->pause_ns = f->pause_ns;
    return REC_SAMPLE_OK;
}

static inline bool fake_still_busy(void *ctx, uint64_t since_ns) {
    (void)since_ns;
    return !((struct fake *)ctx)->not_busy;
}

static inline bool fake_image_at(void *ctx, uint64_t address, struct rec_image *out) {
    struct fake *f = ctx;
    uint64_t i = address / FAKE_IMAGE_SIZE;
    f->image_calls++;
    if (i < 1 || i > f->images) {
        return false;
    }
    static char path[4200];
    snprintf(path, sizeof path, "%s%u", f->path, (unsigned)i);
    *out = (struct rec_image){.id_kind = REC_ID_BUILD,
                              .id_len = 20,
                              .path = path,
                              .load = i * FAKE_IMAGE_SIZE,
                              .size = FAKE_IMAGE_SIZE,
                              .in_app = i == 1};
    memset(out->id, (int)i, 20);
    return true;
}

static inline bool fake_main_thread(void *ctx, struct rec_thread *out) {
    const struct fake *f = ctx;
    struct rec_stack stack = out->stack;
    *out = f->main;
    out->stack = stack;
    return true;
}

static inline uint32_t fake_threads(void *ctx, struct rec_thread *out, uint32_t max,
                                    uint32_t *left_out) {
    struct fake *f = ctx;
    f->thread_calls++;
    f->not_busy = f->not_busy || f->wakes;
    uint32_t n = f->others < max ? f->others : max;
    *left_out = f->others - n;
    for (uint32_t i = 0; i < n; i++) {
        struct rec_stack stack = out[i].stack;
        out[i] = (struct rec_thread){
            .id = 100 + i, .cpu_ns = UINT64_MAX, .cpu_permille = 400 + i, .waits_for.owner = -1};
        if (f->others_wait_for != 0) {
            out[i].waits_for = (struct rec_wait){REC_WAIT_MUTEX, 0x6000, f->others_wait_for};
        }
        stack.count = 1;
        stack.frames[0] = FAKE_IMAGE_SIZE * 3;
        if (stack.starts != NULL) {
            stack.starts[0] = FAKE_IMAGE_SIZE * 3;
        }
        out[i].stack = stack;
    }
    return n;
}

static inline uint32_t fake_transitions(void *ctx, struct rec_transition out[REC_TRANSITIONS]) {
    const struct fake *f = ctx;
    memcpy(out, f->transitions, f->transition_count * sizeof *out);
    return f->transition_count;
}

static inline const char *fake_mode(void *ctx) {
    return ((const struct fake *)ctx)->mode;
}

static inline bool fake_top_thread(void *ctx, struct rec_thread *out) {
    struct fake *f = ctx;
    f->top_calls++;
    *out = (struct rec_thread){.id = f->top, .name = "worker", .waits_for.owner = -1};
    out->name[0] = (char)('a' + f->top % 26);
    return f->top != 0 && f->top_calls > 1;
}

static inline void fake_cpu(void *ctx, struct rec_cpu *out) {
    *out = ((struct fake *)ctx)->cpu;
}

static inline int64_t fake_wall_ms(void *ctx) {
    return ((struct fake *)ctx)->wall_ms;
}

static inline void fake_random(void *ctx, uint8_t *out, size_t len) {
    for (size_t i = 0; i < len; i++) {
        out[i] = ++((struct fake *)ctx)->random;
    }
}

static inline struct rec_capture fake_capture(struct fake *f) {
    return (struct rec_capture){.ctx = f,
                                .sample = fake_sample,
                                .still_busy = fake_still_busy,
                                .image_at = fake_image_at,
                                .main_thread = fake_main_thread,
                                .threads = fake_threads,
                                .cpu = fake_cpu,
                                .transitions = fake_transitions,
                                .mode = fake_mode,
                                .top_thread = f->top != 0 ? fake_top_thread : NULL,
                                .wall_ms = fake_wall_ms,
                                .random = fake_random};
}

/* Sets the stack to `count` frames. Each further argument is the start of a function, and its frame
 * is 4 bytes after that. */
static inline void fake_stack(struct fake *f, uint32_t count, ...) {
    va_list ap;
    va_start(ap, count);
    f->count = count;
    for (uint32_t i = 0; i < count; i++) {
        f->starts[i] = (uint64_t)va_arg(ap, unsigned);
        f->frames[i] = f->starts[i] + 4;
    }
    va_end(ap);
}

#endif
