/* Steps a core over a written trace of events. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "presets.h"
#include "replay_private.h"

/* Ten years: far from overflow in ns. */
#define TIME_MAX (UINT64_C(315360000000))

__attribute__((format(printf, 2, 3))) static bool fail(struct replay *r, const char *format, ...) {
    char text[256];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    snprintf(r->message, r->message_size, "line %u: %s", r->line, text);
    return false;
}

/* ---- words ---- */

struct words {
    char *at;
};

/* The next word of the line, NUL-terminated in place; NULL at its end. */
static char *next_word(struct words *w) {
    while (*w->at == ' ' || *w->at == '\t' || *w->at == '\r') {
        w->at++;
    }
    if (*w->at == '\0') {
        return NULL;
    }
    char *word = w->at;
    while (*w->at != '\0' && *w->at != ' ' && *w->at != '\t' && *w->at != '\r') {
        w->at++;
    }
    if (*w->at != '\0') {
        *w->at++ = '\0';
    }
    return word;
}

static bool parse_number(const char *text, uint64_t max, uint64_t *out) {
    uint64_t value = 0;
    if (text == NULL || *text == '\0') {
        return false;
    }
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9' || value > max / 10) {
            return false;
        }
        value = value * 10 + (uint64_t)(*text - '0');
        if (value > max) {
            return false;
        }
    }
    *out = value;
    return true;
}

static bool find_word(const char *word, const char *const *words, size_t count, uint32_t *index) {
    for (size_t i = 0; word != NULL && i < count; i++) {
        if (words[i] != NULL && strcmp(words[i], word) == 0) {
            *index = (uint32_t)i;
            return true;
        }
    }
    return false;
}

/* ---- lines before the first event ---- */

static bool set_detectors(struct replay *r, char *list) {
    uint32_t bits = 0;
    while (list != NULL) {
        char *comma = strchr(list, ',');
        if (comma != NULL) {
            *comma++ = '\0';
        }
        const struct rec_detector_info *info;
        size_t i = 0;
        while ((info = rec_detector_at(i)) != NULL && strcmp(info->name, list) != 0) {
            i++;
        }
        if (info == NULL) {
            return fail(r, "unknown value '%s'", list);
        }
        bits |= info->bit;
        list = comma;
    }
    r->config.detectors = bits;
    return true;
}

/* Fields whose values are words. False: it is none of them. */
static bool set_word(struct replay *r, const char *name, char *value, bool *ok) {
    static const char *const backoffs[] = {"dumps", "checks", "none"};
    static const char *const checks[] = {"stall", "periodic"}, *const restarts[] = {"idle",
                                                                                    "activity"};
    const struct {
        const char *name;
        uint32_t *value;
        const char *const *words;
        size_t count;
    } fields[] = {{"backoff", &r->config.backoff, backoffs, 3},
                  {"check", &r->config.check, checks, 2},
                  {"restart", &r->config.restart, restarts, 2}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        if (strcmp(fields[i].name, name) == 0) {
            *ok = find_word(value, fields[i].words, fields[i].count, fields[i].value) ||
                  fail(r, "unknown value '%s'", value);
            return true;
        }
    }
    if (strcmp(name, "detectors") == 0) {
        *ok = set_detectors(r, value);
        return true;
    }
    if (strcmp(name, "preset") == 0) {
        *ok = stallrec_config_preset(&r->config, value) == STALLREC_OK ||
              fail(r, "unknown value '%s'", value);
        return true;
    }
    return false;
}

static uint32_t *number_field(struct stallrec_config *c, const char *name) {
    const struct {
        const char *name;
        uint32_t *value;
    } fields[] = {{"threshold_ms", &c->threshold_ms},
                  {"check_ms", &c->check_ms},
                  {"sample_ms", &c->sample_ms},
                  {"first_sample_ms", &c->first_sample_ms},
                  {"ring", &c->ring},
                  {"max_frames", &c->max_frames},
                  {"backoff_cap", &c->backoff_cap},
                  {"write_deadline_ms", &c->write_deadline_ms},
                  {"sem_ms", &c->sem_ms},
                  {"sem_count", &c->sem_count},
                  {"ping_ms", &c->ping_ms},
                  {"ping_every_ms", &c->ping_every_ms},
                  {"frame_hz", &c->frame_hz},
                  {"frame_percent", &c->frame_percent},
                  {"cpu_limit_permille", &c->cpu_limit_permille},
                  {"launch_ms", &c->launch_ms},
                  {"span_ms", &c->span_ms},
                  {"severe_ms", &c->severe_ms}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        if (strcmp(fields[i].name, name) == 0) {
            return fields[i].value;
        }
    }
    return NULL;
}

static bool do_set(struct replay *r, struct words *w) {
    const char *name = next_word(w);
    char *value = next_word(w);
    uint64_t number;
    bool ok = false;
    if (r->core != NULL) {
        return fail(r, "set after the first event");
    }
    if (name == NULL || value == NULL) {
        return fail(r, "set needs a field and a value");
    }
    if (set_word(r, name, value, &ok)) {
        return ok;
    }
    uint32_t *field = number_field(&r->config, name);
    if (field == NULL) {
        return fail(r, "unknown field '%s'", name);
    }
    if (!parse_number(value, UINT32_MAX, &number)) {
        return fail(r, "not a number: '%s'", value);
    }
    *field = (uint32_t)number;
    return true;
}

/* The address of FUNCTION or FUNCTION+OFFSET; 0 if it cannot be had. */
static uint64_t function_address(struct replay *r, char *word) {
    uint64_t offset = 1;
    char *plus = strchr(word, '+');
    if (plus != NULL) {
        *plus = '\0';
        if (!parse_number(plus + 1, REPLAY_FUNCTION_SIZE - 1, &offset)) {
            return 0;
        }
    }
    size_t len = strlen(word);
    if (len == 0 || len >= REPLAY_NAME) {
        return 0;
    }
    uint32_t i = 0;
    while (i < r->function_count && strcmp(r->functions[i], word) != 0) {
        i++;
    }
    if (i == REPLAY_FUNCTIONS) {
        return 0;
    }
    if (i == r->function_count) {
        memcpy(r->functions[r->function_count++], word, len + 1);
    }
    return (uint64_t)(i + 1) * REPLAY_FUNCTION_SIZE + offset;
}

static bool do_stack(struct replay *r, struct words *w, bool idle) {
    const char *name = next_word(w);
    if (name == NULL || strlen(name) >= REPLAY_NAME || strcmp(name, "none") == 0) {
        return fail(r, "a stack needs a name");
    }
    if (r->stack_count == REPLAY_STACKS) {
        return fail(r, "more than %d stacks", REPLAY_STACKS);
    }
    struct replay_stack *stack = &r->stacks[r->stack_count];
    *stack = (struct replay_stack){.idle = idle};
    memcpy(stack->name, name, strlen(name) + 1);
    for (char *word; (word = next_word(w)) != NULL;) {
        uint64_t address = stack->count < REPLAY_DEPTH ? function_address(r, word) : 0;
        if (address == 0) {
            return fail(r, "not a function, or too many: '%s'", word);
        }
        stack->frames[stack->count++] = address;
    }
    if (stack->count == 0) {
        return fail(r, "a stack needs functions");
    }
    r->stack_count++;
    return true;
}

/* ---- stepping ---- */

static void write_closed(struct replay *r) {
    const struct rec_dump *dump;
    while (rec_core_write_due(r->core, r->now, (int32_t)r->cpu_permille) &&
           (dump = rec_core_closed(r->core)) != NULL) {
        replay_tell_write(r, dump);
        if (r->sink->dump != NULL) {
            r->sink->dump(r->sink->ctx, dump);
        }
        rec_core_release(r->core, dump);
    }
}

static bool step(struct replay *r) {
    if (++r->steps > r->sink->steps_max && r->sink->steps_max != 0) {
        return fail(r, "the trace is too long");
    }
    r->next = rec_core_step(r->core, r->now);
    if (r->ping != 0 && r->answers) {
        rec_core_ping_done(r->core, r->ping, r->now);
        r->ping = 0;
        r->next = rec_core_step(r->core, r->now);
    }
    write_closed(r);
    uint64_t deadline = rec_core_write_deadline(r->core);
    if (deadline < r->next) {
        r->next = deadline;
    }
    return true;
}

static bool start(struct replay *r) {
    struct rec_capture capture = replay_capture(r);
    if (rec_config_read(&r->config, &r->config) != STALLREC_OK) {
        return fail(r, "a setting is out of its range");
    }
    void *memory = malloc(rec_core_size(&r->config));
    if (memory == NULL) {
        return fail(r, "out of memory");
    }
    r->core = rec_core_init(memory, &r->config, &capture, 0);
    rec_core_watch(r->core, replay_note, r);
    return step(r);
}

/* Everything that is due before t: an event at t comes before a step at t. */
static bool run_until(struct replay *r, uint64_t t) {
    for (;;) {
        uint64_t due = r->next;
        if (due != REC_NEVER && due < r->frozen_until) {
            due = r->frozen_until;
        }
        if (due >= t) {
            break;
        }
        r->now = due > r->now ? due : r->now;
        if (!step(r)) {
            return false;
        }
    }
    r->now = t;
    return true;
}

/* ---- events ---- */

typedef bool (*event_fn)(struct replay *r, struct words *w);

static bool on_edge(struct replay *r, enum rec_loop_event event) {
    rec_core_loop_event(r->core, event, r->now);
    return step(r);
}

static bool on_wake(struct replay *r, struct words *w) {
    (void)w;
    return on_edge(r, REC_LOOP_WAKE);
}

static bool on_sleep(struct replay *r, struct words *w) {
    (void)w;
    return on_edge(r, REC_LOOP_SLEEP);
}

static bool on_turn(struct replay *r, struct words *w) {
    (void)w;
    return on_edge(r, REC_LOOP_TURN);
}

static bool on_run(struct replay *r, struct words *w) {
    const char *name = next_word(w);
    r->running = NULL;
    for (uint32_t i = 0; name != NULL && i < r->stack_count; i++) {
        if (strcmp(r->stacks[i].name, name) == 0) {
            r->running = &r->stacks[i];
        }
    }
    return r->running != NULL || (name != NULL && strcmp(name, "none") == 0) ||
           fail(r, "no such stack");
}

/* What an observer of the loop sees: the notification and the edge that it stands for. */
static bool on_activity(struct replay *r, struct words *w) {
    static const char *const activities[] = {[STALLREC_ACTIVITY_ENTRY] = "entry",
                                             [STALLREC_ACTIVITY_BEFORE_TIMERS] = "before-timers",
                                             [STALLREC_ACTIVITY_BEFORE_SOURCES] = "before-sources",
                                             [STALLREC_ACTIVITY_BEFORE_WAITING] = "before-waiting",
                                             [STALLREC_ACTIVITY_AFTER_WAITING] = "after-waiting",
                                             [STALLREC_ACTIVITY_EXIT] = "exit"};
    uint32_t index;
    if (!find_word(next_word(w), activities, sizeof activities / sizeof *activities, &index)) {
        return fail(r, "no such activity");
    }
    if (index == STALLREC_ACTIVITY_BEFORE_WAITING || index == STALLREC_ACTIVITY_EXIT) {
        rec_core_loop_event(r->core, REC_LOOP_SLEEP, r->now);
    } else if (index != STALLREC_ACTIVITY_ENTRY) {
        rec_core_loop_event(r->core, REC_LOOP_WAKE, r->now);
    }
    rec_core_activity(r->core, index, r->now);
    return step(r);
}

static bool on_suspend(struct replay *r, struct words *w) {
    uint64_t length;
    if (!parse_number(next_word(w), TIME_MAX, &length)) {
        return fail(r, "suspend needs a number of ms");
    }
    r->frozen_until = r->now + length * REPLAY_MS;
    return true;
}

static bool on_answer(struct replay *r, struct words *w) {
    static const char *const words[] = {"once", "always", "never"};
    uint32_t index;
    if (!find_word(next_word(w), words, 3, &index)) {
        return fail(r, "answer once, always or never");
    }
    r->answers = index == 1;
    if (r->ping != 0 && index != 2) {
        rec_core_ping_done(r->core, r->ping, r->now);
        r->ping = 0;
    }
    return step(r);
}

static bool on_tick(struct replay *r, struct words *w) {
    (void)w;
    rec_core_tick(r->core, r->now);
    return step(r);
}

/* cpu PERMILLE [THREAD]: from now on the process uses that much. */
static bool on_cpu(struct replay *r, struct words *w) {
    const char *number = next_word(w), *thread = next_word(w);
    uint64_t permille;
    if (!parse_number(number, 1000000, &permille)) {
        return fail(r, "cpu needs thousandths of a processor");
    }
    replay_cpu(r);
    r->cpu_permille = (uint32_t)permille;
    memset(r->top_thread, 0, sizeof r->top_thread);
    if (thread != NULL) {
        size_t len = strlen(thread);
        memcpy(r->top_thread, thread, len < REC_NAME_MAX ? len : REC_NAME_MAX - 1);
    }
    return step(r);
}

static bool on_launch(struct replay *r, struct words *w) {
    static const char *const marks[] = {[REC_LAUNCH_BEGIN] = "begin",
                                        [REC_LAUNCH_PREWARMED] = "prewarmed",
                                        [REC_LAUNCH_ACTIVE] = "active",
                                        [REC_LAUNCH_DONE] = "done"};
    uint32_t mark;
    if (!find_word(next_word(w), marks, 4, &mark)) {
        return fail(r, "launch begin, prewarmed, active or done");
    }
    rec_core_launch(r->core, (enum rec_launch_mark)mark, r->now);
    return step(r);
}

/* An action's name is its id: FNV-1a of it. */
static uint64_t name_id(const char *name) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *name != '\0'; name++) {
        hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
    }
    return hash;
}

static bool on_span_begin(struct replay *r, struct words *w) {
    const char *name = next_word(w), *limit = next_word(w);
    uint64_t limit_ms = 0;
    if (name == NULL || (limit != NULL && !parse_number(limit, 3600000, &limit_ms))) {
        return fail(r, "span-begin needs a name, and a limit in ms if any");
    }
    rec_core_span_begin(r->core, name_id(name), name, (uint32_t)limit_ms, r->now);
    return step(r);
}

static bool on_span_end(struct replay *r, struct words *w) {
    const char *name = next_word(w);
    if (name == NULL) {
        return fail(r, "span-end needs a name");
    }
    rec_core_span_end(r->core, name_id(name), r->now);
    return step(r);
}

static bool on_stop(struct replay *r, struct words *w) {
    (void)w;
    rec_core_finish(r->core, r->now);
    write_closed(r);
    r->stopped = true;
    return true;
}

static bool do_event(struct replay *r, const char *event, struct words *w) {
    static const struct {
        const char *name;
        event_fn run;
    } events[] = {{"wake", on_wake},
                  {"sleep", on_sleep},
                  {"turn", on_turn},
                  {"run", on_run},
                  {"activity", on_activity},
                  {"suspend", on_suspend},
                  {"answer", on_answer},
                  {"tick", on_tick},
                  {"cpu", on_cpu},
                  {"launch", on_launch},
                  {"span-begin", on_span_begin},
                  {"span-end", on_span_end},
                  {"stop", on_stop}};
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        if (strcmp(events[i].name, event) == 0) {
            return events[i].run(r, w);
        }
    }
    return fail(r, "unknown event '%s'", event);
}

static bool do_at(struct replay *r, struct words *w) {
    uint64_t at;
    const char *time = next_word(w), *event = next_word(w);
    if (!parse_number(time, TIME_MAX, &at) || event == NULL) {
        return fail(r, "'at' needs a time in ms and an event");
    }
    if (r->core == NULL && !start(r)) {
        return false;
    }
    if (r->stopped || at * REPLAY_MS < r->now || at * REPLAY_MS < r->frozen_until) {
        return fail(r, r->stopped ? "an event after stop"
                                  : "time does not go back, nor do the suspended act");
    }
    return run_until(r, at * REPLAY_MS) && do_event(r, event, w);
}

static bool do_line(struct replay *r, char *line) {
    struct words w = {line};
    char *rest = line;
    const char *word = next_word(&w);
    if (word == NULL || word[0] == '#') {
        return true;
    }
    if (strcmp(word, "expect") == 0) {
        rest = w.at;
        size_t len = strlen(rest);
        while (len > 0 && (rest[len - 1] == ' ' || rest[len - 1] == '\r')) {
            rest[--len] = '\0';
        }
        if (r->sink->expect != NULL) {
            r->sink->expect(r->sink->ctx, rest);
        }
        return true;
    }
    char *comment = strchr(w.at, '#');
    if (comment != NULL) {
        *comment = '\0';
    }
    if (strcmp(word, "at") == 0) {
        return do_at(r, &w);
    }
    if (strcmp(word, "set") == 0) {
        return do_set(r, &w);
    }
    if (strcmp(word, "stack") == 0 || strcmp(word, "idle") == 0) {
        return do_stack(r, &w, word[0] == 'i');
    }
    return fail(r, "unknown item '%s'", word);
}

static bool run(struct replay *r, const char *text, size_t len) {
    char line[REPLAY_LINE];
    while (len > 0) {
        const char *newline = memchr(text, '\n', len);
        size_t size = newline != NULL ? (size_t)(newline - text) : len;
        r->line++;
        if (size >= sizeof line || memchr(text, '\0', size) != NULL) {
            return fail(r, "too long, or not text");
        }
        memcpy(line, text, size);
        line[size] = '\0';
        if (!do_line(r, line)) {
            return false;
        }
        size_t used = size + (newline != NULL);
        text += used;
        len -= used;
    }
    struct words stop = {line};
    line[0] = '\0';
    if (r->core != NULL && !r->stopped) {
        return on_stop(r, &stop);
    }
    return true;
}

bool rec_replay(const char *text, size_t len, const struct rec_replay_sink *sink, char *message,
                size_t message_size) {
    struct replay *r = calloc(1, sizeof *r);
    if (r == NULL) {
        snprintf(message, message_size, "out of memory");
        return false;
    }
    r->sink = sink;
    r->message = message;
    r->message_size = message_size;
    r->answers = true;
    stallrec_config_init(&r->config, sizeof r->config);
    bool ok =
        (sink->preset == NULL || stallrec_config_preset(&r->config, sink->preset) == STALLREC_OK ||
         fail(r, "unknown preset '%s'", sink->preset)) &&
        run(r, text, len);
    free(r->core);
    free(r);
    return ok;
}
