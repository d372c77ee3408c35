/* The monitor thread steps the core, writes the dumps that the core closes, and sleeps. POSIX; the
 * rest is the platform's. */
#include "monitor_private.h"

#include "loop/watched.h"
#include "platform.h"
#include "spool/spool_recover.h"
#include "support/wall_clock.h"

enum {
    LAUNCH_AGE_MS = 60000, /* an older process has been launched long before the recorder */
    WRITE_CHECK_MS = 250,  /* how often to check whether it is quiet enough to write */
    RETRY_MS =
        30000 /* pause after a dump that could not be written: a full disk stays full for long */
};

/* ---- writing ---- */

/* Measures the process's use of one processor since the last measurement, if that is long enough
 * ago. */
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

/* Writes one dump. False: it could not be written. *path is its file's in any case. */
static bool monitor_write_dump(struct stallrec *rec, const struct rec_dump *dump,
                               const char **path) {
    rec->about.loop_at = atomic_load(&rec->loop_at);
    rec->about.unspooled = !rec_spool_works(&rec->spool);
    rec_policy_count(&rec->policy, &rec->about, rec_wall_ms_async(NULL));
    enum stallrec_error st = rec_dumpfile_write(rec->file, dump, &rec->about, path);
    rec->written += st == STALLREC_OK;
    rec_policy_wrote(&rec->policy, dump, &rec->about, *path, st);
    return st == STALLREC_OK;
}

/* Enforces the folder's limits. It allocates, and the watched thread may hold the allocator's lock,
 * so it runs only while the loop is idle. */
static void tidy(struct stallrec *rec) {
    if (rec->untidy && rec_core_busy_since(rec->core) == 0) {
        rec_policy_tidy(&rec->policy, rec_wall_ms_async(NULL));
        rec->untidy = false;
    }
}

/* On a full disk a dump stays in memory and in the spool, to be tried again, unless the next dump
 * would be lost for that. */
static void write_or_postpone(struct stallrec *rec, const struct rec_dump *dump, uint64_t now) {
    const char *path = NULL;
    bool ok = monitor_write_dump(rec, dump, &path);
    rec->retry_ns = ok ? 0 : now + RETRY_MS * UINT64_C(1000000);
    if (!ok && !rec_core_full(rec->core)) {
        rec_core_postpone(rec->core, dump, rec->retry_ns);
        return;
    }
    if (!ok) {
        rec_policy_lost(&rec->policy, dump, path);
    }
    rec_core_release(rec->core, dump);
    if (rec->trace) {
        rec_trace_wrote(rec->trace, stallrec_clock_ns());
    }
}

/* Writes for the last time. What cannot be written now stays in the spool, for the next start. */
static void write_rest(struct stallrec *rec) {
    const struct rec_dump *dump;
    const char *path = NULL;
    for (uint32_t i = 0; i < REC_RECORDS && (dump = rec_core_closed(rec->core)) != NULL; i++) {
        if (monitor_write_dump(rec, dump, &path)) {
            rec_core_release(rec->core, dump);
        } else {
            rec_core_postpone(rec->core, dump, REC_NEVER);
        }
    }
    rec->left_over = rec_core_closed(rec->core) != NULL &&
                     rec_spool_remains(&rec->spool, rec_folder_fd(&rec->policy.folder));
    while (!rec->left_over && (dump = rec_core_closed(rec->core)) != NULL) {
        if (!monitor_write_dump(rec, dump, &path)) {
            rec_policy_lost(&rec->policy, dump, path);
        }
        rec_core_release(rec->core, dump);
    }
}

/* Writes what may be written now. Returns when to try again, REC_NEVER if nothing is left. */
static uint64_t monitor_write_closed(struct stallrec *rec, uint64_t now) {
    const struct rec_dump *dump = rec_core_closed(rec->core);
    if (!dump) {
        return REC_NEVER;
    }
    measure_cpu(rec, now);
    while (dump && rec_core_write_due(rec->core, now, rec->cpu_permille)) {
        rec->untidy = true;
        write_or_postpone(rec, dump, now);
        dump = rec_core_closed(rec->core);
    }
    tidy(rec);
    uint64_t look = now + WRITE_CHECK_MS * UINT64_C(1000000);
    if (!dump) {
        return REC_NEVER;
    }
    return look > rec->retry_ns ? look : rec->retry_ns;
}

/* ---- what others left ---- */

static void count_recovered(void *ctx, struct rec_about *about) {
    struct stallrec *rec = ctx;
    rec_policy_count(&rec->policy, about, rec_wall_ms_async(NULL));
}

static void wrote_recovered(void *ctx, const struct rec_dump *dump, const struct rec_about *about,
                            const char *path, enum stallrec_error st) {
    struct stallrec *rec = ctx;
    rec->written += st == STALLREC_OK;
    rec_policy_wrote(&rec->policy, dump, about, path, st);
}

/* Recovers the spools of processes that died. It runs on the monitor, so that the app's start waits
 * for no file. */
static void monitor_recover(struct stallrec *rec) {
    struct rec_recovered recovered;
    struct rec_recovery how = {
        .dir = rec_folder_fd(&rec->policy.folder),
        .file = rec->file,
        .own = rec->spool.map ? rec->spool.name : NULL,
        .pid = (uint32_t)rec->pid,
        .count = count_recovered,
        .wrote = wrote_recovered,
        .ctx = rec,
    };
    rec_spool_recover(&how, &recovered);
}

/* ---- the monitor ---- */

/* Publishes the monitor's counts: for threads that ask, for the session, and for who started it. */
static void publish_totals(struct stallrec *rec) {
    const uint64_t now = stallrec_clock_ns();
    const struct monitor_totals totals = {.core = rec_core_totals(rec->core),
                                          .capture = rec_platform_counts(rec->platform),
                                          .written = rec->written,
                                          .now_ns = now,
                                          .watched = rec_core_watched(rec->core, now)};
    rec_policy_seen(&rec->policy, &totals.core, rec_inbox_dropped(rec->inbox) - rec->dropped_before,
                    &totals.watched);
    pthread_mutex_lock(&rec->totals_lock);
    rec->totals = totals;
    pthread_mutex_unlock(&rec->totals_lock);
    if (rec->finding.publish) {
        rec->finding.publish(rec->finding.ctx, &totals);
    }
}

static uint64_t monitor_tell(struct stallrec *rec, const struct rec_event *event) {
    if (event->at_ns > rec->told_ns) {
        rec->told_ns = event->at_ns;
    }
    uint64_t next = rec_event_tell(rec->core, event);
    if (rec->trace) {
        rec_trace_event(rec->trace, event);
    }
    return next;
}

static uint64_t tell_now(struct stallrec *rec, enum rec_event_kind kind) {
    return monitor_tell(rec, &(struct rec_event){.kind = kind, .at_ns = stallrec_clock_ns()});
}

/* Passes on what the app's threads told up to until_ns. A thread that was delayed tells late. What
 * is judged afterwards may be more than the memory for dumps holds. */
static void tell_inbox(struct stallrec *rec, uint64_t until_ns) {
    struct rec_event event;
    while (rec_inbox_take(rec->inbox, until_ns, &event)) {
        if (event.at_ns < rec->told_ns) {
            event.at_ns = rec->told_ns;
        }
        monitor_tell(rec, &event);
        if (event.kind == REC_EVENT_PAST_IDLE && rec_core_full(rec->core)) {
            monitor_write_closed(rec, stallrec_clock_ns());
        }
    }
}

/* Passes on the events since the last call, in the order of time: of the loop, and of the app's
 * threads. */
static void tell_all(struct stallrec *rec) {
    struct rec_event events[REC_LOOP_EVENTS];
    uint64_t now =
        stallrec_clock_ns(); /* read before the poll: events that it misses have later times */
    uint32_t count = rec_loop_poll(&rec->poll, events);
    for (uint32_t i = 0; i < count; i++) {
        tell_inbox(rec, events[i].at_ns);
        monitor_tell(rec, &events[i]);
    }
    tell_inbox(rec, now);
}

static void write_trace(struct stallrec *rec) {
    uint32_t *failed = atomic_load(&rec->trace_failed);
    rec_trace_flush(rec->trace);
    if (rec->trace_file.out.failed && failed) {
        __atomic_store_n(failed, 1, __ATOMIC_RELAXED);
    }
}

/* Writes the trace between samples, and not for every line. Long work of the monitor itself is told
 * as such. */
static void flush_trace(struct stallrec *rec, bool idle) {
    uint64_t now = stallrec_clock_ns();
    if (!rec->trace) {
        return;
    }
    if (now - rec->told_ns > UINT64_C(1000000)) {
        monitor_tell(rec, &(struct rec_event){.kind = REC_EVENT_WAIT, .at_ns = now});
    }
    if (idle || rec_trace_waiting(rec->trace) >= REC_TRACE_BUFFER / 4 ||
        now - rec->flushed_ns >= UINT64_C(1000000000)) {
        rec->flushed_ns = now;
        write_trace(rec);
    }
}

/* Presumes until told otherwise that the launch began with the process, and continues if the loop
 * has not waited yet: a recorder may be started late, or again. */
static void presume_launch(struct stallrec *rec) {
    if (rec->launched) {
        return;
    }
    uint64_t start = rec_platform_process_start_ns(), now = stallrec_clock_ns();
    if ((rec->config.detectors & STALLREC_DETECT_LAUNCH) != 0 && start != 0 &&
        now - start < LAUNCH_AGE_MS * UINT64_C(1000000)) {
        monitor_tell(rec, &(struct rec_event){.kind = REC_EVENT_LAUNCH,
                                              .at_ns = now,
                                              .value = REC_LAUNCH_START,
                                              .mark_ns = start});
    }
}

/* Waits until until_ns, or until the loop, an app's thread or a stop needs the monitor. */
static void wait_for(struct stallrec *rec, uint64_t until_ns) {
    if (rec_inbox_sleep(rec->inbox, until_ns)) {
        rec_loop_wait(&rec->poll, rec->core, until_ns);
        rec_inbox_wake(rec->inbox);
    }
}

/* The process may be stopped while a step waits for a sample, too. The core takes time before the
 * next wait for the monitor's own work, as on a slow disk, so such a gap has to be told first. */
static bool is_overdue(uint64_t next) {
    uint64_t now = stallrec_clock_ns();
    return now > next && now - next > UINT64_C(1000000000);
}

/* Has the watched thread ended? One that ends by the system call alone is noticed only when it
 * seems to stall. */
static bool has_lost_its_thread(const struct stallrec *rec) {
    return rec_watched_ended() || rec_platform_counts(rec->platform).gone;
}

void *monitor_run(void *arg) {
    struct stallrec *rec = arg;
    rec_platform_enter_monitor();
    monitor_recover(rec);
    rec_policy_tidy(&rec->policy, rec_wall_ms_async(NULL));
    if (rec->finds) {
        monitor_tell(rec, &(struct rec_event){.kind = REC_EVENT_DOUBT,
                                              .at_ns = stallrec_clock_ns(),
                                              .mark_ns = rec->finding.begin_ns});
    }
    presume_launch(rec);
    while (!atomic_load(&rec->stopping) && !has_lost_its_thread(rec)) {
        tell_all(rec);
        uint64_t next = tell_now(rec, REC_EVENT_STEP);
        if (is_overdue(next)) {
            continue;
        }
        uint64_t look = monitor_write_closed(rec, stallrec_clock_ns());
        publish_totals(rec);
        flush_trace(rec, next == REC_NEVER);
        wait_for(rec, look < next ? look : next);
    }
    tell_all(rec);
    tell_now(rec, REC_EVENT_FINISH);
    publish_totals(rec);
    write_rest(rec);
    publish_totals(rec);
    if (rec->trace) {
        write_trace(rec);
    }
    rec_policy_tidy(&rec->policy, rec_wall_ms_async(NULL));
    __atomic_store_n(&rec->ended, 1, __ATOMIC_SEQ_CST);
    rec_word_wake(&rec->ended);
    return NULL;
}
