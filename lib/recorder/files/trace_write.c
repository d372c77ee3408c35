/* Writes events as a trace. Text is composed in a buffer of the trace, without allocating, because
 * this runs between the samples of a program that may be in the middle of malloc. */
#include "files/trace_write.h"

#include <string.h>

#include "files/dump_json.h"
#include "core/presets.h"
#include "support/rec_text.h"

/* ---- text ---- */

enum {
    WORD_MAX = 3 * REC_NAME_MAX + 1, /* bytes of a name with each byte as %XX, and a NUL */
    LINE_MAX = REC_TRACE_LINE,
    FRAME_MAX =
        48 /* bytes that suffice for a frame in a stack's line: " f", 16 digits, "+", 10 digits */
};

/* Ends the trace with a line that holds the reason. Does nothing if the trace was ended before. */
static void end_trace(struct rec_trace *trace, const char *why) {
    if (!trace->ended) {
        trace->ended = true;
        char *at = trace->text + trace->len;
        at = rec_put_text(at, "# the trace ends here: ");
        at = rec_put_text(at, why);
        at = rec_put_text(at, "\n");
        trace->len = (size_t)(at - trace->text);
    }
}

/* Returns the position for a line of at most `size` bytes. If the buffer or the trace has no room
 * for the line and for the trace's last line, the trace ends; LINE_MAX bytes may be written at the
 * position even then, and end_line drops them. */
static char *begin_line(struct rec_trace *trace, size_t size) {
    if (size + LINE_MAX > REC_TRACE_BUFFER - trace->len) {
        end_trace(trace, "too much at once");
    } else if (trace->bytes + trace->len + size + LINE_MAX > trace->bytes_max) {
        end_trace(trace, "it is as large as it may be");
    }
    return trace->text + trace->len;
}

static void end_line(struct rec_trace *trace, char *at) {
    if (!trace->ended) {
        *at++ = '\n';
        trace->len = (size_t)(at - trace->text);
    }
}

static char *put_hex(char *at, uint64_t value) {
    int shift = 60;
    while (shift > 0 && value >> shift == 0) {
        shift -= 4;
    }
    for (; shift >= 0; shift -= 4) {
        *at++ = "0123456789abcdef"[value >> shift & 15];
    }
    *at = '\0';
    return at;
}

/* Writes ns as ms, with as many decimal places as are needed. Returns the end of the text. */
static char *put_ms(char *at, uint64_t ns) {
    uint64_t rest = ns % 1000000;
    at = rec_put_number(at, ns / 1000000);
    if (rest > 0) {
        *at++ = '.';
        for (uint64_t unit = 100000; rest > 0; unit /= 10) {
            *at++ = (char)('0' + rest / unit);
            rest %= unit;
        }
        *at = '\0';
    }
    return at;
}

/* Writes a name as one word, in the form that replay.h describes. Returns the end of the text. */
static char *put_word(char *at, const char *name) {
    if (name[0] == '\0') {
        *at++ = '%';
    }
    for (size_t i = 0; i < REC_NAME_MAX && name[i] != '\0'; i++) {
        unsigned char c = (unsigned char)name[i];
        if (c > ' ' && c < 0x7f && c != '%' && c != '#') {
            *at++ = (char)c;
        } else {
            *at++ = '%';
            *at++ = "0123456789abcdef"[c >> 4];
            *at++ = "0123456789abcdef"[c & 15];
        }
    }
    *at = '\0';
    return at;
}

/* Begins a line with "at TIME " and the text `what`. Returns the end of the text. */
static char *begin_at(struct rec_trace *trace, uint64_t at_ns, const char *what) {
    char *at = rec_put_text(begin_line(trace, LINE_MAX), "at ");
    at = put_ms(at, at_ns > trace->origin_ns ? at_ns - trace->origin_ns : 0);
    return rec_put_text(rec_put_text(at, " "), what);
}

static void add_at(struct rec_trace *trace, uint64_t at_ns, const char *what) {
    end_line(trace, begin_at(trace, at_ns, what));
}

static void add_at_word(struct rec_trace *trace, uint64_t at_ns, const char *what,
                        const char *word) {
    char *at = begin_at(trace, at_ns, what);
    end_line(trace, rec_put_text(rec_put_text(at, " "), word));
}

/* ---- the config ---- */

static char *put_detectors(char *at, uint32_t bits) {
    const struct rec_detector_info *info;
    const char *between = "";
    for (size_t i = 0; (info = rec_detector_at(i)) != NULL; i++) {
        if ((bits & info->bit) != 0) {
            at = rec_put_text(rec_put_text(at, between), info->name);
            between = ",";
        }
    }
    return at;
}

static void add_config(struct rec_trace *trace, const struct stallrec_config *config) {
    struct rec_config_field field;
    for (size_t i = 0; rec_config_field(i, &field); i++) {
        uint32_t value;
        char *at = begin_line(trace, LINE_MAX);
        memcpy(&value, (const char *)config + field.offset, sizeof value);
        at = rec_put_text(at, "set ");
        at = rec_put_text(at, field.name);
        at = rec_put_text(at, " ");
        if (field.offset == offsetof(struct stallrec_config, detectors)) {
            at = put_detectors(at, value);
        } else if (field.words != NULL) {
            at = rec_put_text(at, field.words[value]);
        } else {
            at = rec_put_number(at, value);
        }
        end_line(trace, at);
    }
}

/* ---- stacks ---- */

static uint64_t trace_mix(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) *
           UINT64_C(0xff51afd7ed558ccd); /* with a multiplier of MurmurHash3's finaliser */
    return hash ^ hash >> 33;
}

static uint64_t hash_stack(const struct rec_stack *stack) {
    uint64_t hash = trace_mix((uint64_t)stack->rest << 1 | stack->idle, stack->count);
    for (uint32_t i = 0; i < stack->count; i++) {
        hash = trace_mix(hash, stack->frames[i]);
        hash = trace_mix(hash, stack->starts != NULL ? stack->starts[i] : 0);
    }
    return hash != 0 ? hash : 1;
}

/* Writes a frame as its function's start and an offset, or, if the start is not known, as its own
 * address. Returns the end of the text. */
static char *put_frame(char *at, uint64_t frame, uint64_t start) {
    bool known = start != 0 && frame >= start && frame - start <= UINT32_MAX;
    at = rec_put_text(at, known ? " f" : " ?");
    at = put_hex(at, known ? start : frame);
    if (known) {
        at = rec_put_text(at, "+");
        at = rec_put_number(at, frame - start);
    }
    return at;
}

static void add_stack(struct rec_trace *trace, const struct rec_stack *stack, uint32_t number) {
    char *at = begin_line(trace, LINE_MAX + (size_t)stack->count * FRAME_MAX);
    if (trace->ended) {
        return;
    }
    at = rec_put_text(at, stack->idle ? "idle" : rec_rest_names[stack->rest]);
    at = rec_put_text(at, " s");
    at = rec_put_number(at, number);
    for (uint32_t i = 0; i < stack->count; i++) {
        at = put_frame(at, stack->frames[i], stack->starts != NULL ? stack->starts[i] : 0);
    }
    end_line(trace, at);
}

/* Returns the number under which the trace describes the stack, and describes the stack if the
 * trace does not yet. When three quarters of the table are used it is emptied: stacks are then
 * described again, with new numbers. */
static uint32_t name_stack(struct rec_trace *trace, const struct rec_stack *stack) {
    uint64_t hash = hash_stack(stack);
    if (trace->stack_count >= REC_TRACE_STACKS / 4 * 3) {
        memset(trace->stacks, 0, sizeof trace->stacks);
        trace->stack_count = 0;
    }
    uint32_t i = (uint32_t)hash & (REC_TRACE_STACKS - 1);
    while (trace->stacks[i].hash != 0 && trace->stacks[i].hash != hash) {
        i = (i + 1) & (REC_TRACE_STACKS - 1);
    }
    if (trace->stacks[i].hash == 0) {
        trace->stacks[i] = (struct rec_trace_stack){hash, ++trace->numbers};
        trace->stack_count++;
        add_stack(trace, stack, trace->numbers);
    }
    return trace->stacks[i].number;
}

/* ---- the capture ---- */

static enum rec_sample traced_sample(void *ctx, bool may_repeat, struct rec_stack *out) {
    struct rec_trace *trace = ctx;
    enum rec_sample got = trace->capture.sample(trace->capture.ctx, may_repeat, out);
    if (got == REC_SAMPLE_SAME && may_repeat) {
        /* REC_SAMPLE_SAME stands for the stack of the last sample. */
        uint32_t last =
            trace->asked_count > 0 ? trace->asked[trace->asked_count - 1] : trace->running;
        if (trace->asked_count > 0 && trace->asked_count < REC_TRACE_ASKED) {
            trace->asked[trace->asked_count++] = last;
        }
        return got;
    }
    if (trace->asked_count < REC_TRACE_ASKED) {
        trace->asked[trace->asked_count++] =
            got == REC_SAMPLE_OK && out->count > 0 ? name_stack(trace, out) : 0;
    }
    return got;
}

static bool traced_still_busy(void *ctx, uint64_t since_ns) {
    struct rec_trace *trace = ctx;
    bool busy = trace->capture.still_busy(trace->capture.ctx, since_ns);
    if (!trace->busy_asked) { /* detections use the first answer only */
        trace->busy_asked = true;
        trace->gone = !busy;
    }
    return busy;
}

static bool traced_image_at(void *ctx, uint64_t address, struct rec_image *out) {
    const struct rec_trace *trace = ctx;
    return trace->capture.image_at(trace->capture.ctx, address, out);
}

static uint32_t traced_transitions(void *ctx, struct rec_transition out[REC_TRANSITIONS]) {
    const struct rec_trace *trace = ctx;
    return trace->capture.transitions(trace->capture.ctx, out);
}

static const char *traced_mode(void *ctx) {
    const struct rec_trace *trace = ctx;
    return trace->capture.mode(trace->capture.ctx);
}

static void traced_name_code(void *ctx, struct rec_code_name *names, uint32_t count) {
    const struct rec_trace *trace = ctx;
    trace->capture.name_code(trace->capture.ctx, names, count);
}

static const char *traced_lack(void *ctx) {
    const struct rec_trace *trace = ctx;
    return trace->capture.lack(trace->capture.ctx);
}

static bool traced_main_thread(void *ctx, struct rec_thread *out) {
    const struct rec_trace *trace = ctx;
    return trace->capture.main_thread(trace->capture.ctx, out);
}

static uint32_t traced_threads(void *ctx, struct rec_thread *out, uint32_t max,
                               uint32_t *left_out) {
    const struct rec_trace *trace = ctx;
    return trace->capture.threads(trace->capture.ctx, out, max, left_out);
}

static void traced_cpu(void *ctx, struct rec_cpu *out) {
    struct rec_trace *trace = ctx;
    trace->capture.cpu(trace->capture.ctx, out);
    if (out->process_ns != UINT64_MAX) {
        trace->cpu_read = true;
        trace->cpu_ns = out->process_ns;
    }
}

static bool traced_post(void *ctx, uint64_t number) {
    struct rec_trace *trace = ctx;
    bool posted = trace->capture.post(trace->capture.ctx, number);
    trace->refused = !posted;
    return posted;
}

static bool traced_top_thread(void *ctx, struct rec_thread *out) {
    struct rec_trace *trace = ctx;
    bool known = trace->capture.top_thread(trace->capture.ctx, out);
    trace->top_read = true;
    memset(trace->top, 0, sizeof trace->top);
    if (known) {
        memcpy(trace->top, out->name, sizeof trace->top - 1);
    }
    return known;
}

static int64_t traced_wall_ms(void *ctx) {
    const struct rec_trace *trace = ctx;
    return trace->capture.wall_ms(trace->capture.ctx);
}

static void traced_random(void *ctx, uint8_t *out, size_t len) {
    const struct rec_trace *trace = ctx;
    trace->capture.random(trace->capture.ctx, out, len);
}

struct rec_capture rec_trace_capture(struct rec_trace *trace) {
    const struct rec_capture *real = &trace->capture;
    return (struct rec_capture){
        .ctx = trace,
        .sample = traced_sample,
        .still_busy = real->still_busy != NULL ? traced_still_busy : NULL,
        .image_at = traced_image_at,
        .transitions = real->transitions != NULL ? traced_transitions : NULL,
        .mode = real->mode != NULL ? traced_mode : NULL,
        .lack = real->lack != NULL ? traced_lack : NULL,
        .name_code = real->name_code != NULL ? traced_name_code : NULL,
        .main_thread = real->main_thread != NULL ? traced_main_thread : NULL,
        .threads = real->threads != NULL ? traced_threads : NULL,
        .cpu = real->cpu != NULL ? traced_cpu : NULL,
        .post = real->post != NULL ? traced_post : NULL,
        .top_thread = real->top_thread != NULL ? traced_top_thread : NULL,
        .wall_ms = traced_wall_ms,
        .random = traced_random,
        .context = real->context};
}

/* ---- events ---- */

static void add_sample(struct rec_trace *trace, uint64_t at_ns, const char *what, uint32_t number) {
    char *at = begin_at(trace, at_ns, what);
    if (number == 0) {
        at = rec_put_text(at, " none");
    } else {
        at = rec_put_number(rec_put_text(at, " s"), number);
    }
    end_line(trace, at);
}

/* Writes the answers that the core got during the event, in front of the event. All samples but
 * the last are each used once in a replay. */
static void add_answers(struct rec_trace *trace, uint64_t at_ns) {
    for (uint32_t i = 0; i + 1 < trace->asked_count; i++) {
        add_sample(trace, at_ns, "sample", trace->asked[i]);
    }
    if (trace->asked_count > 0 && trace->asked[trace->asked_count - 1] != trace->running) {
        trace->running = trace->asked[trace->asked_count - 1];
        add_sample(trace, at_ns, "run", trace->running);
    }
    if (trace->cpu_read) {
        char *at = begin_at(trace, at_ns, "used ");
        at = rec_put_number(at, trace->cpu_ns);
        if (trace->top[0] != '\0') {
            at = put_word(rec_put_text(at, " "), trace->top);
        }
        end_line(trace, at);
    }
    if (trace->gone) {
        add_at(trace, at_ns, "gone");
    }
    if (trace->refused != trace->refuses) {
        trace->refuses = trace->refused;
        add_at_word(trace, at_ns, "answer", trace->refuses ? "refuse" : "never");
    }
    trace->asked_count = 0;
    trace->cpu_read = trace->gone = trace->busy_asked = false;
}

/* Writes an event whose line in the trace is its time and one word. */
static void add_plain(struct rec_trace *trace, const struct rec_event *event) {
    static const char *const words[] = {[REC_EVENT_TICK] = "tick",
                                        [REC_EVENT_STEP] = "step",
                                        [REC_EVENT_WAIT] = "wait",
                                        [REC_EVENT_FINISH] = "stop"};
    add_at(trace, event->at_ns, words[event->kind]);
}

static void add_edge(struct rec_trace *trace, const struct rec_event *event) {
    static const char *const edges[] = {
        [REC_LOOP_WAKE] = "wake", [REC_LOOP_SLEEP] = "sleep", [REC_LOOP_TURN] = "turn"};
    add_at(trace, event->at_ns, edges[event->value]);
}

static void add_activity(struct rec_trace *trace, const struct rec_event *event) {
    if (event->value > STALLREC_ACTIVITY_NONE && event->value <= STALLREC_ACTIVITY_EXIT) {
        add_at_word(trace, event->at_ns, "activity", rec_activity_names[event->value]);
    }
}

static void add_launch(struct rec_trace *trace, const struct rec_event *event) {
    static const char *const marks[] = {
        [REC_LAUNCH_BEGIN] = "begin ",   [REC_LAUNCH_PREWARMED] = "prewarmed ",
        [REC_LAUNCH_ACTIVE] = "active ", [REC_LAUNCH_DONE] = "done ",
        [REC_LAUNCH_START] = "start ",   [REC_LAUNCH_IDLE] = "idle "};
    char *at = begin_at(trace, event->at_ns, "launch ");
    at = rec_put_text(at, marks[event->value]);
    end_line(trace, put_ms(at, event->at_ns - event->mark_ns));
}

static void add_span_begin(struct rec_trace *trace, const struct rec_event *event) {
    char *at = begin_at(trace, event->at_ns, "span-begin ");
    at = put_word(at, event->name);
    at = rec_put_number(rec_put_text(at, " "), event->limit_ms);
    end_line(trace, rec_put_number(rec_put_text(at, " "), event->value));
}

static void add_span_end(struct rec_trace *trace, const struct rec_event *event) {
    char *at = begin_at(trace, event->at_ns, "span-end % ");
    end_line(trace, rec_put_number(at, event->value));
}

static void add_busy(struct rec_trace *trace, const struct rec_event *event) {
    char *at = begin_at(trace, event->at_ns, "busy ");
    at = rec_put_text(put_ms(at, event->value), " ");
    end_line(trace, put_ms(at, event->mark_ns - event->at_ns));
}

static void add_ping_done(struct rec_trace *trace, const struct rec_event *event) {
    char *at = begin_at(trace, event->at_ns, "answer once ");
    end_line(trace, rec_put_number(at, event->value));
}

static char *put_ago(char *at, const struct rec_event *event, uint64_t then_ns) {
    return put_ms(at, event->at_ns > then_ns ? event->at_ns - then_ns : 0);
}

static void add_doubt(struct rec_trace *trace, const struct rec_event *event) {
    char *at = begin_at(trace, event->at_ns, "doubt ");
    end_line(trace, put_ago(at, event, event->mark_ns));
}

static void add_attribution(struct rec_trace *trace, const struct rec_event *event) {
    char *at = begin_at(trace, event->at_ns, "attribute ");
    at = rec_put_text(rec_put_text(at, rec_past_names[event->value]), " ");
    end_line(trace, put_ago(at, event, event->mark_ns));
}

static void add_past_time(struct rec_trace *trace, const struct rec_event *event) {
    bool idle = event->kind == REC_EVENT_PAST_IDLE;
    char *at = begin_at(trace, event->at_ns, idle ? "past-idle " : "past-unknown ");
    at = rec_put_text(put_ago(at, event, event->value), " ");
    end_line(trace, put_ago(at, event, event->mark_ns));
}

static void add_attributed(struct rec_trace *trace, const struct rec_event *event) {
    char *at = begin_at(trace, event->at_ns, "attributed ");
    uint64_t hold = event->mark_ns > event->at_ns ? event->mark_ns - event->at_ns : 0;
    end_line(trace, put_ms(at, hold));
}

void rec_trace_event(struct rec_trace *trace, const struct rec_event *event) {
    static void (*const adders[])(struct rec_trace *, const struct rec_event *) = {
        [REC_EVENT_EDGE] = add_edge,
        [REC_EVENT_BUSY] = add_busy,
        [REC_EVENT_ACTIVITY] = add_activity,
        [REC_EVENT_TICK] = add_plain,
        [REC_EVENT_PING_DONE] = add_ping_done,
        [REC_EVENT_LAUNCH] = add_launch,
        [REC_EVENT_SPAN_BEGIN] = add_span_begin,
        [REC_EVENT_SPAN_END] = add_span_end,
        [REC_EVENT_DOUBT] = add_doubt,
        [REC_EVENT_ATTRIBUTE] = add_attribution,
        [REC_EVENT_PAST_IDLE] = add_past_time,
        [REC_EVENT_PAST_UNKNOWN] = add_past_time,
        [REC_EVENT_ATTRIBUTED] = add_attributed,
        [REC_EVENT_STEP] = add_plain,
        [REC_EVENT_WAIT] = add_plain,
        [REC_EVENT_FINISH] = add_plain};
    add_answers(trace, event->at_ns);
    adders[event->kind](trace, event);
}

void rec_trace_wrote(struct rec_trace *trace, uint64_t at_ns) {
    add_at(trace, at_ns, "write");
}

/* ---- begin and output ---- */

void rec_trace_begin(struct rec_trace *trace, const struct stallrec_config *config,
                     const struct rec_capture *capture, struct rec_out *out, uint64_t now_ns) {
    memset(trace, 0, sizeof *trace);
    trace->out = out;
    trace->capture = *capture;
    trace->origin_ns = now_ns;
    trace->bytes_max = config->trace_bytes > 0 ? config->trace_bytes : REC_TRACE_BYTES;
    add_config(trace, config);
    char *at = begin_line(trace, LINE_MAX);
    end_line(trace, rec_put_text(at, "set steps told"));
}

void rec_trace_started(struct rec_trace *trace) {
    if (trace->cpu_read) {
        char *at = begin_line(trace, LINE_MAX);
        end_line(trace, rec_put_number(rec_put_text(at, "set used "), trace->cpu_ns));
    }
    trace->cpu_read = false;
    add_at_word(trace, trace->origin_ns, "answer", "never");
}

size_t rec_trace_waiting(const struct rec_trace *trace) {
    return trace->len;
}

void rec_trace_flush(struct rec_trace *trace) {
    rec_out_write(trace->out, trace->text, trace->len);
    trace->bytes += trace->len;
    trace->len = 0;
    trace->ended = trace->ended || trace->out->failed;
}
