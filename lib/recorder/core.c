/* The recorder's core: the loop's state, time and its gaps, sampling, memory. */
#include <string.h>

#include "core_private.h"

/* --- memory
 * --------------------------------------------------------------------------------------- */

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
    for (uint32_t i = 0; i < config->max_threads; i++) {
        /* Only the main thread's functions are compared. */
        carve_stack(c, c->base != NULL ? &dump->threads[i].stack : NULL, config->max_frames,
                    i == 0);
    }
    dump->stacks = carve(c, config->ring, sizeof *dump->stacks);
    for (uint32_t i = 0; i < config->ring; i++) {
        carve_stack(c, c->base != NULL ? &dump->stacks[i].stack : NULL, config->max_frames, false);
    }
    dump->ring = carve(c, config->ring, sizeof *dump->ring);
    dump->images = carve(c, REC_IMAGES_MAX, sizeof *dump->images);
    record->text = carve(c, REC_TEXT_MAX, 1);
}

/* Lays out the core's memory. With base NULL nothing is written but what is thrown away. */
static size_t lay_out(unsigned char *base, const struct stallrec_config *config) {
    struct carve c = {.base = base};
    struct rec_core none = {0};
    struct rec_core *core = carve(&c, 1, sizeof *core);
    if (base == NULL) {
        core = &none;
    }
    core->ring.slots = carve(&c, config->ring, sizeof *core->ring.slots);
    for (uint32_t i = 0; i < config->ring; i++) {
        carve_stack(&c, base != NULL ? &core->ring.slots[i].stack : NULL, config->max_frames, true);
    }
    core->ring.cap = config->ring;
    uint64_t *functions = carve(&c, config->max_frames, sizeof *functions);
    rec_anneal_init(&core->anneal, functions, config->max_frames);
    for (uint32_t i = 0; i < REC_RECORDS; i++) {
        carve_record(&c, &core->records[i], config);
    }
    return c.used;
}

size_t rec_core_size(const struct stallrec_config *config) {
    return lay_out(NULL, config);
}

struct rec_core *rec_core_init(void *memory, const struct stallrec_config *config,
                               const struct rec_capture *capture, uint64_t now_ns) {
    struct rec_core *core = memory;
    memset(memory, 0, rec_core_size(config));
    lay_out(memory, config);
    core->config = *config;
    core->capture = *capture;
    core->told_ns = REC_NEVER;
    core->stepped_ns = now_ns;
    core->next_sample_ns = REC_NEVER;
    core->next_check_ns =
        config->check == STALLREC_CHECK_PERIODIC ? now_ns + config->check_ms * REC_NS_PER_MS : 0;
    return core;
}

/* --- time
 * ----------------------------------------------------------------------------------------- */

uint64_t rec_core_age(const struct rec_core *core, uint64_t t) {
    uint64_t away = core->stretch.since_ns + core->stretch.gap_ns;
    return t > away ? t - away : 0;
}

static uint64_t max_u64(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

static uint64_t min_u64(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* Something is known to have happened at t. If the monitor had promised to be back long before, the
 * process did not run meanwhile (SIGSTOP, a debugger, a suspended app): that time is nobody's
 * stall, and samples from before it say nothing about what follows. */
static void observe(struct rec_core *core, uint64_t t) {
    if (core->told_ns == REC_NEVER || t <= core->told_ns) {
        return;
    }
    uint64_t wait = core->told_ns > core->stepped_ns ? core->told_ns - core->stepped_ns : 0;
    uint64_t limit = max_u64(1000 * REC_NS_PER_MS, 4 * wait);
    uint64_t from = core->told_ns;
    if (core->stretch.busy) {
        from = max_u64(from, core->stretch.since_ns);
    }
    if (t <= from || t - from <= limit) {
        return;
    }
    uint64_t gap = t - from;
    core->totals.gaps++;
    core->totals.gap_ms += gap / REC_NS_PER_MS;
    core->told_ns = t;
    core->stepped_ns = t;
    if (core->stretch.busy) {
        core->stretch.gap_ns += gap;
        rec_ring_clear(&core->ring);
        core->next_sample_ns += gap;
        if (core->config.check == STALLREC_CHECK_STALL) {
            core->next_check_ns += gap;
        }
    }
}

void rec_core_wait_begin(struct rec_core *core, uint64_t now_ns) {
    core->stepped_ns = now_ns;
    if (core->told_ns != REC_NEVER) {
        core->told_ns = max_u64(core->told_ns, now_ns);
    }
}

/* --- the loop
 * ------------------------------------------------------------------------------------- */

static void begin_stretch(struct rec_core *core, uint64_t t) {
    core->stretch = (struct rec_stretch){.busy = true, .since_ns = t};
    rec_ring_clear(&core->ring);
    core->next_sample_ns = t + core->config.first_sample_ms * REC_NS_PER_MS;
    rec_stall_schedule(core, t);
    if (core->told_ns == REC_NEVER) {
        /* A parked monitor is woken by this very event. */
        core->told_ns = t;
        core->stepped_ns = t;
    }
}

static void end_stretch(struct rec_core *core, uint64_t t, bool ended) {
    rec_stall_end(core, t, ended);
    core->stretch = (struct rec_stretch){0};
    core->next_sample_ns = REC_NEVER;
}

void rec_core_loop_event(struct rec_core *core, enum rec_loop_event event, uint64_t at_ns) {
    if (core->finished) {
        return;
    }
    observe(core, at_ns);
    bool was_busy = core->stretch.busy;
    if (was_busy && event != REC_LOOP_WAKE) {
        end_stretch(core, at_ns, true);
    }
    if (event == REC_LOOP_TURN || (event == REC_LOOP_WAKE && !was_busy)) {
        begin_stretch(core, at_ns);
    }
}

void rec_core_activity(struct rec_core *core, uint32_t activity, uint64_t at_ns) {
    (void)at_ns; /* presets that restart the stretch at each activity need it */
    core->activity = activity;
}

static void read_cpu(struct rec_core *core, uint64_t now) {
    struct rec_stretch *stretch = &core->stretch;
    if (!stretch->cpu_known && core->capture.cpu != NULL) {
        core->capture.cpu(core->capture.ctx, &stretch->cpu);
        stretch->cpu_ns = now;
        stretch->cpu_known = true;
    }
}

static void sample(struct rec_core *core, uint64_t now) {
    const struct rec_slot *slot = rec_ring_sample(&core->ring, &core->capture);
    core->totals.samples++;
    core->totals.unavailable += !slot->available;
    /* On the grid of the stretch; ticks that were missed are not made up for. */
    uint64_t interval = core->config.sample_ms * REC_NS_PER_MS;
    uint64_t missed = (now - core->next_sample_ns) / interval;
    core->next_sample_ns += (missed + 1) * interval;
}

uint64_t rec_core_step(struct rec_core *core, uint64_t now_ns) {
    if (core->finished) {
        return REC_NEVER;
    }
    observe(core, now_ns);
    core->stepped_ns = now_ns;
    core->told_ns = REC_NEVER;
    if (!core->stretch.busy) {
        return REC_NEVER;
    }
    read_cpu(core, now_ns);
    if (now_ns >= core->next_sample_ns) {
        sample(core, now_ns);
    }
    if (now_ns >= core->next_check_ns) {
        rec_stall_check(core, now_ns);
    }
    rec_stall_threads(core, now_ns);
    core->told_ns = max_u64(now_ns, min_u64(core->next_sample_ns, core->next_check_ns));
    return core->told_ns;
}

bool rec_core_stalled(const struct rec_core *core) {
    return core->stall.active;
}

const struct rec_dump *rec_core_open(const struct rec_core *core) {
    return core->stall.record != NULL ? &core->stall.record->dump : NULL;
}

uint64_t rec_core_busy_since(const struct rec_core *core) {
    return core->stretch.busy ? core->stretch.since_ns : 0;
}

void rec_core_finish(struct rec_core *core, uint64_t now_ns) {
    if (core->finished) {
        return;
    }
    observe(core, now_ns);
    if (core->stretch.busy) {
        end_stretch(core, now_ns, false);
    }
    core->finished = true;
    core->told_ns = REC_NEVER;
}

/* --- closed dumps
 * --------------------------------------------------------------------------------- */

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

static bool none_free(const struct rec_core *core) {
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
    return oldest->closed_ns + core->config.write_deadline_ms * REC_NS_PER_MS;
}

bool rec_core_write_due(const struct rec_core *core, uint64_t now_ns, int32_t cpu_permille) {
    if (oldest_closed(core) == NULL) {
        return false;
    }
    return core->finished || none_free(core) || now_ns >= rec_core_write_deadline(core) ||
           (!core->stretch.busy && cpu_permille < 400);
}

const struct rec_dump *rec_core_closed(struct rec_core *core) {
    const struct rec_record *oldest = oldest_closed(core);
    return oldest != NULL ? &oldest->dump : NULL;
}

void rec_core_release(struct rec_core *core, const struct rec_dump *dump) {
    for (uint32_t i = 0; i < REC_RECORDS; i++) {
        if (&core->records[i].dump == dump && core->records[i].state == REC_RECORD_CLOSED) {
            core->records[i].state = REC_RECORD_FREE;
        }
    }
}

struct rec_totals rec_core_totals(const struct rec_core *core) {
    return core->totals;
}
