/* A dump as stall-dump/1 text. */
#include "files/dump_json.h"

#include <string.h>

#include "support/rec_text.h"
#include "support/redact.h"
#include "files/session.h"
#include "stallrec.h"

/* Collects small pieces, so that the compressor behind is not called for every comma. */
struct json {
    struct rec_out *out;
    size_t len;
    bool comma; /* a value precedes the next one in this container */
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

static void begin(struct json *j, char bracket) {
    separate(j);
    raw(j, &bracket, 1);
    j->comma = false;
}

static void end(struct json *j, char bracket) {
    raw(j, &bracket, 1);
    j->comma = true;
}

/* ---- strings ---- */

/* Length of the well-formed UTF-8 sequence at s (RFC 3629, table 3-7 of Unicode), 0 if there is
 * none. */
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
        for (size_t k = 1; k < forms[i].len; k++) { /* a NUL is refused, so the end is not passed */
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
    begin(j, '{');
}

static void array(struct json *j, const char *name) {
    key(j, name);
    begin(j, '[');
}

static void number(struct json *j, uint64_t value) {
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
    number(j, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

static void member_string(struct json *j, const char *name, const char *text) {
    if (text != NULL) {
        key(j, name);
        string(j, text);
    }
}

static void member_number(struct json *j, const char *name, uint64_t value) {
    key(j, name);
    number(j, value);
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
    member_string(j, "id", about->app_id);
    member_string(j, "version", about->app_version);
    member_string(j, "build", about->app_build);
    end(j, '}');

    object(j, "device");
    member_string(j, "model", about->model);
    member_string(j, "os", about->os);
    member_string(j, "os_build", about->os_build);
    member_string(j, "arch", about->arch);
    if (about->cpus != 0) {
        member_number(j, "cpus", about->cpus);
    }
    end(j, '}');

    member_string(j, "user", about->user);
}

/* seq_today 0: the dump is not counted among the day's dumps. */
static void policy(struct json *j, const struct rec_about *about, uint32_t seq_today) {
    object(j, "policy");
    member_string(j, "preset", about->preset);
    if (about->user_share_ppm != 0) {
        member_number(j, "user_share_ppm", about->user_share_ppm);
    }
    if (about->policy_known) {
        member_bool(j, "whitelisted", about->whitelisted);
    }
    if (seq_today != 0) {
        member_number(j, "seq_today", seq_today);
    }
    end(j, '}');
}

static void context(struct json *j, const struct rec_context_copy *context) {
    if (context->count == 0) {
        return;
    }
    object(j, "context");
    for (uint32_t i = 0; i < context->count; i++) {
        member_string(j, context->pairs[i].key, context->pairs[i].value);
    }
    end(j, '}');
}

static void head(struct json *j, const char *format, const uint8_t id[REC_UUID_SIZE],
                 int64_t wall_ms) {
    char id_text[REC_UUID_TEXT], time[REC_TIME_TEXT];
    member_string(j, "format", format);
    member_string(j, "id", rec_uuid_text(id, id_text));
    member_string(j, "time", rec_time_text(wall_ms, time));
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

static const char *app_text(enum rec_app app) {
    return app == REC_APP_FOREGROUND   ? "foreground"
           : app == REC_APP_BACKGROUND ? "background"
                                       : NULL;
}

static void stall(struct json *j, const struct rec_dump *dump, const char *loop_at) {
    const struct rec_stall *stall = &dump->stall;
    char id[REC_UUID_TEXT];
    object(j, "stall");
    member_string(j, "id", rec_uuid_text(stall->id, id));
    member_number(j, "seq", stall->seq);
    member_string(j, "kind", stall->kind);
    member_string(j, "detector", stall->detector);
    member_string(j, "loop_at", loop_at);
    member_string(j, "action", stall->action[0] != '\0' ? stall->action : NULL);
    if (stall->prewarmed) {
        member_bool(j, "prewarmed", true);
    }
    member_string(j, "activity", activity_text(stall->activity));
    member_number(j, "threshold_ms", stall->threshold_ms);
    member_number(j, "at_ms", stall->at_ms);
    member_number(j, "duration_ms", stall->duration_ms);
    member_number(j, "span_ms", stall->span_ms);
    member_bool(j, "ended", stall->ended);
    member_bool(j, "fatal", stall->fatal);
    member_number(j, "gap_ms", stall->gap_ms);
    if (stall->cpu_permille >= 0) {
        member_number(j, "cpu_permille", (uint64_t)stall->cpu_permille);
    }
    if (stall->top_thread_name[0] != '\0') {
        object(j, "top_thread");
        member_number(j, "id", (uint64_t)stall->top_thread);
        member_string(j, "name", stall->top_thread_name);
        end(j, '}');
    }
    member_number(j, "suppressed", stall->suppressed);
    member_string(j, "app_state", app_text(dump->context.app));
    end(j, '}');
}

static const char *base_name(const char *path) {
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
        member_string(j, "uuid", text);
    } else if (image->id_kind == REC_ID_BUILD && image->id_len <= REC_IMAGE_ID_MAX) {
        member_string(j, "build_id", rec_hex_text(image->id, image->id_len, text));
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
        begin(j, '{');
        image_id(j, image);
        if (image->path != NULL) {
            member_string(j, "name", base_name(image->path));
            path(j, "path", image->path, about->home);
        }
        member_string(j, "arch", image->arch != NULL ? image->arch : about->arch);
        member_number(j, "load", image->load);
        member_number(j, "size", image->size);
        member_bool(j, "in_app", image->in_app);
        end(j, '}');
    }
    end(j, ']');
}

/* Members of the stack, inside its thread or sample. */
static void frames(struct json *j, const struct rec_stack *stack) {
    array(j, "frames");
    for (uint32_t i = 0; i < stack->count; i++) {
        number(j, stack->frames[i]);
    }
    end(j, ']');
    if (stack->exact_count > 0) {
        array(j, "exact");
        for (uint32_t i = 0; i < stack->exact_count && stack->exact[i] < stack->count; i++) {
            number(j, stack->exact[i]);
        }
        end(j, ']');
    }
    if (stack->truncated) {
        member_bool(j, "truncated", true);
    }
}

static void waits_for(struct json *j, const struct rec_wait *wait) {
    static const char *const kinds[] = {
        [REC_WAIT_MUTEX] = "mutex", [REC_WAIT_RWLOCK] = "rwlock", [REC_WAIT_THREAD] = "thread"};
    if (wait->kind == REC_WAIT_NONE) {
        return;
    }
    object(j, "waits_for");
    member_string(j, "kind", kinds[wait->kind]);
    if (wait->address != 0) {
        member_number(j, "address", wait->address);
    }
    if (wait->owner >= 0) {
        member_signed(j, "owner", wait->owner);
    }
    end(j, '}');
}

static void threads(struct json *j, const struct rec_dump *dump) {
    static const char *const states[] = {[REC_STATE_UNKNOWN] = NULL,
                                         [REC_STATE_RUNNING] = "running",
                                         [REC_STATE_WAITING] = "waiting",
                                         [REC_STATE_BLOCKED] = "blocked",
                                         [REC_STATE_STOPPED] = "stopped"};
    if (dump->threads_left_out > 0) {
        member_number(j, "threads_left_out", dump->threads_left_out);
    }
    array(j, "threads");
    for (uint32_t i = 0; i < dump->thread_count; i++) {
        const struct rec_thread *thread = &dump->threads[i];
        begin(j, '{');
        member_signed(j, "id", thread->id);
        member_string(j, "name", thread->name[0] != '\0' ? thread->name : NULL);
        member_bool(j, "main", thread->main);
        member_string(j, "state", states[thread->state]);
        if (thread->cpu_ns != UINT64_MAX) {
            member_number(j, "cpu_ms", thread->cpu_ns / 1000000);
        }
        waits_for(j, &thread->waits_for);
        frames(j, &thread->stack);
        end(j, '}');
    }
    end(j, ']');
}

static void samples(struct json *j, const struct rec_dump *dump) {
    object(j, "samples");
    member_number(j, "interval_ms", dump->interval_ms);
    array(j, "stacks");
    for (uint32_t i = 0; i < dump->stack_count; i++) {
        begin(j, '{');
        member_number(j, "count", dump->stacks[i].count);
        frames(j, &dump->stacks[i].stack);
        end(j, '}');
    }
    end(j, ']');
    array(j, "ring");
    for (uint32_t i = 0; i < dump->ring_count; i++) {
        signed_number(j, dump->ring[i]);
    }
    end(j, ']');
    end(j, '}');
    if (dump->heaviest >= 0) {
        object(j, "heaviest");
        member_signed(j, "stack", dump->heaviest);
        member_number(j, "repeats", dump->heaviest_repeats);
        end(j, '}');
    }
}

static void meter(struct json *j, const struct rec_meter *meter, bool unspooled) {
    object(j, "meter");
    member_number(j, "samples", meter->samples);
    member_number(j, "unavailable", meter->unavailable);
    object(j, "pause_us");
    member_number(j, "p50", meter->pause_p50_us);
    member_number(j, "max", meter->pause_max_us);
    end(j, '}');
    member_number(j, "monitor_cpu_us", meter->monitor_cpu_us);
    if (unspooled) {
        member_bool(j, "spooled", false);
    }
    end(j, '}');
}

void rec_dump_json(struct rec_out *out, const struct rec_dump *dump,
                   const struct rec_about *about) {
    struct json j = {.out = out};
    begin(&j, '{');
    head(&j, "stall-dump/1", dump->id, dump->wall_ms);
    who(&j, about);
    context(&j, &dump->context);
    policy(&j, about, about->seq_today);
    stall(&j, dump, about->loop_at);
    images(&j, dump, about);
    threads(&j, dump);
    samples(&j, dump);
    meter(&j, &dump->meter, about->unspooled);
    end(&j, '}');
    raw(&j, "\n", 1);
    flush(&j);
}

/* ---- a session ---- */

static void tier(struct json *j, const char *name, const struct rec_tier *at) {
    object(j, name);
    member_number(j, "stalls", at->stalls);
    member_number(j, "stalled_ms", at->stalled_ms);
    end(j, '}');
}

void rec_session_json(struct rec_out *out, const struct rec_session *session,
                      const struct rec_about *about) {
    struct json j = {.out = out};
    begin(&j, '{');
    head(&j, "stall-session/1", session->id, session->start_ms);
    who(&j, about);
    policy(&j, about, 0);
    member_number(&j, "length_ms", session->length_ms);
    member_number(&j, "foreground_ms", session->foreground_ms);
    member_number(&j, "launches", session->launches);
    member_bool(&j, "ended", session->ended);
    object(&j, "tiers");
    tier(&j, "hang", &session->hang);
    tier(&j, "severe", &session->severe);
    tier(&j, "fatal", &session->fatal);
    end(&j, '}');
    member_number(&j, "low_rates", session->low_rates);
    member_number(&j, "events_dropped", session->events_dropped);
    object(&j, "dumps");
    member_number(&j, "written", session->written);
    member_number(&j, "suppressed", session->suppressed);
    member_number(&j, "over_quota", session->over_quota);
    member_number(&j, "lost", session->lost);
    end(&j, '}');
    end(&j, '}');
    raw(&j, "\n", 1);
    flush(&j);
}
