/* Reads a trace line by line: sets the config, keeps the stacks, and steps the core up to the time
 * of each event, which replay_events.c passes on. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/presets.h"
#include "replay/replay_private.h"

/* ---- lines before the first event ---- */

static bool set_detectors(struct replay *r, const char *list) {
    r->config.detectors = rec_detectors_named(list);
    return r->config.detectors != 0 || replay_fail(r, "unknown value '%s'", list);
}

/* Sets "detectors", "preset", "used" or "steps", which have forms of their own. False: `name` is
 * none of these. *ok becomes whether the value was valid. */
static bool set_other(struct replay *r, const char *name, const char *value, bool *ok) {
    if (strcmp(name, "detectors") == 0) {
        *ok = set_detectors(r, value);
    } else if (strcmp(name, "preset") == 0) {
        *ok = stallrec_config_preset(&r->config, value) == STALLREC_OK ||
              replay_fail(r, "unknown value '%s'", value);
    } else if (strcmp(name, "used") == 0) {
        *ok = replay_parse_number(value, REPLAY_TIME_MAX * REPLAY_MS, &r->cpu_ns) ||
              replay_fail(r, "not a number: '%s'", value);
    } else if (strcmp(name, "steps") == 0) {
        r->told = strcmp(value, "told") == 0;
        *ok = r->told || strcmp(value, "due") == 0 || replay_fail(r, "unknown value '%s'", value);
    } else {
        return false;
    }
    return true;
}

static bool find_field(const char *name, struct rec_config_field *field) {
    for (size_t i = 0; rec_config_field(i, field); i++) {
        if (strcmp(field->name, name) == 0) {
            return true;
        }
    }
    return false;
}

static bool set_field(struct replay *r, struct replay_words *w) {
    const char *name = replay_next_word(w);
    char *value = replay_next_word(w);
    uint64_t number;
    bool ok = false;
    if (r->core != NULL) {
        return replay_fail(r, "set after the first event");
    }
    if (name == NULL || value == NULL) {
        return replay_fail(r, "set needs a field and a value");
    }
    struct rec_config_field field;
    uint32_t number32 = 0;
    if (set_other(r, name, value, &ok)) {
        return ok;
    }
    if (!find_field(name, &field)) {
        return replay_fail(r, "unknown field '%s'", name);
    }
    if (field.words != NULL) {
        size_t count = 0;
        while (field.words[count] != NULL) {
            count++;
        }
        if (!replay_find_word(value, field.words, count, &number32)) {
            return replay_fail(r, "unknown value '%s'", value);
        }
    } else if (!replay_parse_number(value, UINT32_MAX, &number)) {
        return replay_fail(r, "not a number: '%s'", value);
    } else {
        number32 = (uint32_t)number;
    }
    memcpy((char *)&r->config + field.offset, &number32, sizeof number32);
    return true;
}

/* Executes a "set" line. If the caller has chosen a preset, the line changes no setting; "steps"
 * and "used" still apply, as the meaning of the trace's times depends on them. False: the line is
 * not valid; replay_fail was called. */
static bool do_set(struct replay *r, struct replay_words *w) {
    struct stallrec_config config = r->config;
    bool ok = set_field(r, w);
    if (r->sink->preset != NULL) {
        r->config = config;
    }
    return ok;
}

/* Returns the address of FUNCTION or FUNCTION+OFFSET, and makes a new FUNCTION known; 0: the word
 * is not valid, or there is no room. */
static uint64_t function_address(struct replay *r, char *word) {
    uint64_t offset = 1;
    char *plus = strchr(word, '+');
    if (plus != NULL) {
        *plus = '\0';
        if (!replay_parse_number(plus + 1, REPLAY_FUNCTION_SIZE - 1, &offset)) {
            return 0;
        }
    }
    size_t len = strlen(word);
    uint32_t i;
    if (len == 0 || len >= REPLAY_NAME) {
        return 0;
    }
    if (!replay_names_find(&r->functions, word, &i)) {
        i = r->functions.count;
        if (!replay_names_add(&r->functions, word, REPLAY_FUNCTIONS)) {
            return 0;
        }
    }
    return (i + 1) * REPLAY_FUNCTION_SIZE + offset;
}

/* Grows r->stacks by at least one entry if it is full. False: out of memory. */
static bool grow_stacks(struct replay *r) {
    uint32_t count = r->stack_names.count;
    if (count < r->stack_cap) {
        return true;
    }
    uint32_t cap = r->stack_cap > 0 ? 2 * r->stack_cap : 64;
    struct replay_stack *stacks = realloc(r->stacks, cap * sizeof *stacks);
    if (stacks == NULL) {
        return replay_fail(r, "out of memory");
    }
    r->stacks = stacks;
    r->stack_cap = cap;
    return true;
}

static bool add_frames(struct replay *r, struct replay_words *w, struct replay_stack *stack) {
    uint64_t frames[REPLAY_DEPTH];
    for (char *word; (word = replay_next_word(w)) != NULL;) {
        uint64_t address = stack->count < REPLAY_DEPTH ? function_address(r, word) : 0;
        if (address == 0) {
            return replay_fail(r, "not a function, or too many: '%s'", word);
        }
        frames[stack->count++] = address;
    }
    if (stack->count == 0) {
        return replay_fail(r, "a stack needs functions");
    }
    stack->frames = malloc(stack->count * sizeof *frames);
    if (stack->frames == NULL) {
        return replay_fail(r, "out of memory");
    }
    memcpy(stack->frames, frames, stack->count * sizeof *frames);
    return true;
}

static bool do_stack(struct replay *r, struct replay_words *w, const char *kind) {
    const char *name = replay_next_word(w);
    if (name == NULL || strlen(name) >= REPLAY_NAME || strcmp(name, "none") == 0) {
        return replay_fail(r, "a stack needs a name");
    }
    struct replay_stack stack = {.idle = strcmp(kind, "idle") == 0};
    uint32_t rest;
    if (replay_find_word(kind, rec_rest_names, REC_REST_UNCLEAR + 1, &rest)) {
        stack.rest = (enum rec_rest)rest;
    }
    if (!grow_stacks(r) || !add_frames(r, w, &stack)) {
        return false;
    }
    r->stacks[r->stack_names.count] = stack;
    if (!replay_names_add(&r->stack_names, name, REPLAY_STACKS)) {
        free(stack.frames);
        return replay_fail(r, "more than %d stacks", REPLAY_STACKS);
    }
    return true;
}

/* ---- stepping ---- */

static bool start(struct replay *r) {
    struct rec_capture capture = replay_capture(r);
    if (rec_config_read(&r->config, &r->config) != STALLREC_OK) {
        return replay_fail(r, "a setting is out of its range");
    }
    void *memory = malloc(rec_core_size(&r->config));
    if (memory == NULL) {
        return replay_fail(r, "out of memory");
    }
    if (r->trace != NULL) {
        rec_trace_begin(r->trace, &r->config, &capture, r->sink->trace, REPLAY_ORIGIN);
        capture = rec_trace_capture(r->trace);
    }
    r->core = rec_core_init(memory, &r->config, &capture, REPLAY_ORIGIN);
    if (r->trace != NULL) {
        rec_trace_started(r->trace);
    }
    rec_core_watch(r->core, replay_note, r);
    return replay_step(r);
}

/* Steps the core at all times that are due before t, unless the trace has step lines itself, and
 * sets the time to t, as an event at t precedes a step at t. False: the trace has too many steps;
 * replay_fail was called. */
static bool run_until(struct replay *r, uint64_t t) {
    while (!r->told) {
        uint64_t due = r->next;
        if (due != REC_NEVER && due < r->frozen_until) {
            due = r->frozen_until;
        }
        if (due >= t) {
            break;
        }
        r->now = due > r->now ? due : r->now;
        if (!replay_step(r)) {
            return false;
        }
    }
    r->now = t;
    return true;
}

/* ---- lines ---- */

static bool do_at(struct replay *r, struct replay_words *w) {
    uint64_t at;
    char *time = replay_next_word(w);
    const char *event = replay_next_word(w);
    if (!replay_parse_ms(time, &at) || event == NULL) {
        return replay_fail(r, "'at' needs a time in ms and an event");
    }
    if (r->core == NULL && !start(r)) {
        return false;
    }
    at += REPLAY_ORIGIN;
    if (r->stopped || (at < r->now && !r->told) || at < r->frozen_until) {
        return replay_fail(r, r->stopped ? "an event after stop"
                                         : "time does not go back, nor do the suspended act");
    }
    return run_until(r, at) && replay_do_event(r, event, w);
}

static bool do_line(struct replay *r, char *line) {
    struct replay_words w = {line};
    char *rest = line;
    const char *word = replay_next_word(&w);
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
    if (strcmp(word, "idle") == 0 ||
        replay_find_word(word, rec_rest_names, REC_REST_UNCLEAR + 1, &(uint32_t){0})) {
        return do_stack(r, &w, word);
    }
    return replay_fail(r, "unknown item '%s'", word);
}

static bool replay_events_until(struct replay *r, const char *text, size_t len) {
    char *line = r->input;
    while (len > 0) {
        const char *newline = memchr(text, '\n', len);
        size_t size = newline != NULL ? (size_t)(newline - text) : len;
        r->line++;
        if (size >= REPLAY_INPUT || memchr(text, '\0', size) != NULL) {
            return replay_fail(r, "too long, or not text");
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
    if (r->core != NULL && !r->stopped) {
        replay_stop(r);
    }
    return true;
}

static void replay_release_memory(struct replay *r) {
    for (uint32_t i = 0; i < r->stack_names.count; i++) {
        free(r->stacks[i].frames);
    }
    free(r->stacks);
    replay_names_release(&r->stack_names);
    replay_names_release(&r->functions);
    free(r->input);
    free(r->trace);
    free(r->core);
    free(r);
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
    r->now = r->last = r->cpu_at = REPLAY_ORIGIN;
    r->input = malloc(REPLAY_INPUT);
    r->trace = sink->trace != NULL ? malloc(sizeof *r->trace) : NULL;
    stallrec_config_init(&r->config, sizeof r->config);
    bool ok =
        ((r->input != NULL && (r->trace != NULL || sink->trace == NULL)) ||
         replay_fail(r, "out of memory")) &&
        (sink->preset == NULL || stallrec_config_preset(&r->config, sink->preset) == STALLREC_OK ||
         replay_fail(r, "unknown preset '%s'", sink->preset)) &&
        replay_events_until(r, text, len);
    replay_release_memory(r);
    return ok;
}
