/* The monitor's work for one watched thread: it passes events of the loop and of the app to the
 * thread's core, and writes the dumps that the core closes. */
#include <stdlib.h>
#include <string.h>

#include "loop/watched.h"
#include "monitor_private.h"
#include "platform.h"
#include "support/wall_clock.h"

enum {
    LAUNCH_AGE_MS = 60000, /* a process that is older than this, in ms, when the recorder starts
                              counts as launched */
    /* Ms between two checks whether the process uses so little CPU time that dumps may be written.
     */
    WRITE_CHECK_MS = 250,
    RETRY_MS = 30000 /* ms until a failed write is tried again */
};

/* ---- the spool ---- */

static void on_keep(void *ctx, uint32_t slot, const struct rec_dump *dump) {
    struct monitor_loop *l = ctx;
    rec_spool_keep(&l->spool, slot, dump, atomic_load(&l->thread->loop_at));
}

static void on_grow(void *ctx, uint32_t slot, const struct rec_dump *dump, bool closed) {
    struct monitor_loop *l = ctx;
    rec_spool_grow(&l->spool, slot, dump, closed);
    if (!closed) {
        rec_policy_grow(&l->rec->policy, dump->stall.duration_ms);
    }
}

static void on_drop(void *ctx, uint32_t slot) {
    rec_spool_drop(&((struct monitor_loop *)ctx)->spool, slot);
}

static void on_take_back(void *ctx, bool ended, uint64_t was_ms) {
    struct stallrec *rec = ((struct monitor_loop *)ctx)->rec;
    rec_policy_take_back(&rec->policy, ended, was_ms);
    if (rec->finding.taken_back) {
        rec->finding.taken_back(rec->finding.ctx, was_ms);
    }
}

static void on_withdraw(void *ctx, const uint8_t id[REC_UUID_SIZE]) {
    struct stallrec *rec = ((struct monitor_loop *)ctx)->rec;
    rec->written -= rec_policy_withdraw(&rec->policy, id);
}

void monitor_loop_open_spool(struct monitor_loop *l) {
    struct stallrec *rec = l->rec;
    struct rec_spool_header header = {.pid = (uint32_t)rec->pid,
                                      .process_start = rec_process_start((uint32_t)rec->pid),
                                      .start_ms = rec->policy.session.start_ms,
                                      .about = rec->about};
    memcpy(header.session, rec->policy.session.id, sizeof header.session);
    int dir = rec_folder_fd(&rec->policy.folder);
    /* If the spool cannot be opened, each dump says that there is none (meter.spooled). */
    rec_spool_open(&l->spool, dir, &header);
    struct rec_keeper keeper = {l, on_keep, on_grow, on_drop, on_take_back, on_withdraw};
    rec_core_keep(l->core, &keeper);
}

/* ---- writing ---- */

/* Sets rec->cpu_permille to the process's CPU use since the last measurement (1000 = one
 * processor). No effect if the last measurement was less than 50 ms ago, or if the CPU time is not
 * known. The first measurement counts from recorder_prepare, or, if the CPU time was not known
 * there, all CPU time since the process began. */
static void measure_cpu(struct stallrec *rec, uint64_t now) {
    if (now - rec->busy_at < UINT64_C(50000000)) {
        return;
    }
    uint64_t cpu = rec_platform_process_cpu_ns();
    if (cpu == UINT64_MAX) {
        return;
    }
    rec->cpu_permille = (int32_t)((cpu - rec->busy_ns) * 1000 / (now - rec->busy_at));
    rec->busy_ns = cpu;
    rec->busy_at = now;
}

/* Writes one dump. False: it could not be written. In both cases *path becomes the path of its
 * file. */
static bool monitor_write_dump(struct monitor_loop *l, const struct rec_dump *dump,
                               const char **path) {
    struct stallrec *rec = l->rec;
    rec->about.loop_at = atomic_load(&l->thread->loop_at);
    rec->about.other_thread = l->other_thread;
    rec->about.unspooled = !rec_spool_works(&l->spool);
    rec_policy_count(&rec->policy, &rec->about, rec_wall_ms_async(NULL));
    enum stallrec_error st = rec_dumpfile_write(rec->file, dump, &rec->about, path);
    rec->written += st == STALLREC_OK;
    rec_policy_wrote(&rec->policy, dump, &rec->about, *path, st);
    return st == STALLREC_OK;
}

/* Writes one dump and frees its room in the core. If that fails, as on a full disk, the dump stays
 * in memory and in the spool, and is tried again after RETRY_MS ms; if the memory for dumps is used
 * up, the dump is given up as lost. */
static void write_or_postpone(struct monitor_loop *l, const struct rec_dump *dump, uint64_t now) {
    const char *path = NULL;
    bool ok = monitor_write_dump(l, dump, &path);
    l->retry_ns = ok ? 0 : now + RETRY_MS * UINT64_C(1000000);
    if (!ok && !rec_core_full(l->core)) {
        rec_core_postpone(l->core, dump, l->retry_ns);
        return;
    }
    if (!ok) {
        rec_policy_lost(&l->rec->policy, dump, path);
    }
    rec_core_release(l->core, dump);
    if (l->trace) {
        rec_trace_wrote(l->trace, stallrec_clock_ns());
    }
}

static void write_trace(struct monitor_loop *l) {
    struct stallrec *rec = l->rec;
    uint32_t *failed = atomic_load(&rec->trace_failed);
    rec_trace_flush(l->trace);
    if (rec->trace_file.out.failed && failed) {
        __atomic_store_n(failed, 1, __ATOMIC_RELAXED);
    }
}

/* Writes the remaining closed dumps, and the trace. Dumps that cannot be written stay in the spool
 * for the next start; without a usable spool they are tried once more, and then lost. */
void monitor_loop_write_rest(struct monitor_loop *l) {
    struct stallrec *rec = l->rec;
    const struct rec_dump *dump;
    const char *path = NULL;
    for (uint32_t i = 0; i < REC_RECORDS && (dump = rec_core_closed(l->core)) != NULL; i++) {
        if (monitor_write_dump(l, dump, &path)) {
            rec_core_release(l->core, dump);
        } else {
            rec_core_postpone(l->core, dump, REC_NEVER);
        }
    }
    l->left_over = rec_core_closed(l->core) != NULL &&
                   rec_spool_remains(&l->spool, rec_folder_fd(&rec->policy.folder));
    while (!l->left_over && (dump = rec_core_closed(l->core)) != NULL) {
        if (!monitor_write_dump(l, dump, &path)) {
            rec_policy_lost(&rec->policy, dump, path);
        }
        rec_core_release(l->core, dump);
    }
    if (l->trace) {
        write_trace(l);
    }
}

/* Writes the closed dumps that may be written now. Returns the time of the next try; REC_NEVER if
 * no closed dump is left. */
static uint64_t monitor_write_closed(struct monitor_loop *l, uint64_t now) {
    struct stallrec *rec = l->rec;
    const struct rec_dump *dump = rec_core_closed(l->core);
    if (!dump) {
        return REC_NEVER;
    }
    measure_cpu(rec, now);
    while (dump && rec_core_write_due(l->core, now, rec->cpu_permille)) {
        rec->untidy = true;
        write_or_postpone(l, dump, now);
        dump = rec_core_closed(l->core);
    }
    uint64_t look = now + WRITE_CHECK_MS * UINT64_C(1000000);
    if (!dump) {
        return REC_NEVER;
    }
    return look > l->retry_ns ? look : l->retry_ns;
}

/* ---- events for the core ---- */

static uint64_t monitor_tell(struct monitor_loop *l, const struct rec_event *event) {
    if (event->at_ns > l->told_ns) {
        l->told_ns = event->at_ns;
    }
    uint64_t next = rec_event_tell(l->core, event);
    if (l->trace) {
        rec_trace_event(l->trace, event);
    }
    return next;
}

static uint64_t tell_now(struct monitor_loop *l, enum rec_event_kind kind) {
    return monitor_tell(l, &(struct rec_event){.kind = kind, .at_ns = stallrec_clock_ns()});
}

/* Passes the inbox's messages up to until_ns to the core. A message that arrives late gets the time
 * of the latest event that was passed to the core. Messages about past stretches may close more
 * dumps than the memory for dumps holds, so closed dumps are written whenever that memory is used
 * up. */
static void tell_inbox(struct monitor_loop *l, uint64_t until_ns) {
    struct rec_event event;
    while (rec_inbox_take(l->thread->inbox, until_ns, &event)) {
        if (event.kind == REC_EVENT_ATTRIBUTED) {
            l->attributed_ns = event.at_ns;
        } else if (event.kind == REC_EVENT_EDGE) {
            l->attributed_ns = 0;
        }
        if (event.at_ns < l->told_ns) {
            event.at_ns = l->told_ns;
        }
        monitor_tell(l, &event);
        if ((event.kind == REC_EVENT_PAST_IDLE || event.kind == REC_EVENT_PAST_UNKNOWN) &&
            rec_core_full(l->core)) {
            monitor_write_closed(l, stallrec_clock_ns());
        }
    }
}

/* Tells the core the edge REC_LOOP_SLEEP before the first event of the loop that a poll gives after
 * an attribution: at the time of the attribution if that event is a wake, at the event's time if
 * that event is no edge. Before a sleep or a turn it tells nothing. A poll gives several stretches
 * as one, which may have begun before the attribution, so that the core may lack this edge. */
static void tell_missed_sleep(struct monitor_loop *l, const struct rec_event *event) {
    uint64_t at = event->kind == REC_EVENT_EDGE ? l->attributed_ns : event->at_ns;
    bool missed = l->attributed_ns != 0 && event->at_ns > l->attributed_ns &&
                  (event->kind != REC_EVENT_EDGE || event->value == REC_LOOP_WAKE);
    if (missed) {
        monitor_tell(l, &(struct rec_event){.kind = REC_EVENT_EDGE,
                                            .at_ns = at > l->told_ns ? at : l->told_ns,
                                            .value = REC_LOOP_SLEEP});
    }
    l->attributed_ns = missed || event->kind == REC_EVENT_EDGE ? 0 : l->attributed_ns;
}

/* Passes the events of the loop and of the inbox since the last call to the core, in the order of
 * time. */
static void tell_all(struct monitor_loop *l) {
    struct rec_event events[REC_LOOP_EVENTS];
    /* The clock is read before the poll, so that events that the poll misses have later times. */
    uint64_t now = stallrec_clock_ns();
    uint32_t count = rec_loop_poll(&l->poll, events);
    for (uint32_t i = 0; i < count; i++) {
        tell_inbox(l, events[i].at_ns);
        if (events[i].kind == REC_EVENT_BUSY || events[i].kind == REC_EVENT_EDGE) {
            tell_missed_sleep(l, &events[i]);
        }
        monitor_tell(l, &events[i]);
    }
    tell_inbox(l, now);
    uint64_t last = l->poll.seen & ~(uint64_t)1;
    if (last == l->poll.seen && last > l->attributed_ns) {
        tell_missed_sleep(l, &(struct rec_event){.kind = REC_EVENT_BUSY, .at_ns = last});
    }
}

/* Writes the trace when the loop is idle, a quarter of the buffer is used, or a second has passed
 * since the last write. No effect if no trace is written or the thread is over. If the last event
 * is over 1 ms old, the core first gets a REC_EVENT_WAIT: the monitor itself has worked until now.
 */
void monitor_loop_flush(struct monitor_loop *l, bool idle) {
    struct stallrec *rec = l->rec;
    uint64_t now = stallrec_clock_ns();
    if (!l->trace || l->over) {
        return;
    }
    if (now - l->told_ns > UINT64_C(1000000)) {
        monitor_tell(l, &(struct rec_event){.kind = REC_EVENT_WAIT, .at_ns = now});
    }
    if (idle || rec_trace_waiting(l->trace) >= REC_TRACE_BUFFER / 4 ||
        now - rec->flushed_ns >= UINT64_C(1000000000)) {
        rec->flushed_ns = now;
        write_trace(l);
    }
}

/* ---- begin, step, end ---- */

/* Reports to the core a presumed launch, which began with the process and which a mark may replace.
 * Nothing is reported if l is not the first loop, if that loop has waited before (the recorder may
 * be started late or again), if the time at which the process began is not known or at least
 * LAUNCH_AGE_MS ago, or if the launch detector is off. */
static void presume_launch(struct monitor_loop *l) {
    const struct stallrec *rec = l->rec;
    if (rec->launched || l != &rec->first) {
        return;
    }
    uint64_t start = rec_platform_process_start_ns(), now = stallrec_clock_ns();
    if ((rec->config.detectors & STALLREC_DETECT_LAUNCH) != 0 && start != 0 &&
        now - start < LAUNCH_AGE_MS * UINT64_C(1000000)) {
        monitor_tell(l, &(struct rec_event){.kind = REC_EVENT_LAUNCH,
                                            .at_ns = now,
                                            .value = REC_LAUNCH_START,
                                            .mark_ns = start});
    }
}

/* Makes the core and opens the spool of a thread other than the first. Only its runloop and
 * semaphore detectors are on, because the first thread's detectors watch the process as a whole. */
static void begin_other(struct monitor_loop *l) {
    struct stallrec_config config = l->rec->core_config;
    struct rec_capture table = rec_platform_capture(l->platform);
    config.detectors &= (uint32_t)STALLREC_DETECT_RUNLOOP | (uint32_t)STALLREC_DETECT_SEMAPHORE;
    table.context = &l->rec->context;
    l->core = rec_core_init(l->core_memory, &config, &table, stallrec_clock_ns());
    monitor_loop_open_spool(l);
}

void monitor_loop_begin(struct monitor_loop *l) {
    l->begun = true;
    if (!l->core) {
        begin_other(l);
    }
    if (l->rec->finds) {
        monitor_tell(l, &(struct rec_event){.kind = REC_EVENT_DOUBT,
                                            .at_ns = stallrec_clock_ns(),
                                            .mark_ns = l->begin_ns});
    }
    presume_launch(l);
}

/* Is it already more than 1 s after `next`, the time at which the next step is due? The process may
 * have been suspended while the last step waited for a sample. The caller then steps again before
 * it writes files, so that the core learns of the gap, which it would later take for the monitor's
 * own work. */
static bool is_overdue(uint64_t next) {
    uint64_t now = stallrec_clock_ns();
    return now > next && now - next > UINT64_C(1000000000);
}

uint64_t monitor_loop_step(struct monitor_loop *l, bool *overdue) {
    tell_all(l);
    uint64_t next = tell_now(l, REC_EVENT_STEP);
    if (is_overdue(next)) {
        *overdue = true;
        return next;
    }
    uint64_t look = monitor_write_closed(l, stallrec_clock_ns());
    return look < next ? look : next;
}

void monitor_loop_finish(struct monitor_loop *l) {
    uint64_t ended = atomic_load(&l->thread->ended_ns), now = stallrec_clock_ns();
    tell_all(l);
    ended =
        ended != 0 && ended < now ? ended : now; /* the monitor may notice the thread's end late */
    ended = ended > l->told_ns ? ended : l->told_ns;
    monitor_tell(l, &(struct rec_event){.kind = REC_EVENT_FINISH, .at_ns = ended});
}

bool monitor_loop_has_ended(const struct monitor_loop *l) {
    bool first = l == &l->rec->first;
    return atomic_load(&l->thread->ended_ns) != 0 || (first && rec_watched_ended()) ||
           rec_platform_counts(l->platform).gone;
}

bool monitor_loop_arm(struct monitor_loop *l, uint64_t *until_ns) {
    if (!rec_inbox_sleep(l->thread->inbox, *until_ns)) {
        return false;
    }
    return rec_loop_arm(&l->poll, l->core, until_ns);
}

void monitor_loop_close_spool(struct monitor_loop *l) {
    rec_spool_close(&l->spool, l->left_over ? -1 : rec_folder_fd(&l->rec->policy.folder));
}

void monitor_loop_release(struct monitor_loop *l) {
    rec_platform_free(l->platform);
    free(l->trace);
    free(l->core_memory);
}
