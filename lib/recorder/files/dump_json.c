/* Writes a dump as stall-dump/1 text, and a session as stall-session/1. */
#include "files/dump_json.h"

#include <string.h>

#include "support/rec_text.h"
#include "support/redact.h"
#include "files/session.h"
#include "stallrec.h"

/* A writer of JSON. It collects small pieces in a buffer, so that the compressor is not called for
 * each comma. */
struct json {
    struct rec_out *out;
    size_t len;
    bool comma; /* a comma is due before the next value of this container */
    char buf[1024];
};

static void flush(struct json *j) {
    rec_out_write(j->out, j->buf, j->len);
    j->len = 0;
}

static void raw(struct json *j, const char *text, size_t len) {
    while (len > 0) {
        if (j->len == sizeof j->buf) {
            flush(j);
        }
        size_t part = sizeof j->buf - j->len;
        part = len < part ? len : part;
        memcpy(j->buf + j->len, text, part);
        j->len += part;
        text += part;
        len -= part;
    }
}

static void separate(struct json *j) {
    if (j->comma) {
        raw(j, ",", 1);
    }
    j->comma = true;
}

static void json_begin(struct json *j, char bracket) {
    separate(j);
    raw(j, &bracket, 1);
    j->comma = false;
}

static void json_end(struct json *j, char bracket) {
    raw(j, &bracket, 1);
    j->comma = true;
}

/* ---- strings ---- */

/* Returns the length of the well-formed UTF-8 sequence at s (RFC 3629, table 3-7 of Unicode), 0 if
 * there is none. */
static size_t sequence(const unsigned char *s) {
    static const struct {
        unsigned char first, last, low, high, len;
    } forms[] = {
        {0x01, 0x7f, 0, 0, 1},       {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
        {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
        {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (s[0] < forms[i].first || s[0] > forms[i].last) {
            continue;
        }
        for (size_t k = 1; k < forms[i].len;
             /* The bytes after a NUL are not read, because a NUL matches no later byte of a
              * sequence. */
             k++) {
            unsigned char low = k == 1 ? forms[i].low : 0x80;
            unsigned char high = k == 1 ? forms[i].high : 0xbf;
            if (s[k] < low || s[k] > high) {
                return 0;
            }
        }
        return forms[i].len;
    }
    return 0;
}

static void escape(struct json *j, unsigned char c) {
    if (c == '"' || c == '\\') {
        char text[2] = {'\\', (char)c};
        raw(j, text, 2);
    } else {
        char text[7] = "\\u00";
        rec_hex_text(&c, 1, text + 4);
        raw(j, text, 6);
    }
}

static void characters(struct json *j, const char *text) {
    const unsigned char *s = (const unsigned char *)text;
    while (*s != '\0') {
        size_t len = sequence(s);
        if (len == 0) {
            raw(j, "\xef\xbf\xbd", 3);
            s++;
        } else if (*s < 0x20 || *s == '"' || *s == '\\') {
            escape(j, *s++);
        } else {
            raw(j, (const char *)s, len);
            s += len;
        }
    }
}

static void string(struct json *j, const char *text) {
    separate(j);
    raw(j, "\"", 1);
    characters(j, text);
    raw(j, "\"", 1);
}

/* ---- members ---- */

static void key(struct json *j, const char *name) {
    string(j, name);
    raw(j, ":", 1);
    j->comma = false;
}

static void object(struct json *j, const char *name) {
    key(j, name);
    json_begin(j, '{');
}

static void array(struct json *j, const char *name) {
    key(j, name);
    json_begin(j, '[');
}

static void json_number(struct json *j, uint64_t value) {
    char text[20];
    size_t at = sizeof text;
    do {
        text[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    separate(j);
    raw(j, text + at, sizeof text - at);
}

static void signed_number(struct json *j, int64_t value) {
    if (value < 0) {
        separate(j);
        raw(j, "-", 1);
        j->comma = false;
    }
    json_number(j, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

static void json_member_string(struct json *j, const char *name, const char *text) {
    if (text != NULL) {
        key(j, name);
        string(j, text);
    }
}

static void json_member_number(struct json *j, const char *name, uint64_t value) {
    key(j, name);
    json_number(j, value);
}

static void member_signed(struct json *j, const char *name, int64_t value) {
    key(j, name);
    signed_number(j, value);
}

static void member_bool(struct json *j, const char *name, bool value) {
    key(j, name);
    raw(j, value ? "true" : "false", value ? 4 : 5);
    j->comma = true;
}

/* ---- the dump's parts ---- */

static void who(struct json *j, const struct rec_about *about) {
    object(j, "app");
    json_member_string(j, "id", about->app_id);
    json_member_string(j, "version", about->app_version);
    json_member_string(j, "build", about->app_build);
    json_end(j, '}');

    object(j, "device");
    json_member_string(j, "model", about->model);
    json_member_string(j, "os", about->os);
    json_member_string(j, "os_build", about->os_build);
    json_member_string(j, "arch", about->arch);
    if (about->cpus != 0) {
        json_member_number(j, "cpus", about->cpus);
    }
    json_end(j, '}');

    json_member_string(j, "user", about->user);
}

/* Writes the member "policy". seq_today: the dump's number among the day's dumps; 0 = none, as for
 * a session. */
static void policy(struct json *j, const struct rec_about *about, uint32_t seq_today) {
    object(j, "policy");
    json_member_string(j, "preset", about->preset);
    if (about->user_share_ppm != 0) {
        json_member_number(j, "user_share_ppm", about->user_share_ppm);
    }
    if (about->policy_known) {
        member_bool(j, "whitelisted", about->whitelisted);
    }
    if (seq_today != 0) {
        json_member_number(j, "seq_today", seq_today);
    }
    json_end(j, '}');
}

static void context(struct json *j, const struct rec_context_copy *context) {
    if (context->count == 0) {
        return;
    }
    object(j, "context");
    for (uint32_t i = 0; i < context->count; i++) {
        json_member_string(j, context->pairs[i].key, context->pairs[i].value);
    }
    json_end(j, '}');
}

static void head(struct json *j, const char *format, const uint8_t id[REC_UUID_SIZE],
                 int64_t wall_ms) {
    char id_text[REC_UUID_TEXT], time[REC_TIME_TEXT];
    json_member_string(j, "format", format);
    json_member_string(j, "id", rec_uuid_text(id, id_text));
    json_member_string(j, "time", rec_time_text(wall_ms, time));
}

const char *const rec_activity_names[STALLREC_ACTIVITY_EXIT + 1] = {
    [STALLREC_ACTIVITY_ENTRY] = "entry",
    [STALLREC_ACTIVITY_BEFORE_TIMERS] = "before-timers",
    [STALLREC_ACTIVITY_BEFORE_SOURCES] = "before-sources",
    [STALLREC_ACTIVITY_BEFORE_WAITING] = "before-waiting",
    [STALLREC_ACTIVITY_AFTER_WAITING] = "after-waiting",
    [STALLREC_ACTIVITY_EXIT] = "exit",
};

static const char *activity_text(uint32_t activity) {
    return activity <= STALLREC_ACTIVITY_EXIT ? rec_activity_names[activity] : NULL;
}

static void states(struct json *j, const struct rec_stall *stall) {
    static const char *const went[] = {
        [REC_WENT_WAKE] = "wake", [REC_WENT_SLEEP] = "sleep", [REC_WENT_TURN] = "turn"};
    if (stall->state_count == 0) {
        return;
    }
    array(j, "states");
    for (uint32_t i = 0; i < stall->state_count && i < REC_TRANSITIONS; i++) {
        const struct rec_loop_state *state = &stall->states[i];
        const char *word = activity_text(state->what);
        if (word == NULL && state->what < sizeof went / sizeof *went) {
            word = went[state->what];
        }
        if (word != NULL) {
            json_begin(j, '[');
            signed_number(j, state->at_ms);
            string(j, word);
            json_end(j, ']');
        }
    }
    json_end(j, ']');
}

static const char *app_text(enum rec_app app) {
    if (app == REC_APP_FOREGROUND) {
        return "foreground";
    }
    return app == REC_APP_BACKGROUND ? "background" : NULL;
}

static void stall(struct json *j, const struct rec_dump *dump, const struct rec_about *about) {
    const struct rec_stall *stall = &dump->stall;
    char id[REC_UUID_TEXT];
    object(j, "stall");
    json_member_string(j, "id", rec_uuid_text(stall->id, id));
    json_member_number(j, "seq", stall->seq);
    json_member_string(j, "kind", stall->kind);
    json_member_string(j, "detector", stall->detector);
    json_member_string(j, "loop_at", about->loop_at);
    if (about->other_thread && dump->thread_count > 0) {
        object(j, "thread");
        json_member_number(j, "id", (uint64_t)dump->threads[0].id);
        json_member_string(j, "name", dump->threads[0].name);
        json_end(j, '}');
    }
    json_member_string(j, "edges", about->sampled_edges || stall->sampled_edges ? "sampled" : NULL);
    json_member_string(j, "action", stall->action[0] != '\0' ? stall->action : NULL);
    if (stall->prewarmed) {
        member_bool(j, "prewarmed", true);
    }
    json_member_string(j, "activity", activity_text(stall->activity));
    json_member_string(j, "mode", stall->mode[0] != '\0' ? stall->mode : NULL);
    states(j, stall);
    json_member_number(j, "threshold_ms", stall->threshold_ms);
    json_member_number(j, "at_ms", stall->at_ms);
    json_member_number(j, "duration_ms", stall->duration_ms);
    json_member_number(j, "span_ms", stall->span_ms);
    member_bool(j, "ended", stall->ended);
    member_bool(j, "fatal", stall->fatal);
    json_member_number(j, "gap_ms", stall->gap_ms);
    if (stall->cpu_permille >= 0) {
        json_member_number(j, "cpu_permille", (uint64_t)stall->cpu_permille);
    }
    if (stall->top_thread_name[0] != '\0') {
        object(j, "top_thread");
        json_member_number(j, "id", (uint64_t)stall->top_thread);
        json_member_string(j, "name", stall->top_thread_name);
        json_end(j, '}');
    }
    json_member_number(j, "suppressed", stall->suppressed);
    json_member_string(j, "app_state", app_text(dump->context.app));
    json_end(j, '}');
}

static const char *json_base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

static void upper_case(char *text) {
    for (; *text != '\0'; text++) {
        if (*text >= 'a' && *text <= 'f') {
            *text = (char)(*text - 'a' + 'A');
        }
    }
}

static void image_id(struct json *j, const struct rec_image *image) {
    char text[2 * REC_IMAGE_ID_MAX + 1];
    if (image->id_kind == REC_ID_UUID && image->id_len == REC_UUID_SIZE) {
        rec_uuid_text(image->id, text);
        upper_case(text);
        json_member_string(j, "uuid", text);
    } else if (image->id_kind == REC_ID_BUILD && image->id_len <= REC_IMAGE_ID_MAX) {
        json_member_string(j, "build_id", rec_hex_text(image->id, image->id_len, text));
    }
}

static void path(struct json *j, const char *name, const char *text, const char *home) {
    const char *rest = rec_redact_rest(text, home);
    key(j, name);
    if (rest == NULL) {
        string(j, text);
        return;
    }
    raw(j, "\"~", 2);
    characters(j, rest);
    raw(j, "\"", 1);
    j->comma = true;
}

static void images(struct json *j, const struct rec_dump *dump, const struct rec_about *about) {
    array(j, "images");
    for (uint32_t i = 0; i < dump->image_count; i++) {
        const struct rec_image *image = &dump->images[i];
        json_begin(j, '{');
        image_id(j, image);
        if (image->path != NULL) {
            json_member_string(j, "name", json_base_name(image->path));
            path(j, "path", image->path, about->home);
        }
        json_member_string(j, "arch", image->arch != NULL ? image->arch : about->arch);
        json_member_number(j, "load", image->load);
        json_member_number(j, "size", image->size);
        member_bool(j, "in_app", image->in_app);
        json_end(j, '}');
    }
    json_end(j, ']');
}

/* Writes the members of a stack into the open object of its thread or sample. */
static void frames(struct json *j, const struct rec_stack *stack) {
    array(j, "frames");
    for (uint32_t i = 0; i < stack->count; i++) {
        json_number(j, stack->frames[i]);
    }
    json_end(j, ']');
    if (stack->exact_count > 0) {
        array(j, "exact");
        for (uint32_t i = 0; i < stack->exact_count && stack->exact[i] < stack->count; i++) {
            json_number(j, stack->exact[i]);
        }
        json_end(j, ']');
    }
    if (stack->truncated) {
        member_bool(j, "truncated", true);
    }
    if (stack->incomplete) {
        member_bool(j, "incomplete", true);
    }
}

static void waits_for(struct json *j, const struct rec_wait *wait) {
    static const char *const kinds[] = {[REC_WAIT_MUTEX] = "mutex",
                                        [REC_WAIT_RWLOCK] = "rwlock",
                                        [REC_WAIT_THREAD] = "thread",
                                        [REC_WAIT_TERMINAL] = "terminal",
                                        [REC_WAIT_STDIN] = "stdin"};
    if (wait->kind == REC_WAIT_NONE) {
        return;
    }
    object(j, "waits_for");
    json_member_string(j, "kind", kinds[wait->kind]);
    if (wait->address != 0) {
        json_member_number(j, "address", wait->address);
    }
    if (wait->owner >= 0) {
        member_signed(j, "owner", wait->owner);
    }
    json_end(j, '}');
}

static void threads(struct json *j, const struct rec_dump *dump) {
    static const char *const states[] = {[REC_STATE_UNKNOWN] = NULL,
                                         [REC_STATE_RUNNING] = "running",
                                         [REC_STATE_WAITING] = "waiting",
                                         [REC_STATE_BLOCKED] = "blocked",
                                         [REC_STATE_STOPPED] = "stopped"};
    if (dump->threads_left_out > 0) {
        json_member_number(j, "threads_left_out", dump->threads_left_out);
    }
    array(j, "threads");
    for (uint32_t i = 0; i < dump->thread_count; i++) {
        const struct rec_thread *thread = &dump->threads[i];
        json_begin(j, '{');
        member_signed(j, "id", thread->id);
        json_member_string(j, "name", thread->name[0] != '\0' ? thread->name : NULL);
        member_bool(j, "main", thread->main);
        json_member_string(j, "state", states[thread->state]);
        if (thread->cpu_ns != UINT64_MAX) {
            json_member_number(j, "cpu_ms", thread->cpu_ns / 1000000);
        }
        if (thread->cpu_permille > 0) {
            json_member_number(j, "cpu_permille", thread->cpu_permille);
        }
        waits_for(j, &thread->waits_for);
        frames(j, &thread->stack);
        json_end(j, '}');
    }
    json_end(j, ']');
}

static void samples(struct json *j, const struct rec_dump *dump) {
    object(j, "samples");
    json_member_number(j, "interval_ms", dump->interval_ms);
    array(j, "stacks");
    for (uint32_t i = 0; i < dump->stack_count; i++) {
        json_begin(j, '{');
        json_member_number(j, "count", dump->stacks[i].count);
        frames(j, &dump->stacks[i].stack);
        json_end(j, '}');
    }
    json_end(j, ']');
    array(j, "ring");
    for (uint32_t i = 0; i < dump->ring_count; i++) {
        signed_number(j, dump->ring[i]);
    }
    json_end(j, ']');
    json_end(j, '}');
    if (dump->heaviest >= 0) {
        object(j, "heaviest");
        member_signed(j, "stack", dump->heaviest);
        json_member_number(j, "repeats", dump->heaviest_repeats);
        json_end(j, '}');
    }
}

static void names(struct json *j, const struct rec_dump *dump) {
    char text[2 + 16 + 1] = "0x";
    if (dump->name_count == 0) {
        return;
    }
    object(j, "names");
    for (uint32_t i = 0; i < dump->name_count; i++) {
        const struct rec_code_name *name = &dump->names[i];
        uint8_t bytes[8];
        for (unsigned k = 0; k < sizeof bytes; k++) {
            bytes[k] = (uint8_t)(name->address >> (56 - 8 * k));
        }
        rec_hex_text(bytes, sizeof bytes, text + 2);
        array(j, text);
        string(j, name->symbol);
        json_number(j, name->offset);
        if (name->file != NULL) {
            string(j, name->file);
            json_number(j, name->line);
            raw(j, name->in_app ? ",true" : "", name->in_app ? 5 : 0);
        }
        json_end(j, ']');
    }
    json_end(j, '}');
}

static void meter(struct json *j, const struct rec_meter *meter, bool unspooled) {
    object(j, "meter");
    json_member_number(j, "samples", meter->samples);
    json_member_number(j, "unavailable", meter->unavailable);
    object(j, "pause_us");
    json_member_number(j, "p50", meter->pause_p50_us);
    json_member_number(j, "max", meter->pause_max_us);
    json_end(j, '}');
    json_member_number(j, "monitor_cpu_us", meter->monitor_cpu_us);
    if (unspooled) {
        member_bool(j, "spooled", false);
    }
    json_end(j, '}');
}

void rec_dump_json(struct rec_out *out, const struct rec_dump *dump,
                   const struct rec_about *about) {
    struct json j = {.out = out};
    json_begin(&j, '{');
    head(&j, "stall-dump/1", dump->id, dump->wall_ms);
    who(&j, about);
    context(&j, &dump->context);
    policy(&j, about, about->seq_today);
    stall(&j, dump, about);
    images(&j, dump, about);
    threads(&j, dump);
    samples(&j, dump);
    names(&j, dump);
    json_member_string(&j, "lack", dump->lack[0] != '\0' ? dump->lack : NULL);
    meter(&j, &dump->meter, about->unspooled);
    json_end(&j, '}');
    raw(&j, "\n", 1);
    flush(&j);
}

/* ---- a session ---- */

static void tier(struct json *j, const char *name, const struct rec_tier *at) {
    object(j, name);
    json_member_number(j, "stalls", at->stalls);
    json_member_number(j, "stalled_ms", at->stalled_ms);
    json_end(j, '}');
}

static void session_watched(struct json *j, const struct rec_watched *watched) {
    static const char *const reasons[REC_UNWATCHED_REASONS] = {
        [REC_UNWATCHED_LAUNCH] = "launch",       [REC_UNWATCHED_NO_LOOP] = "no_loop",
        [REC_UNWATCHED_GIVEN_UP] = "given_up",   [REC_UNWATCHED_FORGOTTEN] = "forgotten",
        [REC_UNWATCHED_SUSPENDED] = "suspended", [REC_UNWATCHED_UNCLEAR] = "unclear"};
    json_member_number(j, "wall_ms", watched->wall_ms);
    json_member_number(j, "watched_ms", watched->watched_ms);
    if (watched->input_ms > 0) {
        json_member_number(j, "input_ms", watched->input_ms);
    }
    object(j, "unwatched");
    for (uint32_t i = 0; i < REC_UNWATCHED_REASONS; i++) {
        if (watched->unwatched_ms[i] > 0) {
            json_member_number(j, reasons[i], watched->unwatched_ms[i]);
        }
    }
    json_end(j, '}');
}

void rec_session_json(struct rec_out *out, const struct rec_session *session,
                      const struct rec_about *about) {
    struct json j = {.out = out};
    json_begin(&j, '{');
    head(&j, "stall-session/1", session->id, session->start_ms);
    who(&j, about);
    policy(&j, about, 0);
    json_member_number(&j, "length_ms", session->length_ms);
    json_member_number(&j, "foreground_ms", session->foreground_ms);
    session_watched(&j, &session->watched);
    json_member_number(&j, "launches", session->launches);
    member_bool(&j, "ended", session->ended);
    object(&j, "tiers");
    tier(&j, "hang", &session->hang);
    tier(&j, "severe", &session->severe);
    tier(&j, "fatal", &session->fatal);
    json_end(&j, '}');
    json_member_number(&j, "low_rates", session->low_rates);
    json_member_number(&j, "events_dropped", session->events_dropped);
    object(&j, "dumps");
    json_member_number(&j, "written", session->written);
    json_member_number(&j, "suppressed", session->suppressed);
    json_member_number(&j, "over_quota", session->over_quota);
    json_member_number(&j, "lost", session->lost);
    json_end(&j, '}');
    json_end(&j, '}');
    raw(&j, "\n", 1);
    flush(&j);
}
