/* Turns the "at" lines of a trace into events for the core. */
#include <string.h>

#include "files/dump_json.h"
#include "replay/replay_private.h"

/* Executes the event that a line names; *w is at the words after the event's name. False:
 * replay_fail was called with what is wrong. */
typedef bool (*event_fn)(struct replay *r, struct replay_words *w);

static bool on_edge(struct replay *r, enum rec_loop_event event) {
    replay_to_core(r, (struct rec_event){.kind = REC_EVENT_EDGE, .value = event});
    return replay_step(r);
}

static bool on_wake(struct replay *r, struct replay_words *w) {
    (void)w;
    return on_edge(r, REC_LOOP_WAKE);
}

static bool on_sleep(struct replay *r, struct replay_words *w) {
    (void)w;
    return on_edge(r, REC_LOOP_SLEEP);
}

static bool on_turn(struct replay *r, struct replay_words *w) {
    (void)w;
    return on_edge(r, REC_LOOP_TURN);
}

static bool on_busy(struct replay *r, struct replay_words *w) {
    uint64_t busy, span;
    if (!replay_parse_ms(replay_next_word(w), &busy) ||
        !replay_parse_ms(replay_next_word(w), &span) || busy > span) {
        return replay_fail(r, "'busy' needs times in ms: of a span");
    }
    replay_to_core(
        r, (struct rec_event){.kind = REC_EVENT_BUSY, .value = busy, .mark_ns = r->now + span});
    return true;
}

/* Reads a stack's name; *out becomes the stack's number + 1, or 0 for `none`. False: there is
 * neither; replay_fail was called. */
static bool events_find_stack(struct replay *r, struct replay_words *w, uint32_t *out) {
    const char *name = replay_next_word(w);
    uint32_t number;
    *out = 0;
    if (name != NULL && replay_names_find(&r->stack_names, name, &number)) {
        *out = number + 1;
        return true;
    }
    return name != NULL && strcmp(name, "none") == 0 ? true : replay_fail(r, "no such stack");
}

static bool on_run(struct replay *r, struct replay_words *w) {
    return events_find_stack(r, w, &r->running);
}

static bool on_sample(struct replay *r, struct replay_words *w) {
    if (r->sample_count == REPLAY_SAMPLES) {
        return replay_fail(r, "more than %d samples wait", REPLAY_SAMPLES);
    }
    return events_find_stack(r, w, &r->samples[r->sample_count]) && ++r->sample_count > 0;
}

static bool on_gone(struct replay *r, struct replay_words *w) {
    (void)w;
    r->gone = true;
    return true;
}

static bool on_step(struct replay *r, struct replay_words *w) {
    (void)w;
    if (!r->told) {
        return replay_fail(r, "step needs 'set steps told'");
    }
    replay_to_core(r, (struct rec_event){.kind = REC_EVENT_STEP});
    return replay_count_step(r);
}

static bool on_wait(struct replay *r, struct replay_words *w) {
    (void)w;
    replay_to_core(r, (struct rec_event){.kind = REC_EVENT_WAIT});
    return true;
}

static bool on_write(struct replay *r, struct replay_words *w) {
    (void)w;
    return replay_write_one(r) || replay_fail(r, "no dump waits to be written");
}

/* Passes to the core an activity and, unless the trace has the edges itself, the edge that the
 * activity stands for. */
static bool on_activity(struct replay *r, struct replay_words *w) {
    uint32_t index;
    if (!replay_find_word(replay_next_word(w), rec_activity_names, STALLREC_ACTIVITY_EXIT + 1,
                          &index)) {
        return replay_fail(r, "no such activity");
    }
    bool waits = index == STALLREC_ACTIVITY_BEFORE_WAITING || index == STALLREC_ACTIVITY_EXIT;
    if (!r->told && index != STALLREC_ACTIVITY_ENTRY) {
        replay_to_core(r, (struct rec_event){.kind = REC_EVENT_EDGE,
                                             .value = waits ? REC_LOOP_SLEEP : REC_LOOP_WAKE});
    }
    replay_to_core(r, (struct rec_event){.kind = REC_EVENT_ACTIVITY, .value = index});
    return replay_step(r);
}

static bool on_suspend(struct replay *r, struct replay_words *w) {
    uint64_t length;
    if (!replay_parse_number(replay_next_word(w), REPLAY_TIME_MAX, &length)) {
        return replay_fail(r, "suspend needs a number of ms");
    }
    r->frozen_until = r->now + length * REPLAY_MS;
    return true;
}

/* Executes "answer HOW [NUMBER]". NUMBER is that of the task; without it the task is the one that
 * waits. */
static bool on_answer(struct replay *r, struct replay_words *w) {
    static const char *const words[] = {"once", "always", "never", "refuse"};
    uint32_t index;
    if (!replay_find_word(replay_next_word(w), words, 4, &index)) {
        return replay_fail(r, "answer once, always, never or refuse");
    }
    const char *word = replay_next_word(w);
    uint64_t number = r->ping;
    if (word != NULL && !replay_parse_number(word, UINT64_MAX, &number)) {
        return replay_fail(r, "answer to a number");
    }
    r->answers = index == 1;
    r->refuses = index == 3;
    if (number != 0 && index < 2) {
        replay_to_core(r, (struct rec_event){.kind = REC_EVENT_PING_DONE, .value = number});
        r->ping = 0;
    }
    return replay_step(r);
}

static bool on_tick(struct replay *r, struct replay_words *w) {
    (void)w;
    replay_to_core(r, (struct rec_event){.kind = REC_EVENT_TICK});
    return replay_step(r);
}

/* Executes "cpu PERMILLE [THREAD]": from now on the process uses PERMILLE thousandths of a
 * processor, and THREAD is the thread that uses the most; without THREAD no such thread is known.
 */
static bool on_cpu(struct replay *r, struct replay_words *w) {
    const char *number = replay_next_word(w), *thread = replay_next_word(w);
    uint64_t permille;
    if (!replay_parse_number(number, 1000000, &permille)) {
        return replay_fail(r, "cpu needs thousandths of a processor");
    }
    replay_cpu(r);
    r->cpu_permille = (uint32_t)permille;
    replay_read_name(r->top_thread, thread);
    return replay_step(r);
}

/* Executes "used NS [THREAD]": the process has used NS ns of CPU time so far, and THREAD is what
 * the core is told when it asks which thread used the most. */
static bool on_used(struct replay *r, struct replay_words *w) {
    const char *number = replay_next_word(w), *thread = replay_next_word(w);
    if (!replay_parse_number(number, REPLAY_TIME_MAX * REPLAY_MS, &r->cpu_ns)) {
        return replay_fail(r, "used needs a number of ns");
    }
    r->cpu_permille = 0;
    r->cpu_at = r->now;
    replay_read_name(r->top_thread, thread);
    return true;
}

static bool on_launch(struct replay *r, struct replay_words *w) {
    static const char *const marks[] = {
        [REC_LAUNCH_BEGIN] = "begin",   [REC_LAUNCH_PREWARMED] = "prewarmed",
        [REC_LAUNCH_ACTIVE] = "active", [REC_LAUNCH_DONE] = "done",
        [REC_LAUNCH_START] = "start",   [REC_LAUNCH_IDLE] = "idle"};
    uint32_t mark;
    uint64_t ago = 0;
    if (!replay_find_word(replay_next_word(w), marks, 6, &mark)) {
        return replay_fail(r, "launch begin, prewarmed, active, done, start or idle");
    }
    char *word = replay_next_word(w);
    if (word != NULL && (!replay_parse_ms(word, &ago) || ago > REPLAY_ORIGIN)) {
        return replay_fail(r, "a launch mark was at most a day ago");
    }
    replay_to_core(
        r, (struct rec_event){.kind = REC_EVENT_LAUNCH, .value = mark, .mark_ns = r->now - ago});
    return replay_step(r);
}

/* Returns the id of an action without a NUMBER: the FNV-1a hash of its name. */
static uint64_t name_id(const char *name) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *name != '\0'; name++) {
        hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
    }
    return hash;
}

/* Executes "span-begin NAME [LIMIT [NUMBER]]"; without NUMBER the action's id is name_id(NAME). */
static bool on_span_begin(struct replay *r, struct replay_words *w) {
    const char *name = replay_next_word(w), *limit = replay_next_word(w),
               *number = replay_next_word(w);
    uint64_t limit_ms = 0;
    struct rec_event event = {.kind = REC_EVENT_SPAN_BEGIN};
    if (name == NULL || (limit != NULL && !replay_parse_number(limit, 3600000, &limit_ms)) ||
        (number != NULL && !replay_parse_number(number, UINT64_MAX, &event.value))) {
        return replay_fail(r, "span-begin needs a name, and a limit in ms if any");
    }
    event.value = number != NULL ? event.value : name_id(name);
    event.limit_ms = (uint32_t)limit_ms;
    replay_read_name(event.name, name);
    replay_to_core(r, event);
    return replay_step(r);
}

static bool on_span_end(struct replay *r, struct replay_words *w) {
    const char *name = replay_next_word(w), *number = replay_next_word(w);
    uint64_t id = 0;
    if (name == NULL || (number != NULL && !replay_parse_number(number, UINT64_MAX, &id))) {
        return replay_fail(r, "span-end needs a name");
    }
    replay_to_core(r, (struct rec_event){.kind = REC_EVENT_SPAN_END,
                                         .value = number != NULL ? id : name_id(name)});
    return replay_step(r);
}

/* Reads a number of ms, at most a day, and sets *out to the time that many ms before now. False:
 * the next word is no such number; replay_fail was called. */
static bool read_ago(struct replay *r, struct replay_words *w, uint64_t *out) {
    uint64_t ago;
    if (!replay_parse_ms(replay_next_word(w), &ago) || ago > REPLAY_ORIGIN) {
        return replay_fail(r, "a time in ms is needed, at most a day ago");
    }
    *out = r->now - ago;
    return true;
}

static bool on_doubt(struct replay *r, struct replay_words *w) {
    struct rec_event event = {.kind = REC_EVENT_DOUBT};
    if (!read_ago(r, w, &event.mark_ns)) {
        return false;
    }
    replay_to_core(r, event);
    return replay_step(r);
}

static bool on_attribute(struct replay *r, struct replay_words *w) {
    struct rec_event event = {.kind = REC_EVENT_ATTRIBUTE};
    uint32_t past;
    if (!replay_find_word(replay_next_word(w), rec_past_names, REC_PAST_GIVEN_UP + 1, &past)) {
        return replay_fail(r, "attribute anew, continues or given-up");
    }
    event.value = past;
    if (!read_ago(r, w, &event.mark_ns)) {
        return false;
    }
    replay_to_core(r, event);
    return true;
}

static bool read_past(struct replay *r, struct replay_words *w, enum rec_event_kind kind) {
    struct rec_event event = {.kind = kind};
    if (!read_ago(r, w, &event.value) || !read_ago(r, w, &event.mark_ns)) {
        return false;
    }
    if (event.mark_ns < event.value) {
        return replay_fail(r, "'%s' needs a begin and an end",
                           kind == REC_EVENT_PAST_IDLE ? "past-idle" : "past-unknown");
    }
    replay_to_core(r, event);
    return true;
}

static bool on_past_idle(struct replay *r, struct replay_words *w) {
    return read_past(r, w, REC_EVENT_PAST_IDLE);
}

static bool on_past_unknown(struct replay *r, struct replay_words *w) {
    return read_past(r, w, REC_EVENT_PAST_UNKNOWN);
}

static bool on_attributed(struct replay *r, struct replay_words *w) {
    uint64_t hold;
    if (!replay_parse_ms(replay_next_word(w), &hold)) {
        return replay_fail(r, "'attributed' needs a time in ms");
    }
    replay_to_core(r, (struct rec_event){.kind = REC_EVENT_ATTRIBUTED, .mark_ns = r->now + hold});
    return true; /* no step here, as the edge that led to this event comes next */
}

static bool on_stop(struct replay *r, struct replay_words *w) {
    (void)w;
    replay_stop(r);
    return true;
}

bool replay_do_event(struct replay *r, const char *event, struct replay_words *w) {
    static const struct {
        const char *name;
        event_fn run;
        bool late; /* in a recorded trace the line of this event may follow that of a later event */
    } events[] = {{"wake", on_wake, true},
                  {"sleep", on_sleep, true},
                  {"turn", on_turn, true},
                  {"busy", on_busy, true},
                  {"activity", on_activity, true},
                  {"step", on_step, false},
                  {"wait", on_wait, false},
                  {"write", on_write, false},
                  {"run", on_run, true},
                  {"sample", on_sample, true},
                  {"gone", on_gone, true},
                  {"used", on_used, true},
                  {"suspend", on_suspend, false},
                  {"answer", on_answer, true},
                  {"tick", on_tick, false},
                  {"cpu", on_cpu, false},
                  {"launch", on_launch, true},
                  {"span-begin", on_span_begin, false},
                  {"span-end", on_span_end, false},
                  {"doubt", on_doubt, true},
                  {"attribute", on_attribute, true},
                  {"past-idle", on_past_idle, true},
                  {"past-unknown", on_past_unknown, true},
                  {"attributed", on_attributed, true},
                  {"stop", on_stop, false}};
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        if (strcmp(events[i].name, event) != 0) {
            continue;
        }
        if (!events[i].late && r->now < r->last) {
            return replay_fail(r, "time does not go back");
        }
        /* A write is not given to the core, so the line of an event that waited while the dump was
         * written follows that of the write, and has the event's own, earlier time. */
        if (events[i].run != on_write && r->now > r->last) {
            r->last = r->now;
        }
        return events[i].run(r, w);
    }
    return replay_fail(r, "unknown event '%s'", event);
}
