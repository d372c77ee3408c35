/* Watches a thread through its waits, and reports to the recorder which of them are the event
 * loop's as soon as that is known. preload_threads.c decides which threads are watched. */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "linux/place_linux.h"
#include "loop/hooks.h"
#include "loop/loop.h"
#include "loop/loop_finder.h"
#include "monitor.h"
#include "preload/preload_private.h"
#include "stallrec.h"

/* ---- places ---- */

/* Adds a loop's place to w->places: after the other places if past is REC_PAST_CONTINUES, else in
 * place of them. If the place is there already, it and the places after it are removed first. If
 * there are PRELOAD_LOOPS places then, the oldest one is dropped. */
static void add_place(struct thread_watch *w, uint64_t place, enum rec_past past) {
    if (past != REC_PAST_CONTINUES) {
        w->place_count = 0;
    }
    for (unsigned i = 0; i < w->place_count; i++) {
        /* This loop continued, so the later loops were part of its turn. */
        if (w->places[i] == place) {
            w->place_count = i;
        }
    }
    if (w->place_count == PRELOAD_LOOPS) {
        memmove(w->places, w->places + 1, sizeof w->places - sizeof *w->places);
        w->place_count--;
    }
    w->places[w->place_count++] = place;
}

/* Writes the places of the thread's loops, such as "app+0x1234, then libuv.so.1+0x1f30
 * (uv__io_poll)". */
static void tell_places(const struct thread_watch *w, char text[PRELOAD_TEXT]) {
    size_t used = 0;
    for (unsigned i = 0; i < w->place_count && used < PRELOAD_TEXT; i++) {
        char name[PRELOAD_TEXT];
        preload_name_place(w->program, w->places[i], name);
        int n = snprintf(text + used, PRELOAD_TEXT - used, "%s%s", i > 0 ? ", then " : "", name);
        used += n > 0 ? (size_t)n : 0;
    }
}

static bool place_is_named(void *ctx, uint64_t address) {
    const struct thread_watch *w = ctx;
    struct code_place place;
    const char *library;
    if (!preload_find_place(w->program, address, &place, &library)) {
        return false;
    }
    for (const char *name = w->config->names; *name; name += strlen(name) + 1) {
        if (place_is_called(name, library, place.symbol, place.offset)) {
            return true;
        }
    }
    return false;
}

/* ---- telling ---- */

static void tell_edge(const struct thread_watch *w, enum rec_loop_event edge, uint64_t now) {
    bool calls = __atomic_load_n(&w->shared.loop->notify_, __ATOMIC_RELAXED) != 0;
    if (calls) {
        preload_call_begins(w);
    }
    rec_loop_edge(w->shared.loop, edge, now);
    if (calls) {
        preload_call_ends(w);
    }
}

static bool tell_events(const struct thread_watch *w, const struct rec_event *events, uint32_t n) {
    preload_call_begins(w);
    bool told = rec_hooks_tell(w->shared.inbox, events, n);
    preload_call_ends(w);
    return told;
}

/* May this thread write the name of its loop to loop_at of the process's entry in the report? The
 * main thread may at any time, else the thread whose loop was found first. */
static bool speaks_for_process(const struct thread_watch *w) {
    uint32_t none = 0, tid = (uint32_t)gettid();
    if (tid == (uint32_t)getpid()) {
        __atomic_store_n(&w->process->speaker, tid, __ATOMIC_RELAXED);
        return true;
    }
    return __atomic_compare_exchange_n(&w->process->speaker, &none, tid, false, __ATOMIC_RELAXED,
                                       __ATOMIC_RELAXED) ||
           none == tid;
}

/* Reports to the recorder the loop that is believed now, and the times at which it was idle before.
 * waits: a wait of that loop begins now. */
static void tell_found(struct thread_watch *w, uint64_t now, bool waits) {
    const struct finder_interval *idle = w->intervals;
    struct rec_event *events = w->events;
    const struct finder_candidate *found = finder_loop(&w->finder);
    uint64_t from;
    enum rec_past past;
    uint32_t count = finder_idle(&w->finder, w->intervals, PRELOAD_INTERVALS, &from, &past), n = 0;
    from = from > w->begin_ns ? from : w->begin_ns;
    events[n++] = (struct rec_event){
        .kind = REC_EVENT_ATTRIBUTE, .at_ns = now, .value = past, .mark_ns = from};
    for (uint32_t i = 0; i < count; i++) {
        events[n++] = (struct rec_event){.kind = idle[i].unknown ? REC_EVENT_PAST_UNKNOWN
                                                                 : REC_EVENT_PAST_IDLE,
                                         .at_ns = now,
                                         .value = idle[i].begin_ns,
                                         .mark_ns = idle[i].end_ns};
    }
    uint64_t state = __atomic_load_n(&w->shared.loop->state_, __ATOMIC_RELAXED);
    events[n++] = (struct rec_event){.kind = REC_EVENT_ATTRIBUTED,
                                     .at_ns = now,
                                     .value = !waits && (state & 1) != 0 ? state - 1 : 0,
                                     .mark_ns = finder_young_until(&w->finder, now)};
    /* The wait is reported together with the attribution, because a monitor that reads late would
     * see only a later edge. */
    if (waits) {
        events[n++] =
            (struct rec_event){.kind = REC_EVENT_EDGE, .at_ns = now, .value = REC_LOOP_SLEEP};
    }
    char *name = w->loop_at[++w->named % 2];
    preload_name_place(w->program, found->place, name);
    if (!atomic_load(&w->shared.loop_at)) {
        __atomic_fetch_add(&w->process->loops, 1, __ATOMIC_RELAXED);
    }
    atomic_store(&w->shared.loop_at, name);
    add_place(w, found->place, past);
    w->untold = !tell_events(w, events, n);
    if (speaks_for_process(w)) {
        w->process->loop_kind = 1 + (uint32_t)found->object.kind;
        tell_places(w, w->process->loop_at);
    }
}

/* Reports to the recorder that no loop is believed any more. waits: a wait of the loop that was
 * believed begins now, and is reported as an edge before. */
static void tell_doubt(struct thread_watch *w, uint64_t now, bool waits) {
    const struct rec_event event = {
        .kind = REC_EVENT_DOUBT, .at_ns = now + (waits ? 2 : 0), .mark_ns = w->begin_ns};
    if (waits) {
        tell_edge(w, REC_LOOP_SLEEP, now);
    }
    tell_events(w, &event, 1);
}

static void tell_news(struct thread_watch *w, uint64_t now, bool waits) {
    enum finder_news news = finder_take_news(&w->finder);
    if (news == FINDER_FOUND || (w->untold && w->finder.believed != 0)) {
        tell_found(w, now, waits);
        news = finder_take_news(&w->finder);
    }
    if (news == FINDER_DOUBTS && w->finder.unseen_at != 0 && speaks_for_process(w)) {
        preload_name_place(w->program, w->finder.unseen_at, w->process->unseen);
    }
    if (news == FINDER_DOUBTS && !w->untold) {
        tell_doubt(w, now, waits && w->finder.open == w->finder.believed);
    }
}

/* Adds the stretch without a wait that ends at `until` to the list of the process's longest ones,
 * if it is long enough. */
static void note_stretch(const struct thread_watch *w, uint64_t until) {
    struct preload_process *p = w->process;
    uint64_t from = w->waited_ns ? w->waited_ns : w->begin_ns;
    struct preload_stretch new = {(until - from) / 1000000, (from - w->begin_ns) / 1000000};
    for (unsigned i = 0; i < PRELOAD_LONGEST; i++) {
        if (new.length_ms > p->longest[i].length_ms) {
            struct preload_stretch shorter = p->longest[i];
            p->longest[i] = new;
            new = shorter;
        }
    }
}

/* ---- waits ---- */

/* Number of calls further in than a wait after which the wait may have been left by longjmp. */
enum { HANDLER_CALLS = 32 };

static bool is_own_stack(const struct thread_watch *w, uint64_t sp) {
    return sp < w->stack_top && w->stack_top - sp <= w->stack_size;
}

/* Is the thread, which calls a function that waits at sp, further in than its wait that goes on? It
 * is in a handler if it has left its own stack, which handlers do alone (sigaltstack(2)). */
static bool is_within_wait(const struct thread_watch *w, uint64_t sp) {
    return (w->waits || w->outer.waits) &&
           (sp < w->wait_sp || (is_own_stack(w, w->wait_sp) && !is_own_stack(w, sp)));
}

bool preload_wait_interrupts(struct thread_watch *w, const struct preload_caller *caller) {
    uint64_t sp = (uint64_t)(uintptr_t)caller->frame;
    bool within = is_within_wait(w, sp), idle = w->idle;
    if (!within) {
        w->outer.waits = false;
        w->outer.calls = 0;
        w->wait_sp = sp;
    } else if (!w->outer.waits) {
        const struct finder_interrupted finder = finder_interrupt(&w->finder);
        atomic_signal_fence(memory_order_seq_cst);
        if (!w->outer.waits) { /* no handler has waited meanwhile */
            w->outer.idle = idle;
            w->outer.finder = finder;
            atomic_signal_fence(memory_order_seq_cst);
            w->outer.waits = true;
        }
    }
    w->outer.calls += within;
    w->waits = w->idle = false;
    return within && w->outer.calls <= HANDLER_CALLS;
}

bool preload_wait_goes_on(const struct thread_watch *w, const void *frame) {
    return w->outer.waits && w->wait_sp != (uint64_t)(uintptr_t)frame &&
           w->outer.calls <= HANDLER_CALLS;
}

void preload_wait_begins(struct thread_watch *w, const struct preload_caller *caller,
                         struct finder_wait *wait) {
    int saved_errno = errno;
    /* The lowest bit is 0, as in the times of the loop's edges. */
    uint64_t now = stallrec_clock_ns() & ~(uint64_t)1;
    uint64_t sp = (uint64_t)(uintptr_t)caller->frame;
    preload_wait_interrupts(w, caller);
    wait->place = (uint64_t)(uintptr_t)caller->place;
    wait->blocking = caller->blocks;
    wait->endless = caller->endless;
    /* A stack that is not the thread's, or whose bounds are not known, has depth 0
     * (finder_wait.depth). */
    wait->depth = is_own_stack(w, sp) ? preload_entry(w, caller) : 0;
    struct finder_sleep sleep;
    if (caller->blocks && rec_loop_read_asleep(&w->shared.latest, w->finder.woken_ns, &sleep)) {
        finder_slept(&w->finder, &sleep, now);
    }
    enum finder_verdict verdict = finder_begin(&w->finder, wait, now);
    tell_news(w, now, verdict == FINDER_IDLE);
    w->wait_sp = w->outer.waits ? w->wait_sp : sp; /* a handler may have waited in between */
    w->idle = caller->blocks && verdict == FINDER_IDLE;
    atomic_signal_fence(memory_order_seq_cst);
    w->waits = caller->blocks;
    if (caller->blocks && w->finder.believed == 0 && w->first) {
        note_stretch(w, now);
    }
    if (w->idle && w->finder.believed != 0) {
        if (wait->object.unread) { /* it has no descriptors for now */
            wait->object = finder_loop(&w->finder)->object;
        }
        rec_loop_write_latest(&w->shared.latest, wait);
    }
    if (w->idle) {
        tell_edge(w, REC_LOOP_SLEEP, now);
    } else if (verdict == FINDER_TURN) {
        tell_edge(w, REC_LOOP_TURN, now);
    }
    errno = saved_errno;
}

/* A handler may wait at any time meanwhile. What it notes of this wait, as of an outer one, is what
 * is read here, until the wait is marked as ended; after that it notes nothing. */
void preload_wait_ends(struct thread_watch *w, const void *frame) {
    int saved_errno = errno;
    bool outermost = w->wait_sp == (uint64_t)(uintptr_t)frame, waits = w->waits, idle = w->idle;
    atomic_signal_fence(memory_order_seq_cst);
    if (outermost && w->outer.waits) {
        finder_continue(&w->finder, &w->outer.finder);
        waits = true;
        idle = w->outer.idle;
    }
    atomic_signal_fence(memory_order_seq_cst);
    w->waits = false;
    w->outer.waits = w->outer.waits && !outermost;
    atomic_signal_fence(memory_order_seq_cst);
    if (!waits) {
        return;
    }
    uint64_t now = stallrec_clock_ns() & ~(uint64_t)1;
    finder_end(&w->finder, now);
    w->waited_ns = now;
    if (idle) {
        tell_edge(w, REC_LOOP_WAKE, now);
    }
    errno = saved_errno;
}

/* ---- begin and end ---- */

/* Implements loop_finder.is_open for the calling thread's watch. errno is kept. */
static bool is_descriptor_open(void *watch, uint32_t descriptor) {
    const struct thread_watch *w = watch;
    struct stat sb;
    int saved_errno = errno;
    preload_call_begins(w);
    bool open = fstat((int)descriptor, &sb) == 0 || errno != EBADF;
    preload_call_ends(w);
    errno = saved_errno;
    return open;
}

void preload_watch_begin(struct thread_watch *w, const struct preload_config *config,
                         const char *program) {
    finder_init(&w->finder, preload_threshold_ns(config), *config->names ? place_is_named : NULL,
                w);
    w->finder.is_open = is_descriptor_open;
    w->finder.open_ctx = w;
    w->config = config;
    w->program = program;
    w->shared = (struct monitor_thread){0};
    w->process = NULL;
    w->recording = RECORDING_NONE;
    w->first = false;
    w->waits = w->idle = w->untold = w->outer.waits = false;
    w->waited_ns = 0;
    w->place_count = 0;
    memset(w->entries, 0, sizeof w->entries);
}

void preload_watch_finish(struct thread_watch *w) {
    uint64_t now = stallrec_clock_ns() & ~(uint64_t)1;
    if (w->first) {
        note_stretch(w, now);
    }
    finder_finish(&w->finder, now);
    tell_news(w, now, false);
}
