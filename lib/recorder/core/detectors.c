/* The detectors: the times at which each one checks, and the conditions that it reports as a stall.
 */
#include "core/core_private.h"

static struct rec_track *track_of(struct rec_core *core, enum rec_track_id id) {
    return &core->tracks[id];
}

/* Is a stall of the watched thread open? */
static bool hangs(const struct rec_core *core) {
    return core->tracks[REC_TRACK_LOOP].stall.active || core->tracks[REC_TRACK_PING].stall.active;
}

/* ---- the loop: run loop, semaphore, launch ---- */

void rec_detect_stretch(struct rec_core *core, uint64_t t) {
    struct rec_track *loop = &core->tracks[REC_TRACK_LOOP];
    if (core->launch) {
        loop->next_check_ns = t + rec_ms(core->config.launch_ms);
        rec_anneal_reset(&loop->anneal);
        return;
    }
    if (core->config.check == STALLREC_CHECK_PERIODIC) {
        /* Earlier checks found no stall: the loop was idle then, or this stretch had not begun. */
        if (loop->next_check_ns <= t) {
            uint64_t period = rec_ms(core->config.check_ms);
            loop->next_check_ns += ((t - loop->next_check_ns) / period + 1) * period;
            rec_anneal_reset(&loop->anneal);
        }
        return;
    }
    uint64_t due = t + rec_ms(core->config.threshold_ms);
    if (!rec_backs_off_checks(core) || due > loop->next_check_ns) {
        loop->next_check_ns = due;
        rec_anneal_reset(&loop->anneal);
    }
}

/* Checks a busy stretch of the loop, which may be a launch, for a stall. While the stall of a ping
 * is open, none is found. */
static void loop_check(struct rec_core *core, uint64_t now) {
    struct rec_track *loop = track_of(core, REC_TRACK_LOOP);
    const struct rec_detection detection =
        core->launch ? (struct rec_detection){"launch", "launch", core->config.launch_ms}
                     : (struct rec_detection){"runloop", "hang", core->config.threshold_ms};
    bool found = !track_of(core, REC_TRACK_PING)->stall.active &&
                 rec_track_age(loop, now) >= detection.threshold_ms * REC_NS_PER_MS &&
                 rec_stall_detect(core, loop, &detection, now);
    rec_stall_checked(core, loop, found, now);
}

static bool loop_checks(const struct rec_core *core) {
    return core->tracks[REC_TRACK_LOOP].running &&
           (core->launch || (!core->doubt && rec_detects(core, STALLREC_DETECT_RUNLOOP)));
}

/* Detects a stall that the monitor missed because it was not scheduled in time or checked just as
 * the stretch ended. With STALLREC_CHECK_PERIODIC only past stretches are judged in this way,
 * because the published systems check at their own times only. */
void rec_detect_late(struct rec_core *core, uint64_t t) {
    struct rec_track *loop = track_of(core, REC_TRACK_LOOP);
    const struct rec_detection detection = {"runloop", "hang", core->config.threshold_ms};
    bool late =
        core->config.check == STALLREC_CHECK_STALL && (t > loop->next_check_ns || core->gone);
    if (loop_checks(core) && !core->launch && (late || core->past) && !loop->stall.active &&
        !track_of(core, REC_TRACK_PING)->stall.active && core->ring.count > 0 &&
        rec_track_age(loop, t) > detection.threshold_ms * REC_NS_PER_MS) {
        rec_stall_detect_sampled(core, loop, &detection, t);
    }
}

/* Does a timeout count in the loop's current activity? Of a loop without activities only busy and
 * idle are known, and a timeout counts while such a loop is busy. */
static bool semaphore_waits(const struct rec_core *core) {
    return rec_detects(core, STALLREC_DETECT_SEMAPHORE) && core->tracks[REC_TRACK_LOOP].running &&
           !core->launch && !core->doubt &&
           (core->activity == STALLREC_ACTIVITY_BEFORE_SOURCES ||
            core->activity == STALLREC_ACTIVITY_AFTER_WAITING ||
            core->activity == STALLREC_ACTIVITY_NONE);
}

void rec_detect_signal(struct rec_core *core, uint64_t t) {
    core->semaphore = (struct rec_semaphore){.next_ns = t + rec_ms(core->config.sem_ms)};
}

/* Handles a timeout of the wait; the next wait begins. Every sem_count-th timeout in a row restarts
 * the count, and is a detection unless `skip` says that it is to be skipped or the stall of a ping
 * is open. */
static void semaphore_timeout(struct rec_core *core, uint64_t now) {
    struct rec_semaphore *semaphore = &core->semaphore;
    struct rec_track *loop = track_of(core, REC_TRACK_LOOP);
    const struct rec_detection detection = {"semaphore", "hang",
                                            (uint64_t)core->config.sem_ms * core->config.sem_count};
    semaphore->next_ns += rec_ms(core->config.sem_ms);
    if (semaphore->next_ns <=
        now) { /* a monitor that is late by several timeouts counts only one */
        semaphore->next_ns = now + rec_ms(core->config.sem_ms);
    }
    if (++semaphore->count < core->config.sem_count) {
        return;
    }
    semaphore->count = 0;
    if (semaphore->skip > 0) {
        semaphore->skip--;
    } else if (!track_of(core, REC_TRACK_PING)->stall.active &&
               rec_stall_detect(core, loop, &detection, now) &&
               core->config.backoff == STALLREC_BACKOFF_CHECKS) {
        semaphore->skip = loop->anneal.interval - 1;
    }
}

/* ---- the end of a hang ---- */

/* Returns the ns between `from` and `to` that lie after `since`. */
static uint64_t overlap(uint64_t since, uint64_t from, uint64_t to) {
    from = rec_max(from, since);
    return to > from ? to - from : 0;
}

/* Makes the time of a hang (of the loop or of a ping) that ends at t count nowhere else: restarts
 * the other of these two tracks at t, postpones the limit of each action by the part of the hang
 * after the action's begin, and restarts the measuring of CPU use. */
static void hang_over(struct rec_core *core, const struct rec_track *track, uint64_t t) {
    struct rec_track *loop = track_of(core, REC_TRACK_LOOP), *ping = track_of(core, REC_TRACK_PING);
    if (track == loop && ping->running) {
        rec_track_begin(ping, t);
        ping->next_check_ns = t + rec_ms(core->config.ping_ms);
    } else if (track == ping && loop->running) {
        rec_track_begin(loop, t);
        rec_detect_stretch(core, t);
        rec_detect_signal(core, t);
    }
    for (uint32_t i = 0; i < REC_SPANS; i++) {
        core->spans[i].due_ns += overlap(core->spans[i].since_ns, track->since_ns, t);
    }
    core->window.known = false;
    /* t may lie before the step that is under way, at which the next window is opened. */
    track_of(core, REC_TRACK_CPU)->next_check_ns =
        rec_max(t, core->stepped_ns) + rec_ms(core->config.check_ms);
}

void rec_detect_end(struct rec_core *core, struct rec_track *track, uint64_t t, bool ended) {
    bool hung = rec_is_hang(core, track) && track->stall.active;
    rec_stall_end(core, track, t, ended);
    if (hung) {
        hang_over(core, track, t);
    }
}

/* ---- ping ---- */

static bool pings(const struct rec_core *core) {
    return rec_detects(core, STALLREC_DETECT_PING) && core->capture.post != NULL;
}

static void ping_post(struct rec_core *core, uint64_t now) {
    struct rec_track *ping = track_of(core, REC_TRACK_PING);
    if (!core->capture.post(core->capture.ctx, core->ping_number + 1)) {
        core->next_post_ns = now + rec_ms(core->config.ping_every_ms);
        return;
    }
    core->ping_number++;
    rec_track_begin(ping, now);
    ping->next_check_ns = now + rec_ms(core->config.ping_ms);
    if (!rec_sampler_runs(core)) {
        rec_sampler_start(core, now);
    }
}

static void ping_check(struct rec_core *core, uint64_t now) {
    struct rec_track *ping = track_of(core, REC_TRACK_PING);
    const struct rec_detection detection = {"ping", "hang", core->config.ping_ms};
    /* A loop that stalls or starts up is already known to be unable to answer. */
    bool found = !track_of(core, REC_TRACK_LOOP)->stall.active && !core->launch &&
                 rec_track_age(ping, now) >= rec_ms(core->config.ping_ms) &&
                 rec_stall_detect(core, ping, &detection, now);
    rec_stall_checked(core, ping, found, now);
}

bool rec_detect_ping_waits(const struct rec_core *core, uint64_t number) {
    return core->tracks[REC_TRACK_PING].running && number == core->ping_number;
}

void rec_detect_ping_done(struct rec_core *core, uint64_t at_ns) {
    struct rec_track *ping = track_of(core, REC_TRACK_PING);
    if (!ping->stall.active) {
        rec_anneal_reset(&ping->anneal);
    }
    ping->running = false;
    rec_detect_end(core, ping, at_ns, true);
    core->next_post_ns = at_ns + rec_ms(core->config.ping_every_ms);
    if (!track_of(core, REC_TRACK_LOOP)->running) {
        rec_sampler_stop(core);
    }
}

/* ---- spans ---- */

bool rec_detect_span_begin(struct rec_core *core, uint64_t id, const char *name, uint32_t limit_ms,
                           uint64_t at_ns) {
    core->totals.spans++;
    for (uint32_t i = 0; i < REC_SPANS; i++) {
        struct rec_span *span = &core->spans[i];
        if (!span->running) {
            uint32_t limit = limit_ms > 0 ? limit_ms : core->config.span_ms;
            *span = (struct rec_span){.id = id,
                                      .running = true,
                                      .since_ns = at_ns,
                                      .limit_ms = limit,
                                      .due_ns = at_ns + rec_ms(limit)};
            for (size_t n = 0; name != NULL && n + 1 < sizeof span->name && name[n] != '\0'; n++) {
                span->name[n] = name[n];
            }
            return true;
        }
    }
    core->totals.spans_unwatched++;
    return false;
}

void rec_detect_span_end(struct rec_core *core, uint64_t id, uint64_t at_ns) {
    struct rec_track *track = track_of(core, REC_TRACK_SPAN);
    for (uint32_t i = 0; i < REC_SPANS; i++) {
        struct rec_span *span = &core->spans[i];
        if (!span->running || span->id != id) {
            continue;
        }
        if (span->late) {
            rec_stall_end(core, track, at_ns, true);
            track->running = false;
            rec_anneal_reset(&track->anneal);
        } else {
            core->totals.spans_unwatched += track->running && at_ns > span->due_ns;
        }
        span->running = false;
        return;
    }
}

/* Returns the running action that exceeded its limit first; NULL if none did. */
static struct rec_span *latest_span(struct rec_core *core, uint64_t now) {
    struct rec_span *latest = NULL;
    for (uint32_t i = 0; i < REC_SPANS; i++) {
        struct rec_span *span = &core->spans[i];
        if (span->running && span->due_ns <= now &&
            (latest == NULL || span->due_ns < latest->due_ns)) {
            latest = span;
        }
    }
    return latest;
}

static uint32_t late_limit(const struct rec_core *core) {
    uint32_t limit = 0;
    for (uint32_t i = 0; i < REC_SPANS; i++) {
        if (core->spans[i].running && core->spans[i].late) {
            limit = core->spans[i].limit_ms;
        }
    }
    return limit;
}

/* Time before an action's limit at which the threads' CPU time is first read, in ms, so that the
 * dump of a late action shows which threads used the processor. */
enum { SPAN_MEASURE_MS = 200 };

static uint64_t measure_ns(const struct rec_span *span) {
    return rec_max(span->since_ns, span->due_ns - rec_min(span->due_ns, rec_ms(SPAN_MEASURE_MS)));
}

static bool must_measure(const struct rec_core *core, const struct rec_span *span) {
    return core->capture.top_thread != NULL && span->running && !span->late && !span->measured;
}

static void measure_threads(struct rec_core *core) {
    struct rec_thread top;
    core->capture.top_thread(core->capture.ctx, &top);
}

static void spans_measure(struct rec_core *core, uint64_t now) {
    bool due = false;
    for (uint32_t i = 0; i < REC_SPANS; i++) {
        struct rec_span *span = &core->spans[i];
        bool measure = must_measure(core, span) && measure_ns(span) <= now;
        span->measured |= measure;
        due |= measure;
    }
    if (due) {
        measure_threads(core);
    }
}

/* Checks the running actions. Only one late action is examined at a time, and none while the loop
 * hangs, as the hang is then the reason. */
static void span_check(struct rec_core *core, uint64_t now) {
    struct rec_track *track = track_of(core, REC_TRACK_SPAN);
    if (!track->running) {
        spans_measure(core, now);
        struct rec_span *span = hangs(core) ? NULL : latest_span(core, now);
        if (span == NULL) {
            return;
        }
        span->late = true;
        if (core->capture.top_thread != NULL) {
            measure_threads(core);
        }
        rec_track_begin(track, span->since_ns);
        track->gap_ns = span->gap_ns;
        track->next_check_ns = now;
        rec_track_cpu(core, track, now);
    }
    if (now >= track->next_check_ns) {
        const struct rec_detection detection = {"span", "slow-action", late_limit(core)};
        bool found = !hangs(core) && rec_stall_detect(core, track, &detection, now);
        rec_stall_checked(core, track, found, now);
    }
}

static uint64_t next_span(const struct rec_core *core) {
    const struct rec_track *track = &core->tracks[REC_TRACK_SPAN];
    uint64_t next = REC_NEVER;
    if (track->running) {
        return track->next_check_ns;
    }
    for (uint32_t i = 0; i < REC_SPANS && !hangs(core); i++) {
        const struct rec_span *span = &core->spans[i];
        if (span->running) {
            next = rec_min(next, must_measure(core, span) ? measure_ns(span) : span->due_ns);
        }
    }
    return next;
}

/* ---- CPU ---- */

static bool reads_cpu(const struct rec_core *core) {
    return rec_detects(core, STALLREC_DETECT_CPU) && core->capture.cpu != NULL;
}

static void open_window(struct rec_core *core, uint64_t now) {
    core->window.known = true;
    core->window.since_ns = now;
    core->capture.cpu(core->capture.ctx, &core->window.cpu);
    core->window.top_known = core->capture.top_thread != NULL &&
                             core->capture.top_thread(core->capture.ctx, &core->window.top);
}

/* Was the process's CPU use between the two readings above the limit? */
static bool over_limit(const struct rec_core *core, const struct rec_cpu_window *from,
                       const struct rec_cpu_window *to) {
    uint64_t before = from->cpu.process_ns, after = to->cpu.process_ns;
    uint64_t wall_us = (to->since_ns - from->since_ns) / 1000;
    if (!from->known || after == UINT64_MAX || after < before || wall_us == 0) {
        return false;
    }
    return (after - before) / wall_us > core->config.cpu_limit_permille;
}

static void cpu_check(struct rec_core *core, uint64_t now) {
    struct rec_track *track = track_of(core, REC_TRACK_CPU);
    const struct rec_detection detection = {"cpu", "cpu", core->config.check_ms};
    const struct rec_cpu_window before = core->window;
    open_window(core, now);
    bool found = false;
    /* CPU time that a hanging loop uses is reported with the hang. */
    if (!hangs(core) && over_limit(core, &before, &core->window)) {
        if (!track->running) {
            rec_track_begin(track, before.since_ns);
            track->cpu = before.cpu;
            track->cpu_ns = before.since_ns;
            track->cpu_known = true;
        }
        found = rec_stall_detect(core, track, &detection, now);
    } else if (track->running) {
        rec_stall_end(core, track, now, true);
        track->running = false;
    }
    rec_stall_checked(core, track, found, now);
    /* The next check is at least check_ms after this reading, even if this check was late. */
    track->next_check_ns = rec_max(track->next_check_ns, now + rec_ms(core->config.check_ms));
}

/* ---- all detectors ---- */

void rec_detect_init(struct rec_core *core, uint64_t now) {
    uint64_t check = rec_ms(core->config.check_ms);
    track_of(core, REC_TRACK_LOOP)->next_check_ns =
        core->config.check == STALLREC_CHECK_PERIODIC ? now + check : 0;
    track_of(core, REC_TRACK_CPU)->next_check_ns = now + check;
    core->next_post_ns = now + rec_ms(core->config.ping_every_ms);
    if (reads_cpu(core)) {
        open_window(core, now);
    }
}

void rec_detect_due(struct rec_core *core, uint64_t now) {
    if (loop_checks(core) && now >= track_of(core, REC_TRACK_LOOP)->next_check_ns) {
        loop_check(core, now);
    }
    if (semaphore_waits(core) && now >= core->semaphore.next_ns) {
        semaphore_timeout(core, now);
    }
    if (pings(core)) {
        if (!track_of(core, REC_TRACK_PING)->running && now >= core->next_post_ns) {
            ping_post(core, now);
        } else if (track_of(core, REC_TRACK_PING)->running &&
                   now >= track_of(core, REC_TRACK_PING)->next_check_ns) {
            ping_check(core, now);
        }
    }
    if (reads_cpu(core)) {
        if (!core->window.known) {
            open_window(core, now);
        }
        if (now >= track_of(core, REC_TRACK_CPU)->next_check_ns) {
            cpu_check(core, now);
        }
    }
    span_check(core, now);
}

uint64_t rec_detect_next(const struct rec_core *core) {
    const struct rec_track *tracks = core->tracks;
    uint64_t next = next_span(core);
    if (loop_checks(core)) {
        next = rec_min(next, tracks[REC_TRACK_LOOP].next_check_ns);
    }
    if (semaphore_waits(core)) {
        next = rec_min(next, core->semaphore.next_ns);
    }
    if (pings(core)) {
        next = rec_min(next, tracks[REC_TRACK_PING].running ? tracks[REC_TRACK_PING].next_check_ns
                                                            : core->next_post_ns);
    }
    if (reads_cpu(core)) {
        next = rec_min(next, tracks[REC_TRACK_CPU].next_check_ns);
    }
    return next;
}

void rec_detect_gap(struct rec_core *core, uint64_t from, uint64_t to) {
    uint64_t gap = to - from;
    for (int i = 0; i < REC_TRACKS; i++) {
        struct rec_track *track = &core->tracks[i];
        if (track->running) {
            track->gap_ns += overlap(track->since_ns, from, to);
            bool fixed = i == REC_TRACK_LOOP && !core->launch &&
                         core->config.check == STALLREC_CHECK_PERIODIC;
            track->next_check_ns += fixed ? 0 : gap;
        }
    }
    for (uint32_t i = 0; i < REC_SPANS; i++) {
        uint64_t away = overlap(core->spans[i].since_ns, from, to);
        core->spans[i].gap_ns += away;
        core->spans[i].due_ns += away;
    }
    core->semaphore.next_ns += gap;
    core->window.known = false;
    track_of(core, REC_TRACK_CPU)->next_check_ns = to + rec_ms(core->config.check_ms);
    core->frames = (struct rec_frames){.known = core->frames.known, .since_ns = to, .upto_ns = to};
}
