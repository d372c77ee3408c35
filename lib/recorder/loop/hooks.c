/* Passes frames, launches, actions and posted tasks from the app's threads to the monitor's inbox.
 */
#include "loop/hooks.h"

#include <pthread.h>

#include "loop/loop.h"
#include "platform.h"

static struct {
    pthread_once_t once;
    bool forked; /* the process is a fork's child, in which no recorder was started yet */
    struct rec_inbox inbox;
    atomic_uint detectors; /* the detectors whose events are accepted; 0: no recorder runs in this
                              process */
    atomic_uint launch_ms, span_ms;
    atomic_uint_fast64_t spans; /* number of action ids given so far */
    pthread_mutex_t lock;       /* guards post and ctx; of the hooks only stallrec_set_poster takes
                                   it */
    stallrec_poster post;
    void *ctx;
} hooks = {.once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER};

static void init_inbox(void) {
    rec_inbox_init(&hooks.inbox);
}

struct rec_inbox *rec_hooks_open(const struct stallrec_config *config) {
    pthread_once(&hooks.once, init_inbox);
    /* In the child the lock may be held by a thread that does not exist there. */
    if (hooks.forked) {
        pthread_mutex_init(&hooks.lock, NULL);
        init_inbox();
        hooks.post = NULL;
        hooks.forked = false;
    }
    rec_inbox_clear(&hooks.inbox);
    atomic_store(&hooks.launch_ms, config->launch_ms);
    atomic_store(&hooks.span_ms, config->span_ms);
    atomic_store(&hooks.detectors, config->detectors);
    return &hooks.inbox;
}

void rec_hooks_close(void) {
    atomic_store(&hooks.detectors, 0);
    pthread_mutex_lock(&hooks.lock);
    hooks.post = NULL;
    pthread_mutex_unlock(&hooks.lock);
}

void rec_hooks_in_forked_child(void) {
    atomic_store(&hooks.detectors, 0);
    hooks.forked = true;
}

bool rec_hooks_post(void *ctx, uint64_t number) {
    (void)ctx;
    pthread_mutex_lock(&hooks.lock);
    bool posted = hooks.post && hooks.post(hooks.ctx, number) != 0;
    pthread_mutex_unlock(&hooks.lock);
    return posted;
}

/* ---- stallrec.h ---- */

static bool wanted(const struct stallrec *rec, enum stallrec_detector detector) {
    return rec && (atomic_load(&hooks.detectors) & (unsigned)detector) != 0;
}

static bool hooks_put(const struct rec_event *event, uint64_t due_ns) {
    bool wake;
    bool taken = rec_inbox_put(&hooks.inbox, event, due_ns, &wake);
    if (wake) {
        rec_loop_interrupt(stallrec_main_loop(NULL));
    }
    return taken;
}

bool rec_hooks_tell(struct rec_inbox *inbox, const struct rec_event *events, uint32_t count) {
    bool wake = false;
    if (!rec_inbox_has_room(inbox, count)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        bool wakes;
        rec_inbox_put(inbox, &events[i], 0, &wakes);
        wake |= wakes;
    }
    if (wake) {
        rec_loop_interrupt(stallrec_main_loop(NULL));
    }
    return true;
}

void stallrec_frame(struct stallrec *rec) {
    if (wanted(rec, STALLREC_DETECT_FRAME_RATE)) {
        rec_inbox_tick(&hooks.inbox, stallrec_clock_ns());
    }
}

void stallrec_launch(struct stallrec *rec, enum stallrec_launch mark, uint64_t at_ns) {
    static const enum rec_launch_mark marks[] = {[STALLREC_LAUNCH_BEGIN] = REC_LAUNCH_BEGIN,
                                                 [STALLREC_LAUNCH_PREWARMED] = REC_LAUNCH_PREWARMED,
                                                 [STALLREC_LAUNCH_ACTIVE] = REC_LAUNCH_ACTIVE,
                                                 [STALLREC_LAUNCH_DONE] = REC_LAUNCH_DONE};
    uint64_t now = stallrec_clock_ns();
    if (!wanted(rec, STALLREC_DETECT_LAUNCH) || mark > STALLREC_LAUNCH_DONE) {
        return;
    }
    const struct rec_event event = {.kind = REC_EVENT_LAUNCH,
                                    .at_ns = now,
                                    .value = marks[mark],
                                    .mark_ns = at_ns < now ? at_ns : now};
    bool begins = mark == STALLREC_LAUNCH_BEGIN || mark == STALLREC_LAUNCH_ACTIVE;
    uint64_t limit = atomic_load(&hooks.launch_ms) * UINT64_C(1000000);
    hooks_put(&event, begins ? event.mark_ns + limit : REC_NEVER);
}

uint64_t stallrec_process_start_ns(void) {
    return rec_platform_process_start_ns();
}

uint64_t stallrec_span_begin(struct stallrec *rec, const char *name, uint32_t limit_ms) {
    if (!wanted(rec, STALLREC_DETECT_SPAN)) {
        return 0;
    }
    uint32_t limit = limit_ms > 0 ? limit_ms : atomic_load(&hooks.span_ms);
    struct rec_event event = {.kind = REC_EVENT_SPAN_BEGIN,
                              .at_ns = stallrec_clock_ns(),
                              .value = atomic_fetch_add(&hooks.spans, 1) + 1,
                              .limit_ms = limit};
    for (size_t i = 0; name && i + 1 < sizeof event.name && name[i]; i++) {
        event.name[i] = name[i];
    }
    return hooks_put(&event, event.at_ns + limit * UINT64_C(1000000)) ? event.value : 0;
}

void stallrec_span_end(struct stallrec *rec, uint64_t id) {
    if (id != 0 && wanted(rec, STALLREC_DETECT_SPAN)) {
        hooks_put(&(struct rec_event){.kind = REC_EVENT_SPAN_END,
                                      .at_ns = stallrec_clock_ns(),
                                      .value = id},
                  REC_NEVER);
    }
}

void stallrec_set_poster(struct stallrec *rec, stallrec_poster post, void *ctx) {
    if (!rec || atomic_load(&hooks.detectors) == 0) {
        return;
    }
    pthread_mutex_lock(&hooks.lock);
    hooks.post = post;
    hooks.ctx = ctx;
    pthread_mutex_unlock(&hooks.lock);
}

void stallrec_ping_done(struct stallrec *rec, uint64_t number) {
    if (wanted(rec, STALLREC_DETECT_PING)) {
        hooks_put(&(struct rec_event){.kind = REC_EVENT_PING_DONE,
                                      .at_ns = stallrec_clock_ns(),
                                      .value = number},
                  REC_NEVER);
    }
}
