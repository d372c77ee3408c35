/* Captures a thread's stack on Darwin:
 *
 *   1. A thread that is blocked and has not run since the last sample has the same stack.
 *   2. Any other thread is suspended while its registers and as much of its stack as its frames
 *      need are copied. A blocked thread is not disturbed, as suspending interrupts no wait.
 *
 * The copy is unwound afterwards, by the monitor thread. */
#include "darwin/capture_darwin.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include "darwin/images_darwin.h"
#include "loop/loop.h"
#include "darwin/task_darwin.h"
#include "darwin/threads_darwin.h"
#include "support/wall_clock.h"

enum { COPY_ROOM = 512 * 1024 };

struct capture_darwin {
    thread_t thread; /* the watched thread, as a port right of our own from start to end */
    const struct stallrec_loop *loop;
    struct task_copier copier;
    struct images *images;
    struct threads_darwin *others;
    uint64_t sampled_ticks; /* the thread's CPU time at the last sample that found it blocked */
    bool have_sample;
    struct capture_counts counts;
};

/* ---- rec_capture ---- */

static enum rec_sample sample_async(void *ctx, bool may_repeat, struct rec_stack *out) {
    struct capture_darwin *c = ctx;
    struct task_usage before, after;
    struct task_copy copy;
    bool known = task_usage_async(c->thread, &before);
    if (may_repeat && c->have_sample && known && before.waiting &&
        before.ticks == c->sampled_ticks) {
        c->counts.reused++;
        return REC_SAMPLE_SAME;
    }
    c->have_sample = false;
    if (out->cap == 0 || !known || !task_copy_async(&c->copier, c->thread, &copy)) {
        c->counts.unavailable++;
        return REC_SAMPLE_NONE;
    }
    known = task_usage_async(c->thread, &after);
    if (known && before.waiting && after.waiting && before.ticks == after.ticks) {
        /* The suspension counts as no pause, as the blocked thread would not have run. */
        copy.pause_ns = 0;
        c->counts.blocked++;
        c->sampled_ticks = after.ticks;
        c->have_sample = true;
    } else {
        c->counts.signalled++;
    }
    images_refresh_async(c->images);
    threads_darwin_walk_async(c->images, &copy, out);
    return REC_SAMPLE_OK;
}

static bool still_busy_async(void *ctx, uint64_t since_ns) {
    const struct capture_darwin *c = ctx;
    return rec_loop_still_busy(c->loop, since_ns);
}

static uint32_t transitions_async(void *ctx, struct rec_transition out[REC_TRANSITIONS]) {
    const struct capture_darwin *c = ctx;
    return rec_loop_transitions(c->loop, out);
}

static const char *mode_async(void *ctx) {
    const struct capture_darwin *c = ctx;
    return rec_loop_mode(c->loop);
}

static bool image_at_async(void *ctx, uint64_t address, struct rec_image *out) {
    const struct capture_darwin *c = ctx;
    return images_find_async(c->images, address, out);
}

static bool main_thread_async(void *ctx, struct rec_thread *out) {
    const struct capture_darwin *c = ctx;
    if (!task_describe_async(c->thread, out)) {
        return false;
    }
    out->main = true;
    out->cpu_permille = threads_darwin_share_async(c->others, out->id);
    out->waits_for = task_wait_async(c->thread);
    return true;
}

static uint32_t threads_async(void *ctx, struct rec_thread *out, uint32_t max, uint32_t *left_out) {
    struct capture_darwin *c = ctx;
    int64_t owner = task_wait_async(c->thread).owner;
    return threads_darwin_capture_async(c->others, owner, out, max, left_out);
}

static bool top_thread_async(void *ctx, struct rec_thread *out) {
    struct capture_darwin *c = ctx;
    return threads_darwin_top_async(c->others, out);
}

static void cpu_async(void *ctx, struct rec_cpu *out) {
    const struct capture_darwin *c = ctx;
    out->process_ns = rec_platform_process_cpu_ns();
    out->main_ns = task_cpu_ns_async(c->thread);
    out->monitor_ns = clock_gettime_nsec_np(CLOCK_THREAD_CPUTIME_ID);
}

struct rec_capture capture_darwin_table(struct capture_darwin *c) {
    return (struct rec_capture){
        .ctx = c,
        .sample = sample_async,
        .still_busy = still_busy_async,
        .transitions = transitions_async,
        .mode = mode_async,
        .image_at = image_at_async,
        .main_thread = main_thread_async,
        .threads = threads_async,
        .cpu = cpu_async,
        .top_thread = top_thread_async,
        .wall_ms = rec_wall_ms_async,
        .random = rec_platform_random,
    };
}

struct capture_counts capture_darwin_counts(const struct capture_darwin *c) {
    return c->counts;
}

/* ---- start and end ---- */

enum stallrec_error capture_darwin_new(struct capture_darwin **out, uint32_t max_frames,
                                       const struct stallrec_loop *loop) {
    struct capture_darwin *c = calloc(1, sizeof *c);
    if (c == NULL) {
        return STALLREC_ERR_MEMORY;
    }
    void *buffer = mmap(NULL, COPY_ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
    c->thread = mach_thread_self(); /* gives a port right of our own, which pthread_mach_thread_np
                                       does not */
    c->loop = loop;
    c->copier = (struct task_copier){buffer == MAP_FAILED ? NULL : buffer, COPY_ROOM, max_frames};
    c->images = images_new();
    c->others = threads_darwin_new(c->thread, &c->copier, c->images);
    if (c->copier.buffer == NULL || c->images == NULL || c->others == NULL) {
        capture_darwin_free(c);
        return STALLREC_ERR_MEMORY;
    }
    task_prepare(&c->copier);
    *out = c;
    return STALLREC_OK;
}

void capture_darwin_free(struct capture_darwin *c) {
    if (c == NULL) {
        return;
    }
    threads_darwin_free(c->others);
    images_free(c->images);
    if (c->copier.buffer != NULL) {
        munmap(c->copier.buffer, c->copier.room);
    }
    mach_port_deallocate(mach_task_self(), c->thread);
    free(c);
}
