/* The fake platform of a replayed core, and the lines that report the core's actions. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "replay/replay_private.h"

/* ---- telling ---- */

void replay_tell(struct replay *r, const char *format, ...) {
    char text[REPLAY_LINE], what[REPLAY_LINE - 32];
    va_list ap;
    va_start(ap, format);
    vsnprintf(what, sizeof what, format, ap);
    va_end(ap);
    snprintf(text, sizeof text, "%llu %s",
             (unsigned long long)((r->now - REPLAY_ORIGIN) / REPLAY_MS), what);
    r->sink->line(r->sink->ctx, text);
}

static const char *stack_name(const struct replay *r, const struct rec_stack *stack) {
    for (uint32_t i = 0; i < r->stack_names.count; i++) {
        const struct replay_stack *s = &r->stacks[i];
        if (s->count == stack->count &&
            memcmp(s->frames, stack->frames, s->count * sizeof *s->frames) == 0) {
            return r->stack_names.names[i];
        }
    }
    return "?";
}

static const char *heaviest_name(const struct replay *r, const struct rec_dump *dump) {
    return dump->heaviest < 0 ? "none" : stack_name(r, &dump->stacks[dump->heaviest].stack);
}

static void tell_dump(struct replay *r, const struct rec_note *note) {
    const struct rec_dump *dump = note->dump;
    replay_tell(r, "dump %llu.%u %s %s x %u of %u", (unsigned long long)note->stall,
                (unsigned)dump->stall.seq, note->detector, heaviest_name(r, dump),
                (unsigned)dump->heaviest_repeats, (unsigned)dump->ring_count);
}

static void tell_same(struct replay *r, const struct rec_note *note) {
    if (note->dump == NULL) {
        replay_tell(r, "same none");
        return;
    }
    replay_tell(r, "same %llu.%u", (unsigned long long)note->stall,
                (unsigned)note->dump->stall.seq);
}

void replay_note(void *ctx, const struct rec_note *note) {
    struct replay *r = ctx;
    unsigned long long stall = note->stall, value = note->value;
    switch (note->kind) {
    case REC_NOTE_BEGIN:
        replay_tell(r, "begin %llu %s", stall, note->detector);
        break;
    case REC_NOTE_DUMP:
        tell_dump(r, note);
        break;
    case REC_NOTE_SAME:
        tell_same(r, note);
        break;
    case REC_NOTE_VETO:
        replay_tell(r, "veto");
        break;
    case REC_NOTE_LOST:
        replay_tell(r, "lost");
        break;
    case REC_NOTE_END:
        replay_tell(r, "end %llu %llu", stall, value);
        break;
    case REC_NOTE_GAP:
        replay_tell(r, "gap %llu", value);
        break;
    case REC_NOTE_GAP_STALL:
        replay_tell(r, "gap-stall");
        break;
    case REC_NOTE_LOW_RATE:
        replay_tell(r, "low-rate %llu", value);
        break;
    case REC_NOTE_LAUNCH:
        replay_tell(r, "launch %llu%s", value, note->prewarmed ? " prewarmed" : "");
        break;
    }
}

__attribute__((format(printf, 3, 4))) static void add(char text[REPLAY_LINE / 2], size_t *len,
                                                      const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    int n = *len < REPLAY_LINE / 2 ? vsnprintf(text + *len, REPLAY_LINE / 2 - *len, format, ap) : 0;
    va_end(ap);
    *len += n > 0 ? (size_t)n : 0;
}

void replay_tell_write(struct replay *r, const struct rec_dump *dump) {
    const struct rec_stall *s = &dump->stall;
    char more[REPLAY_LINE / 2] = "";
    size_t len = 0;
    if (s->action[0] != '\0') {
        add(more, &len, " action %s", s->action);
    }
    if (s->top_thread_name[0] != '\0') {
        add(more, &len, " top %s", s->top_thread_name);
    }
    if (s->prewarmed) {
        add(more, &len, " prewarmed");
    }
    for (uint32_t i = 0; i < dump->stack_count; i++) {
        add(more, &len, " %s=%u", stack_name(r, &dump->stacks[i].stack),
            (unsigned)dump->stacks[i].count);
    }
    replay_tell(r, "write %llu.%u at %llu span %llu of %llu %s suppressed %llu gap %llu%s",
                (unsigned long long)s->number, (unsigned)s->seq, (unsigned long long)s->at_ms,
                (unsigned long long)s->span_ms, (unsigned long long)s->duration_ms,
                s->ended ? "ended" : "open", (unsigned long long)s->suppressed,
                (unsigned long long)s->gap_ms, more);
}

/* ---- the fake capture ---- */

/* Returns the start of a frame's function; 0 if the function's name begins with '?', as it is then
 * not known. */
static uint64_t function_start(const struct replay *r, uint64_t frame) {
    uint64_t function = frame / REPLAY_FUNCTION_SIZE;
    return r->functions.names[function - 1][0] == '?' ? 0 : function * REPLAY_FUNCTION_SIZE;
}

/* Returns the number + 1 of the stack for the sample that is taken now: the first of r->samples,
 * which is removed, or, if there is none, r->running; 0 = no stack. */
static uint32_t next_sample(struct replay *r) {
    if (r->sample_count == 0) {
        return r->running;
    }
    uint32_t first = r->samples[0];
    r->sample_count--;
    memmove(r->samples, r->samples + 1, r->sample_count * sizeof *r->samples);
    return first;
}

static enum rec_sample fake_sample(void *ctx, bool may_repeat, struct rec_stack *out) {
    struct replay *r = ctx;
    uint32_t number = next_sample(r);
    (void)may_repeat;
    if (number == 0) {
        return REC_SAMPLE_NONE;
    }
    const struct replay_stack *stack = &r->stacks[number - 1];
    out->count = stack->count < out->cap ? stack->count : out->cap;
    out->truncated = out->incomplete = out->count < stack->count;
    out->idle = stack->idle;
    out->rest = stack->rest;
    for (uint32_t i = 0; i < out->count; i++) {
        out->frames[i] = stack->frames[i];
        out->starts[i] = function_start(r, stack->frames[i]);
    }
    return REC_SAMPLE_OK;
}

static bool fake_still_busy(void *ctx, uint64_t since_ns) {
    (void)since_ns;
    return !((const struct replay *)ctx)->gone;
}

static bool fake_image_at(void *ctx, uint64_t address, struct rec_image *out) {
    (void)ctx, (void)address;
    *out = (struct rec_image){.path = "/trace",
                              .load = REPLAY_FUNCTION_SIZE,
                              .size = REPLAY_FUNCTION_SIZE * REPLAY_FUNCTIONS,
                              .in_app = true};
    return true;
}

static int64_t fake_wall(void *ctx) {
    const struct replay *r = ctx;
    return (int64_t)((r->now - REPLAY_ORIGIN) / REPLAY_MS);
}

static void fake_random(void *ctx, uint8_t *out, size_t len) {
    struct replay *r = ctx;
    /* The bytes come from a linear congruential generator, so that each run has the same ids. */
    for (size_t i = 0; i < len; i++) {
        r->random = r->random * 1664525 + 1013904223;
        out[i] = (uint8_t)(r->random >> 24);
    }
}

uint64_t replay_cpu(struct replay *r) {
    r->cpu_ns += (r->now - r->cpu_at) / 1000 * r->cpu_permille;
    r->cpu_at = r->now;
    return r->cpu_ns;
}

static void fake_cpu(void *ctx, struct rec_cpu *out) {
    *out = (struct rec_cpu){
        .process_ns = replay_cpu(ctx), .main_ns = UINT64_MAX, .monitor_ns = UINT64_MAX};
}

static bool fake_top_thread(void *ctx, struct rec_thread *out) {
    const struct replay *r = ctx;
    out->id = 1;
    memcpy(out->name, r->top_thread, sizeof out->name);
    return r->top_thread[0] != '\0';
}

static bool fake_post(void *ctx, uint64_t number) {
    struct replay *r = ctx;
    if (!r->refuses) {
        r->ping = number;
    }
    return !r->refuses;
}

struct rec_capture replay_capture(struct replay *r) {
    return (struct rec_capture){.ctx = r,
                                .sample = fake_sample,
                                .still_busy = fake_still_busy,
                                .image_at = fake_image_at,
                                .cpu = fake_cpu,
                                .post = fake_post,
                                .top_thread = fake_top_thread,
                                .wall_ms = fake_wall,
                                .random = fake_random};
}
