/* The monitor thread: it steps the core of each watched thread, writes the dumps that the cores
 * close, and sleeps in between. POSIX only; functions that differ between systems are behind
 * platform.h. */
#include "monitor_private.h"

#include <stdlib.h>

#include "platform.h"
#include "spool/spool_recover.h"
#include "support/wall_clock.h"

/* Longest sleep of the monitor, in ns, once the first thread has ended, so that is_over() is called
 * at least once a second. */
#define GOES_ON_NS UINT64_C(1000000000)

/* ---- the watched threads ---- */

/* Returns the watched thread at place i (0 = the first), unless it is over; NULL if there is
 * none. */
static struct monitor_loop *find_loop(struct stallrec *rec, unsigned i) {
    struct monitor_loop *l = i == 0 ? &rec->first : atomic_load(&rec->others[i - 1]);
    return l && !l->over ? l : NULL;
}

/* Returns the watched thread at place i if the monitor steps it and it is not over; NULL
 * otherwise. */
static struct monitor_loop *loop_at(struct stallrec *rec, unsigned i) {
    struct monitor_loop *l = find_loop(rec, i);
    return l && l->begun ? l : NULL;
}

static void for_each_loop(struct stallrec *rec, void (*act)(struct monitor_loop *l)) {
    for (unsigned i = 0; i < MONITOR_THREADS; i++) {
        struct monitor_loop *l = loop_at(rec, i);
        if (l) {
            act(l);
        }
    }
}

static bool all_are_idle(struct stallrec *rec) {
    for (unsigned i = 0; i < MONITOR_THREADS; i++) {
        const struct monitor_loop *l = loop_at(rec, i);
        if (l && rec_core_busy_since(l->core) != 0) {
            return false;
        }
    }
    return true;
}

/* Enforces the folder's limits after files were written. Enforcing allocates, and a watched thread
 * may hold the allocator's lock, so this waits until all watched loops are idle. */
static void tidy(struct stallrec *rec) {
    if (rec->untidy && all_are_idle(rec)) {
        rec_policy_tidy(&rec->policy, rec_wall_ms_async(NULL));
        rec->untidy = false;
    }
}

/* ---- spools of processes that died ---- */

static void count_recovered(void *ctx, struct rec_about *about) {
    struct stallrec *rec = ctx;
    rec_policy_count(&rec->policy, about, rec_wall_ms_async(NULL));
}

static void wrote_recovered(void *ctx, const struct rec_dump *dump, const struct rec_about *about,
                            const char *path, enum stallrec_error st) {
    struct stallrec *rec = ctx;
    rec_policy_wrote(&rec->policy, dump, about, path, st);
}

/* Recovers the spools of processes that died, and counts their dumps in rec->written and
 * rec->earlier. It runs on the monitor thread, so that the app's start waits for no file. */
static void monitor_recover(struct stallrec *rec) {
    struct rec_recovered recovered;
    struct rec_recovery how = {
        .dir = rec_folder_fd(&rec->policy.folder),
        .file = rec->file,
        .own = rec->first.spool.map ? rec->first.spool.name : NULL,
        .pid = (uint32_t)rec->pid,
        .since_ms = rec->finding.since_ms,
        .count = count_recovered,
        .wrote = wrote_recovered,
        .ctx = rec,
    };
    (void)rec_spool_recover(&how, &recovered);
    rec->written += recovered.dumps;
    rec->earlier = recovered.earlier;
}

/* ---- counts ---- */

static void sum_core_counts(struct rec_totals *to, const struct rec_totals *of) {
    uint32_t left_out = of->threads_left_out;
    to->samples += of->samples;
    to->unavailable += of->unavailable;
    to->detections += of->detections;
    to->stalls += of->stalls;
    to->stalled_ms += of->stalled_ms;
    to->dumps += of->dumps;
    to->suppressed += of->suppressed;
    to->suppressed_alone += of->suppressed_alone;
    to->vetoed += of->vetoed;
    to->gaps += of->gaps;
    to->gap_ms += of->gap_ms;
    to->gap_stalls += of->gap_stalls;
    to->lost += of->lost;
    to->severe += of->severe;
    to->low_rates += of->low_rates;
    to->launches += of->launches;
    to->launches_ms += of->launches_ms;
    to->prewarmed += of->prewarmed;
    to->prewarmed_ms += of->prewarmed_ms;
    to->spans += of->spans;
    to->spans_unwatched += of->spans_unwatched;
    to->threads_left_out = left_out > to->threads_left_out ? left_out : to->threads_left_out;
}

static void sum_watched_time(struct rec_watched *to, const struct rec_watched *of) {
    to->wall_ms += of->wall_ms;
    to->watched_ms += of->watched_ms;
    to->input_ms += of->input_ms;
    to->unclear_at = of->unclear_at != 0 ? of->unclear_at : to->unclear_at;
    for (unsigned i = 0; i < REC_UNWATCHED_REASONS; i++) {
        to->unwatched_ms[i] += of->unwatched_ms[i];
    }
}

static void sum_captures(struct capture_counts *to, const struct capture_counts *of) {
    to->reused += of->reused;
    to->blocked += of->blocked;
    to->signalled += of->signalled;
    to->unavailable += of->unavailable;
}

/* Adds the counts of one watched thread to *to. If finding.goes_on is set, the thread's watched
 * time is added only if its loop_at is known. */
static void sum_loop(const struct monitor_loop *l, uint64_t now, struct monitor_totals *to) {
    const struct rec_totals core = rec_core_totals(l->core);
    const struct capture_counts capture = rec_platform_counts(l->platform);
    const struct rec_watched watched = rec_core_watched(l->core, now);
    sum_core_counts(&to->core, &core);
    sum_captures(&to->capture, &capture);
    if (!l->rec->finding.goes_on || atomic_load(&l->thread->loop_at)) {
        sum_watched_time(&to->watched, &watched);
    }
}

/* Adds up the counts of all threads that are or were watched, and publishes them to the session's
 * record, to monitor_totals() and to finding.publish. */
static void publish_totals(struct stallrec *rec) {
    const uint64_t now = stallrec_clock_ns();
    const struct rec_inbox *inbox = rec->first.thread->inbox;
    struct monitor_totals totals = rec->gone;
    for (unsigned i = 0; i < MONITOR_THREADS; i++) {
        const struct monitor_loop *l = loop_at(rec, i);
        if (l) {
            sum_loop(l, now, &totals);
        }
    }
    totals.written = rec->written;
    totals.earlier = rec->earlier;
    totals.now_ns = now;
    rec_policy_seen(&rec->policy, &totals.core,
                    rec_inbox_dropped(inbox) - rec->first.dropped_before, &totals.watched);
    pthread_mutex_lock(&rec->totals_lock);
    rec->totals = totals;
    pthread_mutex_unlock(&rec->totals_lock);
    if (rec->finding.publish) {
        rec->finding.publish(rec->finding.ctx, &totals);
    }
}

/* ---- the monitor ---- */

/* Keeps the first struct monitor_loop usable after its thread has ended, as the monitor still
 * sleeps on the word of its loop, and its inbox is the process's. */
static void outlive_thread(struct monitor_loop *l) {
    l->own.loop = l->thread->loop;
    l->own.inbox = l->thread->inbox;
    l->thread = &l->own;
}

static void end_loop(struct stallrec *rec, unsigned i, struct monitor_loop *l) {
    struct monitor_thread *thread = l->thread;
    monitor_loop_finish(l);
    monitor_loop_write_rest(l);
    sum_loop(l, stallrec_clock_ns(), &rec->gone);
    l->over = true;
    if (i == 0) {
        outlive_thread(l);
    } else {
        atomic_store(&rec->others[i - 1], NULL);
        monitor_loop_close_spool(l);
        monitor_loop_release(l);
        free(l);
    }
    atomic_store(&thread->released, true);
}

/* Steps all watched threads, begins the watching of those that were added, and ends that of those
 * that have ended. Returns the time by which the next call is due, in ns of the recorder's clock; 0
 * = at once, REC_NEVER = only when an event comes. */
static uint64_t step_all(struct stallrec *rec) {
    uint64_t next = REC_NEVER;
    bool overdue = false;
    for (unsigned i = 0; i < MONITOR_THREADS; i++) {
        struct monitor_loop *l = find_loop(rec, i);
        if (!l) {
            continue;
        }
        if (!l->begun) {
            monitor_loop_begin(l);
        }
        if (monitor_loop_has_ended(l)) {
            end_loop(rec, i, l);
            continue;
        }
        uint64_t due = monitor_loop_step(l, &overdue);
        next = due < next ? due : next;
    }
    return overdue ? 0 : next;
}

static bool have_all_ended(struct stallrec *rec) {
    for (unsigned i = 0; i < MONITOR_THREADS; i++) {
        const struct monitor_loop *l = find_loop(rec, i);
        if (l && !monitor_loop_has_ended(l)) {
            return false;
        }
    }
    return true;
}

/* Have all watched threads ended, and will none be added? The monitor thread must then end, as it
 * would otherwise keep alive a process that has no other thread. */
static bool is_over(struct stallrec *rec) {
    return have_all_ended(rec) && !(rec->finding.goes_on && rec->finding.goes_on(rec->finding.ctx));
}

/* Marks the monitor as awake in the thread's inbox. */
static void wake_inbox(struct monitor_loop *l) {
    rec_inbox_wake(l->thread->inbox);
}

/* Waits until until_ns, or until a loop, an inbox or monitor_stop() needs the monitor. The monitor
 * sleeps on the word of the first thread's loop; edges of other loops wake that word. */
static void wait_for(struct stallrec *rec, uint64_t until_ns) {
    bool nothing_new = true;
    for (unsigned i = 1; i < MONITOR_THREADS && nothing_new; i++) {
        struct monitor_loop *l = find_loop(rec, i);
        nothing_new = !l || (l->begun && monitor_loop_arm(l, &until_ns));
    }
    const struct monitor_loop *first = &rec->first;
    if (nothing_new && first->over) {
        uint64_t look = stallrec_clock_ns() + GOES_ON_NS;
        rec_loop_wait_for_interrupt(first->thread->loop, until_ns < look ? until_ns : look);
    } else if (nothing_new && rec_inbox_sleep(first->thread->inbox, until_ns)) {
        rec_loop_wait(&rec->first.poll, first->core, until_ns);
    }
    for_each_loop(rec, wake_inbox);
}

void *monitor_run(void *arg) {
    struct stallrec *rec = arg;
    rec_platform_enter_monitor();
    monitor_recover(rec);
    rec_policy_tidy(&rec->policy, rec_wall_ms_async(NULL));
    monitor_loop_begin(&rec->first);
    while (!atomic_load(&rec->stopping) && !is_over(rec)) {
        uint64_t next = step_all(rec);
        if (next == 0) {
            continue;
        }
        tidy(rec);
        publish_totals(rec);
        monitor_loop_flush(&rec->first, next == REC_NEVER);
        wait_for(rec, next);
    }
    for_each_loop(rec, monitor_loop_finish);
    publish_totals(rec);
    for_each_loop(rec, monitor_loop_write_rest);
    publish_totals(rec);
    rec_policy_tidy(&rec->policy, rec_wall_ms_async(NULL));
    __atomic_store_n(&rec->ended, 1, __ATOMIC_SEQ_CST);
    rec_word_wake(&rec->ended);
    return NULL;
}
