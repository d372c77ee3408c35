/* Captures threads among the first LISTED_MAX that task_threads lists; the list and the port rights
 * in it are released after each capture. */
#include "darwin/threads_darwin.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BUDGET_NS = 100000000, LISTED_MAX = 2048 };

struct usage {
    uint64_t id, cpu_ns;
    uint64_t used_ns; /* the part of cpu_ns that was used between the last two readings */
};

struct choice {
    thread_t thread; /* a port right that belongs to the list */
    uint64_t id;
    bool chosen; /* the thread is to be captured */
};

struct threads_darwin {
    thread_t watched;
    const struct task_copier *copier;
    struct images *images;
    struct usage usage[THREADS_DARWIN_MAX]; /* the threads' CPU times at the last reading */
    uint32_t usage_count;
    bool looked; /* the CPU times were read once or more */
    /* looked_ns: time of the last reading; window_ns: ns between the last two readings, 0 = there
     * were fewer than two */
    uint64_t looked_ns, window_ns;
    struct choice listed[LISTED_MAX];
    uint32_t listed_count;
};

/* ---- choosing threads ---- */

/* Looks up the ids of the first LISTED_MAX threads in the list, except for threads that are gone,
 * the watched thread and the monitor. */
static void identify_async(struct threads_darwin *t, const struct task_list *list) {
    thread_t monitor = pthread_mach_thread_np(pthread_self());
    t->listed_count = 0;
    for (uint32_t i = 0; i < list->count && i < LISTED_MAX; i++) {
        thread_t thread = list->threads[i];
        uint64_t id = thread != monitor && thread != t->watched ? task_thread_id_async(thread) : 0;
        if (id != 0) {
            t->listed[t->listed_count++] = (struct choice){thread, id, false};
        }
    }
}

static struct choice *thread_find_darwin_async(struct threads_darwin *t, int64_t id) {
    for (uint32_t i = 0; i < t->listed_count; i++) {
        if (id > 0 && t->listed[i].id == (uint64_t)id) {
            return &t->listed[i];
        }
    }
    return NULL;
}

/* Chooses `owner`, the thread for which that one waits, and so on, at most `max` threads, until a
 * thread waits for none, is not in the list, or was chosen before. Returns the number of chosen
 * threads. */
static uint32_t choose_chain_async(struct threads_darwin *t, int64_t owner, uint32_t max) {
    uint32_t count = 0;
    for (struct choice *c;
         count < max && (c = thread_find_darwin_async(t, owner)) != NULL && !c->chosen;) {
        c->chosen = true;
        count++;
        owner = task_wait_async(c->thread).owner;
    }
    return count;
}

/* Chooses at most `max` threads, the chain of owners and then the threads with the lowest ids, and
 * moves them to the front, by rising id. Returns their number. */
static uint32_t choose_async(struct threads_darwin *t, int64_t owner, uint32_t max) {
    for (uint32_t i = 1; i < t->listed_count;
         i++) { /* the kernel mostly lists threads by rising id */
        struct choice add = t->listed[i];
        uint32_t at = i;
        for (; at > 0 && t->listed[at - 1].id > add.id; at--) {
            t->listed[at] = t->listed[at - 1];
        }
        t->listed[at] = add;
    }
    uint32_t room = t->listed_count > max ? max - choose_chain_async(t, owner, max) : max;
    uint32_t count = 0;
    for (uint32_t i = 0; i < t->listed_count; i++) {
        if (t->listed[i].chosen || room > 0) {
            room -= !t->listed[i].chosen;
            t->listed[count++] = t->listed[i];
        }
    }
    return count;
}

/* ---- one thread ---- */

void threads_darwin_walk_async(struct images *images, const struct task_copy *copy,
                               struct rec_stack *out) {
    struct fp_code code = {TASK_CPU, task_memory(), images, images_function_async};
    fp_walk_async(&code, &copy->registers.walk, &copy->stack, out);
    out->exact_count = 0;
    /* A stack is never taken as evidence that the loop is idle, because the run loop's adapter
     * reports exactly when the loop waits. A wait of the run loop in a mode that the adapter does
     * not watch has the same stack, but belongs to a callback that waits for an answer, which is a
     * stall. */
    out->idle = false;
    out->rest = REC_REST_NONE;
    out->pause_ns = copy->pause_ns < UINT32_MAX ? (uint32_t)copy->pause_ns : UINT32_MAX;
}

uint32_t threads_darwin_share_async(const struct threads_darwin *t, int64_t id) {
    for (uint32_t i = 0; t->window_ns > 0 && i < t->usage_count; i++) {
        if (id > 0 && t->usage[i].id == (uint64_t)id) {
            uint64_t permille = t->usage[i].used_ns * 1000 / t->window_ns;
            return permille < 1000 ? (uint32_t)permille : 1000;
        }
    }
    return 0;
}

static bool thread_fill_darwin_async(const struct threads_darwin *t, thread_t thread,
                                     bool with_stack, struct rec_thread *out) {
    struct task_copy copy;
    struct rec_stack stack = {
        .frames = out->stack.frames, .starts = out->stack.starts, .cap = out->stack.cap};
    *out = (struct rec_thread){.waits_for.owner = -1, .stack = stack};
    if (!task_describe_async(thread, out)) {
        return false;
    }
    out->cpu_permille = threads_darwin_share_async(t, out->id);
    if (with_stack && stack.cap > 0 && task_copy_async(t->copier, thread, &copy)) {
        threads_darwin_walk_async(t->images, &copy, &out->stack);
        out->waits_for = task_wait_async(thread);
    }
    return true;
}

uint32_t threads_darwin_capture_async(struct threads_darwin *t, int64_t owner,
                                      struct rec_thread *out, uint32_t max, uint32_t *left_out) {
    struct task_list list = task_list_async();
    uint64_t until = clock_gettime_nsec_np(CLOCK_UPTIME_RAW) + BUDGET_NS;
    uint32_t filled = 0;
    max = max < THREADS_DARWIN_MAX ? max : THREADS_DARWIN_MAX;
    identify_async(t, &list);
    uint32_t count = choose_async(t, owner, max);
    *left_out = t->listed_count - count + (list.count > LISTED_MAX ? list.count - LISTED_MAX : 0);
    images_refresh_async(t->images);
    for (uint32_t i = 0; i < count; i++) {
        bool in_time = clock_gettime_nsec_np(CLOCK_UPTIME_RAW) < until;
        filled += thread_fill_darwin_async(t, t->listed[i].thread, in_time, &out[filled]);
    }
    task_list_release_async(&list);
    return filled;
}

/* ---- who used the processor ---- */

static uint64_t used_before_async(const struct threads_darwin *t, uint64_t id) {
    for (uint32_t i = 0; i < t->usage_count; i++) {
        if (t->usage[i].id == id) {
            return t->usage[i].cpu_ns;
        }
    }
    return 0;
}

bool threads_darwin_top_async(struct threads_darwin *t, struct rec_thread *out) {
    struct task_list list = task_list_async();
    struct usage now[THREADS_DARWIN_MAX];
    thread_t monitor = pthread_mach_thread_np(pthread_self()), top = MACH_PORT_NULL;
    uint64_t most = 0;
    uint32_t count = 0;
    bool found = false;
    for (uint32_t i = 0; i < list.count && count < THREADS_DARWIN_MAX; i++) {
        thread_t thread = list.threads[i];
        uint64_t id = task_thread_id_async(thread), cpu = task_cpu_ns_async(thread);
        if (id == 0 || cpu == UINT64_MAX || thread == monitor) {
            continue;
        }
        uint64_t before = used_before_async(t, id);
        uint64_t used = cpu > before ? cpu - before : 0;
        if (used > most) {
            most = used;
            top = thread;
        }
        now[count++] = (struct usage){id, cpu, used};
    }
    memcpy(t->usage, now, count * sizeof *now);
    t->usage_count = count;
    uint64_t now_ns = clock_gettime_nsec_np(CLOCK_UPTIME_RAW);
    t->window_ns = t->looked ? now_ns - t->looked_ns : 0;
    t->looked_ns = now_ns;
    if (t->looked && top != MACH_PORT_NULL) {
        out->waits_for.owner = -1;
        out->main = top == t->watched;
        found = task_describe_async(top, out);
    }
    t->looked = true;
    task_list_release_async(&list);
    return found;
}

/* ---- start and end ---- */

struct threads_darwin *threads_darwin_new(thread_t watched, const struct task_copier *copier,
                                          struct images *images) {
    struct threads_darwin *t = calloc(1, sizeof *t);
    if (t != NULL) {
        t->watched = watched;
        t->copier = copier;
        t->images = images;
    }
    return t;
}

void threads_darwin_free(struct threads_darwin *t) {
    free(t);
}
