/* The recorder's core: the loop's state, time and its gaps, sampling, memory. */
#include <string.h>

#include "core/core_private.h"

/* ---- memory ---- */

/* One pass of it measures, the other hands out: base NULL only counts. */
struct carve {
    unsigned char *base;
    size_t used;
};

static void *carve(struct carve *c, size_t count, size_t size) {
    const size_t align = _Alignof(max_align_t);
    void *at = c->base != NULL ? c->base + c->used : NULL;
    c->used += (count * size + align - 1) / align * align; /* ranges: rec_config_read */
    return at;
}

static void carve_stack(struct carve *c, struct rec_stack *stack, uint32_t cap, bool starts) {
    uint64_t *frames = carve(c, cap, sizeof *frames);
    uint64_t *functions = starts ? carve(c, cap, sizeof *functions) : NULL;
    if (c->base != NULL) {
        stack->frames = frames;
        stack->starts = functions;
        stack->cap = cap;
    }
}

static void carve_record(struct carve *c, struct rec_record *record,
                         const struct stallrec_config *config) {
    struct rec_dump *dump = &record->dump;
    dump->threads = carve(c, config->max_threads, sizeof *dump->threads);
    dump->stacks = carve(c, config->ring, sizeof *dump->stacks);
    dump->ring = carve(c, config->ring, sizeof *dump->ring);
}

/* Frames, images and text, of which nothing is read that was not written. Only what is compared has
 * its functions. */
static void carve_contents(struct carve *c, struct rec_record *record,
                           const struct stallrec_config *config) {
    struct rec_dump *dump = &record->dump;
    dump->images = carve(c, REC_IMAGES_MAX, sizeof *dump->images);
    record->text = carve(c, REC_TEXT_MAX, 1);
    for (uint32_t i = 0; i < config->ring; i++) {
        carve_stack(c, c->base != NULL ? &dump->stacks[i].stack : NULL, config->max_frames, false);
    }
    for (uint32_t i = 0; i < config->max_threads; i++) {
        carve_stack(c, c->base != NULL ? &dump->threads[i].stack : NULL, config->max_frames,
                    i == 0);
    }
}

/* Lays out the core's memory. With base NULL nothing is written but what is thrown away. The first
 * *cleared bytes must be zero before; what follows is not touched before it is needed, so that it
 * takes no memory. */
static size_t lay_out(unsigned char *base, const struct stallrec_config *config, size_t *cleared) {
    struct carve c = {.base = base};
    struct rec_core none = {0};
    struct rec_core *core = carve(&c, 1, sizeof *core);
    if (base == NULL) {
        core = &none;
    }
    core->ring.slots = carve(&c, config->ring, sizeof *core->ring.slots);
    core->ring.cap = config->ring;
    for (uint32_t i = 0; i < REC_TRACKS; i++) {
        uint64_t *functions = carve(&c, config->max_frames, sizeof *functions);
        rec_anneal_init(&core->tracks[i].anneal, functions, config->max_frames);
    }
    for (uint32_t i = 0; i < REC_RECORDS; i++) {
        carve_record(&c, &core->records[i], config);
    }
    *cleared = c.used;
    for (uint32_t i = 0; i < config->ring; i++) {
        carve_stack(&c, base != NULL ? &core->ring.slots[i].stack : NULL, config->max_frames, true);
    }
    for (uint32_t i = 0; i < REC_RECORDS; i++) {
        carve_contents(&c, &core->records[i], config);
    }
    return c.used;
}

size_t rec_core_size(const struct stallrec_config *config) {
    size_t cleared;
    return lay_out(NULL, config, &cleared);
}

struct rec_core *rec_core_init(void *memory, const struct stallrec_config *config,
                               const struct rec_capture *capture, uint64_t now_ns) {
    struct rec_core *core = memory;
    size_t cleared;
    lay_out(NULL, config, &cleared);
    memset(memory, 0, cleared);
    lay_out(memory, config, &cleared);
    core->config = *config;
    core->capture = *capture;
    core->told_ns = REC_NEVER;
    core->stepped_ns = now_ns;
    core->next_sample_ns = REC_NEVER;
    core->asked_ns = REC_NEVER;
    rec_detect_init(core, now_ns);
    return core;
}

/* ---- time ---- */

uint64_t rec_track_age(const struct rec_track *track, uint64_t t) {
    uint64_t away = track->since_ns + track->gap_ns;
    return t > away ? t - away : 0;
}

void rec_track_begin(struct rec_track *track, uint64_t t) {
    track->running = true;
    track->since_ns = t;
    track->gap_ns = 0;
    track->cpu_known = false;
}

void rec_core_note(const struct rec_core *core, const struct rec_note *note) {
    if (core->watch != NULL) {
        core->watch(core->watch_ctx, note);
    }
}

void rec_core_watch(struct rec_core *core, rec_watch watch, void *ctx) {
    core->watch = watch;
    core->watch_ctx = ctx;
}

void rec_core_keep(struct rec_core *core, const struct rec_keeper *keeper) {
    core->keeper = *keeper;
}

static uint32_t slot_of(const struct rec_core *core, const struct rec_record *record) {
    return (uint32_t)(record - core->records);
}

void rec_core_kept(const struct rec_core *core, const struct rec_record *record) {
    if (core->keeper.keep != NULL) {
        core->keeper.keep(core->keeper.ctx, slot_of(core, record), &record->dump);
    }
}

void rec_core_grown(const struct rec_core *core, const struct rec_record *record) {
    if (core->keeper.grow != NULL) {
        core->keeper.grow(core->keeper.ctx, slot_of(core, record), &record->dump,
                          record->state == REC_RECORD_CLOSED);
    }
}

/* If the monitor had promised to be back long before t, the process did not run meanwhile (SIGSTOP,
 * a debugger, a suspended app): that time is nobody's stall, and samples from before it say nothing
 * about what follows. */
void rec_core_observe(struct rec_core *core, uint64_t t) {
    if (core->told_ns == REC_NEVER || t <= core->told_ns) {
        return;
    }
    const struct rec_track *loop = &core->tracks[REC_TRACK_LOOP];
    uint64_t wait = core->told_ns > core->stepped_ns ? core->told_ns - core->stepped_ns : 0;
    uint64_t limit = rec_max(1000 * REC_NS_PER_MS, 4 * wait);
    uint64_t from = core->told_ns;
    if (loop->running) {
        from = rec_max(from, loop->since_ns);
    }
    if (t <= from || t - from <= limit) {
        return;
    }
    uint64_t gap_ms = (t - from) / REC_NS_PER_MS;
    core->totals.gaps++;
    core->totals.gap_ms += gap_ms;
    core->told_ns = t;
    core->stepped_ns = t;
    if (rec_core_sampling(core)) {
        rec_ring_clear(&core->ring);
        core->next_sample_ns += t - from;
    }
    rec_detect_gap(core, from, t);
    rec_core_note(core, &(struct rec_note){.kind = REC_NOTE_GAP, .value = gap_ms});
}

void rec_core_wait_begin(struct rec_core *core, uint64_t now_ns) {
    core->stepped_ns = now_ns;
    if (core->told_ns != REC_NEVER) {
        core->told_ns = rec_max(core->told_ns, now_ns);
    }
}

/* A parked monitor is woken by the event at t: from then on it can be late. */
static void unpark(struct rec_core *core, uint64_t t) {
    if (core->told_ns == REC_NEVER) {
        core->told_ns = t;
        core->stepped_ns = t;
    }
}

/* ---- the loop ---- */

void rec_core_begin_stretch(struct rec_core *core, uint64_t t) {
    rec_track_begin(&core->tracks[REC_TRACK_LOOP], t);
    rec_core_sample_from(core, t);
    rec_stall_schedule(core, t);
    if (!core->launch) { /* whose begin may lie far back */
        unpark(core, t);
    }
}

void rec_core_end_stretch(struct rec_core *core, uint64_t t, bool ended) {
    struct rec_track *loop = &core->tracks[REC_TRACK_LOOP];
    rec_detect_late(core, t);
    rec_stall_end(core, loop, t, ended);
    loop->running = false;
    core->next_sample_ns = REC_NEVER;
    if (core->tracks[REC_TRACK_PING].running) {
        rec_core_sample_from(core, t);
    }
}

/* The loop is seen in its wait: the first time, that is the end of the launch. */
static void end_launch(struct rec_core *core, uint64_t t) {
    uint64_t age_ms = rec_track_age(&core->tracks[REC_TRACK_LOOP], t) / REC_NS_PER_MS;
    rec_core_end_stretch(core, t, true);
    core->launch = false;
    core->tracks[REC_TRACK_LOOP].next_check_ns = t;
    if (core->prewarmed) {
        core->totals.prewarmed++;
        core->totals.prewarmed_ms += age_ms;
    } else {
        core->totals.launches++;
        core->totals.launches_ms += age_ms;
    }
    rec_core_note(
        core,
        &(struct rec_note){.kind = REC_NOTE_LAUNCH, .value = age_ms, .prewarmed = core->prewarmed});
}

void rec_core_loop_event(struct rec_core *core, enum rec_loop_event event, uint64_t at_ns) {
    if (core->finished) {
        return;
    }
    rec_core_observe(core, at_ns);
    rec_frames_advance(core, at_ns);
    bool was_busy = core->tracks[REC_TRACK_LOOP].running;
    core->edge_ns = at_ns;
    core->asked_ns = REC_NEVER;
    if (core->launch) {
        if (event == REC_LOOP_SLEEP) {
            end_launch(core, at_ns);
        }
        return;
    }
    if (was_busy && event != REC_LOOP_WAKE) {
        rec_core_end_stretch(core, at_ns, true);
    }
    if (event == REC_LOOP_TURN || (event == REC_LOOP_WAKE && !was_busy)) {
        if (core->activity == STALLREC_ACTIVITY_BEFORE_WAITING ||
            core->activity == STALLREC_ACTIVITY_EXIT) {
            core->activity = STALLREC_ACTIVITY_AFTER_WAITING; /* it is over */
        }
        rec_core_begin_stretch(core, at_ns);
        rec_detect_signal(core, at_ns);
    }
}

static bool begins_stretch(uint32_t activity) {
    return activity == STALLREC_ACTIVITY_BEFORE_TIMERS ||
           activity == STALLREC_ACTIVITY_BEFORE_SOURCES ||
           activity == STALLREC_ACTIVITY_AFTER_WAITING;
}

void rec_core_activity(struct rec_core *core, uint32_t activity, uint64_t at_ns) {
    bool told = activity == core->activity && at_ns == core->activity_ns;
    if (core->finished || told || at_ns < core->activity_ns) {
        return;
    }
    core->activity = activity;
    core->activity_ns = at_ns;
    const struct rec_track *loop = &core->tracks[REC_TRACK_LOOP];
    if (!loop->running || core->launch || at_ns < loop->since_ns) {
        return;
    }
    rec_core_observe(core, at_ns);
    rec_frames_advance(core, at_ns);
    rec_detect_signal(core, at_ns);
    if (core->config.restart == STALLREC_RESTART_ACTIVITY && begins_stretch(activity) &&
        at_ns > loop->since_ns) {
        rec_core_end_stretch(core, at_ns, true);
        rec_core_begin_stretch(core, at_ns);
    }
}

void rec_core_launch(struct rec_core *core, enum rec_launch_mark mark, uint64_t at_ns) {
    if (core->finished || !rec_detects(core, STALLREC_DETECT_LAUNCH)) {
        return;
    }
    rec_core_observe(core, at_ns);
    if (mark == REC_LAUNCH_IDLE) {
        if (core->launch) {
            end_launch(core, at_ns);
        }
        return;
    }
    if (mark == REC_LAUNCH_DONE) {
        core->prewarm_waits = false;
        if (core->launch) {
            end_launch(core, at_ns);
        }
        return;
    }
    if (core->launch && core->presumed && mark != REC_LAUNCH_START) {
        rec_core_end_stretch(core, core->tracks[REC_TRACK_LOOP].since_ns, true);
        core->launch = false;
    }
    if (core->launch || (mark == REC_LAUNCH_ACTIVE && !core->prewarm_waits)) {
        return;
    }
    core->prewarm_waits = mark == REC_LAUNCH_PREWARMED;
    if (core->prewarm_waits) {
        return;
    }
    if (core->tracks[REC_TRACK_LOOP].running) {
        rec_core_end_stretch(core, at_ns, true);
    }
    core->launch = true;
    core->presumed = mark == REC_LAUNCH_START;
    core->prewarmed = mark == REC_LAUNCH_ACTIVE;
    rec_core_begin_stretch(core, at_ns);
}

/* ---- samples ---- */

bool rec_core_sampling(const struct rec_core *core) {
    return core->next_sample_ns != REC_NEVER;
}

void rec_core_sample_from(struct rec_core *core, uint64_t t) {
    rec_ring_clear(&core->ring);
    core->next_sample_ns = t + rec_ms(core->config.first_sample_ms);
}

void rec_core_sample(struct rec_core *core, uint64_t now) {
    const struct rec_slot *slot = rec_ring_sample(&core->ring, &core->capture);
    core->totals.samples++;
    core->totals.unavailable += !slot->available;
    core->sampled_ns = now;
    core->asked_ns = REC_NEVER;
    if (rec_core_gone_on(core, now)) {
        rec_ring_drop(&core->ring);
    }
}

/* A launch has no edge yet. */
bool rec_core_moved_on(const struct rec_core *core) {
    const struct rec_capture *capture = &core->capture;
    return core->tracks[REC_TRACK_LOOP].running && !core->launch && capture->still_busy != NULL &&
           !capture->still_busy(capture->ctx, core->edge_ns);
}

/* Asked once in a step, so that one word of a trace answers it. */
bool rec_core_gone_on(struct rec_core *core, uint64_t now) {
    if (core->asked_ns != now) {
        core->asked_ns = now;
        core->gone = rec_core_moved_on(core);
    }
    return core->gone;
}

static void sample_due(struct rec_core *core, uint64_t now) {
    rec_core_sample(core, now);
    /* On the grid of the stretch; ticks that were missed are not made up for. */
    uint64_t interval = rec_ms(core->config.sample_ms);
    uint64_t missed = (now - core->next_sample_ns) / interval;
    core->next_sample_ns += (missed + 1) * interval;
}

void rec_track_cpu(struct rec_core *core, struct rec_track *track, uint64_t now) {
    if (!track->cpu_known && core->capture.cpu != NULL) {
        core->capture.cpu(core->capture.ctx, &track->cpu);
        track->cpu_ns = now;
        track->cpu_known = true;
    }
}

uint64_t rec_core_step(struct rec_core *core, uint64_t now_ns) {
    if (core->finished) {
        return REC_NEVER;
    }
    rec_core_observe(core, now_ns);
    rec_frames_advance(core, now_ns);
    core->stepped_ns = now_ns;
    for (int i = REC_TRACK_LOOP; i <= REC_TRACK_PING; i++) {
        if (core->tracks[i].running) {
            rec_track_cpu(core, &core->tracks[i], now_ns);
        }
    }
    if (rec_core_sampling(core) && now_ns >= core->next_sample_ns) {
        sample_due(core, now_ns);
    }
    rec_detect_due(core, now_ns);
    rec_stall_threads(core, now_ns);
    rec_stall_grow(core, now_ns);
    uint64_t next = rec_min(core->next_sample_ns, rec_detect_next(core));
    core->told_ns = next == REC_NEVER ? REC_NEVER : rec_max(now_ns, next);
    return core->told_ns;
}

bool rec_core_stalled(const struct rec_core *core) {
    return core->tracks[REC_TRACK_LOOP].stall.active;
}

const struct rec_dump *rec_core_open(const struct rec_core *core) {
    for (int i = 0; i < REC_TRACKS; i++) {
        if (core->tracks[i].stall.record != NULL) {
            return &core->tracks[i].stall.record->dump;
        }
    }
    return NULL;
}

uint64_t rec_core_busy_since(const struct rec_core *core) {
    const struct rec_track *loop = &core->tracks[REC_TRACK_LOOP];
    return loop->running ? loop->since_ns : 0;
}

uint64_t rec_core_grace_ns(const struct rec_core *core) {
    const struct stallrec_config *config = &core->config;
    uint64_t grace = rec_min(rec_ms(config->first_sample_ms), rec_ms(config->threshold_ms));
    return rec_detects(core, STALLREC_DETECT_SEMAPHORE) ? rec_min(grace, rec_ms(config->sem_ms))
                                                        : grace;
}

void rec_core_finish(struct rec_core *core, uint64_t now_ns) {
    if (core->finished) {
        return;
    }
    rec_core_observe(core, now_ns);
    rec_frames_advance(core, now_ns);
    for (int i = 0; i < REC_TRACKS; i++) {
        if (core->tracks[i].running) {
            rec_stall_end(core, &core->tracks[i], now_ns, false);
            core->tracks[i].running = false;
        }
    }
    core->finished = true;
    core->told_ns = REC_NEVER;
}

/* ---- closed dumps ---- */

static const struct rec_record *oldest_closed(const struct rec_core *core) {
    const struct rec_record *oldest = NULL;
    for (uint32_t i = 0; i < REC_RECORDS; i++) {
        const struct rec_record *r = &core->records[i];
        if (r->state == REC_RECORD_CLOSED && (oldest == NULL || r->order < oldest->order)) {
            oldest = r;
        }
    }
    return oldest;
}

bool rec_core_full(const struct rec_core *core) {
    for (uint32_t i = 0; i < REC_RECORDS; i++) {
        if (core->records[i].state == REC_RECORD_FREE) {
            return false;
        }
    }
    return true;
}

uint64_t rec_core_write_deadline(const struct rec_core *core) {
    const struct rec_record *oldest = oldest_closed(core);
    if (oldest == NULL) {
        return REC_NEVER;
    }
    return rec_max(oldest->closed_ns + core->config.write_deadline_ms * REC_NS_PER_MS,
                   core->postponed_ns);
}

bool rec_core_write_due(const struct rec_core *core, uint64_t now_ns, int32_t cpu_permille) {
    if (oldest_closed(core) == NULL) {
        return false;
    }
    if (core->finished || rec_core_full(core)) {
        return true;
    }
    bool quiet = !core->tracks[REC_TRACK_LOOP].running && cpu_permille < 400;
    return (quiet && now_ns >= core->postponed_ns) || now_ns >= rec_core_write_deadline(core);
}

const struct rec_dump *rec_core_closed(struct rec_core *core) {
    const struct rec_record *oldest = oldest_closed(core);
    return oldest != NULL ? &oldest->dump : NULL;
}

void rec_core_postpone(struct rec_core *core, const struct rec_dump *dump, uint64_t until_ns) {
    for (uint32_t i = 0; i < REC_RECORDS; i++) {
        if (&core->records[i].dump == dump && core->records[i].state == REC_RECORD_CLOSED) {
            core->records[i].order = core->close_count++;
            core->postponed_ns = until_ns;
        }
    }
}

void rec_core_release(struct rec_core *core, const struct rec_dump *dump) {
    core->postponed_ns = 0;
    for (uint32_t i = 0; i < REC_RECORDS; i++) {
        if (&core->records[i].dump == dump && core->records[i].state == REC_RECORD_CLOSED) {
            core->records[i].state = REC_RECORD_FREE;
            if (core->keeper.drop != NULL) {
                core->keeper.drop(core->keeper.ctx, i);
            }
        }
    }
}

struct rec_totals rec_core_totals(const struct rec_core *core) {
    return core->totals;
}
