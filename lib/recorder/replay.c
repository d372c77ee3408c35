/* Steps a core over a written trace of events. */
#include "replay.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stallrec.h"

enum {
    STACKS = 64,
    DEPTH = 64,
    FUNCTIONS = 512,
    NAME = 48,
    LINE = 1024,
    OWNERS = 16, /* more than the core has dumps */
    FUNCTION_SIZE = 0x1000
};

#define MS UINT64_C(1000000)
/* Ten years: far from overflow in ns. */
#define TIME_MAX (UINT64_C(315360000000))

struct named_stack {
    char name[NAME];
    uint64_t frames[DEPTH];
    uint32_t count;
    bool idle;
};

struct replay {
    const struct rec_replay_sink *sink;
    char *message;
    size_t message_size;
    unsigned line;

    struct stallrec_config config;
    struct rec_core *core;
    struct named_stack stacks[STACKS];
    uint32_t stack_count;
    char functions[FUNCTIONS][NAME];
    uint32_t function_count;

    const struct named_stack *running; /* NULL: no stack can be had */
    uint64_t now;                      /* ns */
    uint64_t next;                     /* when the core wants to be stepped */
    uint64_t frozen_until;
    uint64_t steps;
    uint32_t random;
    uint32_t stalls; /* begun */
    struct {
        const struct rec_dump *dump; /* its memory is the core's, and used again */
        uint32_t stall;
    } owners[OWNERS];
    bool stopped;
};

/* --- telling
 * -------------------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static bool fail(struct replay *r, const char *format, ...) {
    char text[256];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    snprintf(r->message, r->message_size, "line %u: %s", r->line, text);
    return false;
}

__attribute__((format(printf, 2, 3))) static void tell(struct replay *r, const char *format, ...) {
    char text[LINE], what[LINE - 32];
    va_list ap;
    va_start(ap, format);
    vsnprintf(what, sizeof what, format, ap);
    va_end(ap);
    snprintf(text, sizeof text, "%llu %s", (unsigned long long)(r->now / MS), what);
    r->sink->line(r->sink->ctx, text);
}

static const char *stack_name(const struct replay *r, const struct rec_stack *stack) {
    for (uint32_t i = 0; i < r->stack_count; i++) {
        const struct named_stack *s = &r->stacks[i];
        if (s->count == stack->count &&
            memcmp(s->frames, stack->frames, s->count * sizeof *s->frames) == 0) {
            return s->name;
        }
    }
    return "?";
}

static const char *heaviest_name(const struct replay *r, const struct rec_dump *dump) {
    return dump->heaviest < 0 ? "none" : stack_name(r, &dump->stacks[dump->heaviest].stack);
}

/* --- the fake capture
 * ----------------------------------------------------------------------------- */

static enum rec_sample fake_sample(void *ctx, bool may_repeat, struct rec_stack *out) {
    const struct replay *r = ctx;
    (void)may_repeat;
    if (r->running == NULL) {
        return REC_SAMPLE_NONE;
    }
    out->count = r->running->count < out->cap ? r->running->count : out->cap;
    out->truncated = out->count < r->running->count;
    out->idle = r->running->idle;
    for (uint32_t i = 0; i < out->count; i++) {
        out->frames[i] = r->running->frames[i];
        out->starts[i] = r->running->frames[i] / FUNCTION_SIZE * FUNCTION_SIZE;
    }
    return REC_SAMPLE_OK;
}

static bool fake_image_at(void *ctx, uint64_t address, struct rec_image *out) {
    (void)ctx, (void)address;
    *out = (struct rec_image){.path = "/trace",
                              .load = FUNCTION_SIZE,
                              .size = (uint64_t)FUNCTION_SIZE * FUNCTIONS,
                              .in_app = true};
    return true;
}

static int64_t fake_wall(void *ctx) {
    const struct replay *r = ctx;
    return (int64_t)(r->now / MS);
}

static void fake_random(void *ctx, uint8_t *out, size_t len) {
    struct replay *r = ctx;
    for (size_t i = 0; i < len; i++) { /* Knuth's LCG: distinct and the same in every run */
        r->random = r->random * 1664525 + 1013904223;
        out[i] = (uint8_t)(r->random >> 24);
    }
}

/* The entry of the dump, or a free one; NULL if there is neither. */
static uint32_t *stall_of(struct replay *r, const struct rec_dump *dump) {
    for (uint32_t i = 0; i < OWNERS; i++) {
        if (r->owners[i].dump == dump || r->owners[i].dump == NULL) {
            r->owners[i].dump = dump;
            return &r->owners[i].stall;
        }
    }
    return NULL;
}

static void on_begin(void *ctx, const struct stallrec_stall *stall) {
    struct replay *r = ctx;
    (void)stall;
    tell(r, "begin %u", ++r->stalls);
}

static void on_end(void *ctx, const struct stallrec_stall *stall) {
    struct replay *r = ctx;
    tell(r, "end %u %llu", r->stalls, (unsigned long long)stall->at_ms);
}

static void on_lost(void *ctx, const char *path, enum stallrec_error why) {
    (void)path, (void)why;
    tell(ctx, "lost");
}

/* --- words
 * ---------------------------------------------------------------------------------------- */

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

/* --- lines before the first event
 * ------------------------------------------------------------------ */

static bool do_set(struct replay *r, struct words *w) {
    static const char *const backoffs[] = {"dumps", "checks"}, *const checks[] = {"stall",
                                                                                  "periodic"};
    struct stallrec_config *c = &r->config;
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
                  {"write_deadline_ms", &c->write_deadline_ms}};
    const char *name = next_word(w), *value = next_word(w);
    uint64_t number;
    if (r->core != NULL) {
        return fail(r, "set after the first event");
    }
    if (name == NULL || value == NULL) {
        return fail(r, "set needs a field and a value");
    }
    if (strcmp(name, "backoff") == 0 || strcmp(name, "check") == 0) {
        bool backoff = name[0] == 'b';
        return find_word(value, backoff ? backoffs : checks, 2,
                         backoff ? &c->backoff : &c->check) ||
               fail(r, "unknown value '%s'", value);
    }
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        if (strcmp(fields[i].name, name) == 0) {
            if (!parse_number(value, UINT32_MAX, &number)) {
                return fail(r, "not a number: '%s'", value);
            }
            *fields[i].value = (uint32_t)number;
            return true;
        }
    }
    return fail(r, "unknown field '%s'", name);
}

/* The address of FUNCTION or FUNCTION+OFFSET; 0 if it cannot be had. */
static uint64_t function_address(struct replay *r, char *word) {
    uint64_t offset = 1;
    char *plus = strchr(word, '+');
    if (plus != NULL) {
        *plus = '\0';
        if (!parse_number(plus + 1, FUNCTION_SIZE - 1, &offset)) {
            return 0;
        }
    }
    size_t len = strlen(word);
    if (len == 0 || len >= NAME) {
        return 0;
    }
    uint32_t i = 0;
    while (i < r->function_count && strcmp(r->functions[i], word) != 0) {
        i++;
    }
    if (i == FUNCTIONS) {
        return 0;
    }
    if (i == r->function_count) {
        memcpy(r->functions[r->function_count++], word, len + 1);
    }
    return (uint64_t)(i + 1) * FUNCTION_SIZE + offset;
}

static bool do_stack(struct replay *r, struct words *w, bool idle) {
    const char *name = next_word(w);
    if (name == NULL || strlen(name) >= NAME || strcmp(name, "none") == 0) {
        return fail(r, "a stack needs a name");
    }
    if (r->stack_count == STACKS) {
        return fail(r, "more than %d stacks", STACKS);
    }
    struct named_stack *stack = &r->stacks[r->stack_count];
    *stack = (struct named_stack){.idle = idle};
    memcpy(stack->name, name, strlen(name) + 1);
    for (char *word; (word = next_word(w)) != NULL;) {
        uint64_t address = stack->count < DEPTH ? function_address(r, word) : 0;
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

/* --- events
 * --------------------------------------------------------------------------------------- */

static bool start(struct replay *r) {
    struct rec_capture capture = {.ctx = r,
                                  .sample = fake_sample,
                                  .image_at = fake_image_at,
                                  .wall_ms = fake_wall,
                                  .random = fake_random};
    r->config.callbacks = (struct stallrec_callbacks){
        .stall_begin = on_begin, .stall_end = on_end, .dump_lost = on_lost};
    r->config.user_data = r;
    if (rec_config_read(&r->config, &r->config) != STALLREC_OK) {
        return fail(r, "a setting is out of its range");
    }
    void *memory = malloc(rec_core_size(&r->config));
    if (memory == NULL) {
        return fail(r, "out of memory");
    }
    r->core = rec_core_init(memory, &r->config, &capture, 0);
    r->next = REC_NEVER;
    return true;
}

static void tell_write(struct replay *r, const struct rec_dump *dump) {
    const struct rec_stall *s = &dump->stall;
    char stacks[LINE / 2] = "";
    size_t len = 0;
    for (uint32_t i = 0; i < dump->stack_count && len < sizeof stacks; i++) {
        int n = snprintf(stacks + len, sizeof stacks - len, " %s=%u",
                         stack_name(r, &dump->stacks[i].stack), (unsigned)dump->stacks[i].count);
        len += n > 0 ? (size_t)n : 0;
    }
    const uint32_t *stall = stall_of(r, dump);
    tell(r, "write %u.%u at %llu span %llu of %llu %s suppressed %llu gap %llu%s",
         stall != NULL ? (unsigned)*stall : 0, (unsigned)s->seq, (unsigned long long)s->at_ms,
         (unsigned long long)s->span_ms, (unsigned long long)s->duration_ms,
         s->ended ? "ended" : "open", (unsigned long long)s->suppressed,
         (unsigned long long)s->gap_ms, stacks);
    if (r->sink->dump != NULL) {
        r->sink->dump(r->sink->ctx, dump);
    }
}

static void write_closed(struct replay *r) {
    const struct rec_dump *dump;
    while (rec_core_write_due(r->core, r->now, 0) && (dump = rec_core_closed(r->core)) != NULL) {
        tell_write(r, dump);
        rec_core_release(r->core, dump);
    }
}

/* What the totals say happened since `before`, apart from what callbacks told. */
static void tell_changes(struct replay *r, const struct rec_totals *before) {
    struct rec_totals now = rec_core_totals(r->core);
    if (now.gaps > before->gaps) {
        tell(r, "gap %llu", (unsigned long long)(now.gap_ms - before->gap_ms));
    }
    if (now.gap_stalls > before->gap_stalls) {
        tell(r, "gap-stall");
    }
    if (now.vetoed > before->vetoed) {
        tell(r, "veto");
    }
    const struct rec_dump *open = rec_core_open(r->core);
    if (now.suppressed > before->suppressed) {
        if (open != NULL) {
            tell(r, "same %u.%u", r->stalls, (unsigned)open->stall.seq);
        } else {
            tell(r, "same none");
        }
    }
    if (now.dumps > before->dumps && open != NULL) {
        uint32_t *stall = stall_of(r, open);
        if (stall != NULL) {
            *stall = r->stalls;
        }
        tell(r, "dump %u.%u %s x %u of %u", r->stalls, (unsigned)open->stall.seq,
             heaviest_name(r, open), (unsigned)open->heaviest_repeats, (unsigned)open->ring_count);
    }
}

static bool step(struct replay *r) {
    if (++r->steps > r->sink->steps_max && r->sink->steps_max != 0) {
        return fail(r, "the trace is too long");
    }
    struct rec_totals before = rec_core_totals(r->core);
    r->next = rec_core_step(r->core, r->now);
    tell_changes(r, &before);
    write_closed(r);
    uint64_t deadline = rec_core_write_deadline(r->core);
    if (deadline < r->next) {
        r->next = deadline;
    }
    return true;
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

static bool do_event(struct replay *r, const char *event, struct words *w) {
    static const char *const edges[] = {
        [REC_LOOP_WAKE] = "wake", [REC_LOOP_SLEEP] = "sleep", [REC_LOOP_TURN] = "turn"};
    static const char *const activities[] = {[STALLREC_ACTIVITY_ENTRY] = "entry",
                                             [STALLREC_ACTIVITY_BEFORE_TIMERS] = "before-timers",
                                             [STALLREC_ACTIVITY_BEFORE_SOURCES] = "before-sources",
                                             [STALLREC_ACTIVITY_BEFORE_WAITING] = "before-waiting",
                                             [STALLREC_ACTIVITY_AFTER_WAITING] = "after-waiting",
                                             [STALLREC_ACTIVITY_EXIT] = "exit"};
    uint32_t index;
    uint64_t length;
    if (find_word(event, edges, sizeof edges / sizeof *edges, &index)) {
        struct rec_totals before = rec_core_totals(r->core);
        rec_core_loop_event(r->core, (enum rec_loop_event)index, r->now);
        tell_changes(r, &before);
        return step(r);
    }
    const char *argument = next_word(w);
    if (strcmp(event, "run") == 0) {
        r->running = NULL;
        for (uint32_t i = 0; argument != NULL && i < r->stack_count; i++) {
            if (strcmp(r->stacks[i].name, argument) == 0) {
                r->running = &r->stacks[i];
            }
        }
        return r->running != NULL || (argument != NULL && strcmp(argument, "none") == 0) ||
               fail(r, "no such stack");
    }
    if (strcmp(event, "activity") == 0) {
        if (!find_word(argument, activities, sizeof activities / sizeof *activities, &index)) {
            return fail(r, "no such activity");
        }
        rec_core_activity(r->core, index, r->now);
        return true;
    }
    if (strcmp(event, "suspend") == 0) {
        if (!parse_number(argument, TIME_MAX, &length)) {
            return fail(r, "suspend needs a number of ms");
        }
        r->frozen_until = r->now + length * MS;
        return true;
    }
    if (strcmp(event, "stop") == 0) {
        rec_core_finish(r->core, r->now);
        write_closed(r);
        r->stopped = true;
        return true;
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
    if (r->stopped || at * MS < r->now || at * MS < r->frozen_until) {
        return fail(r, r->stopped ? "an event after stop"
                                  : "time does not go back, nor do the suspended act");
    }
    return run_until(r, at * MS) && do_event(r, event, w);
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
    char line[LINE];
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
        return do_event(r, "stop", &stop);
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
    stallrec_config_init(&r->config, sizeof r->config);
    bool ok = run(r, text, len);
    free(r->core);
    free(r);
    return ok;
}
