/* Reads Sentry's envelopes. */
#include "dump/input/envelope.h"

#include <string.h>

#include "base/parse.h"

/* Takes the next line, without its line end; false at the end of the text. */
static bool next_line(struct span *rest, struct span *line) {
    if (rest->p >= rest->end) {
        return false;
    }
    const char *feed = memchr(rest->p, '\n', (size_t)(rest->end - rest->p));
    *line = (struct span){rest->p, feed ? feed : rest->end};
    rest->p = feed ? feed + 1 : rest->end;
    if (line->end > line->p && line->end[-1] == '\r') {
        line->end--;
    }
    return true;
}

static bool is_object_line(struct span line) {
    span_skip_space(&line);
    return line.p < line.end && *line.p == '{' && span_is_container(line);
}

bool envelope_is_header(struct span line) {
    static const char *const names[] = {"event_id", "dsn", "sdk", "sent_at", "trace"};
    struct span rest = line, key, value;
    bool any = false;
    span_skip_space(&rest);
    if (rest.p == rest.end || *rest.p != '{') {
        return false;
    }
    /* The members' names are checked before their values: the first name alone rules out most
     * documents. */
    while (span_next(&rest, &key, &value)) {
        bool known = false;
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            known = known || span_is(key, names[i]);
        }
        if (!known) {
            return false;
        }
        any = true;
    }
    return any && is_object_line(line);
}

bool envelope_is_item(struct span line, uint64_t *length) {
    struct span key, value;
    bool typed = false;
    *length = UINT64_MAX;
    if (!is_object_line(line)) {
        return false;
    }
    while (span_next(&line, &key, &value)) {
        if (span_is(key, "type")) {
            typed = value.p < value.end && *value.p == '"';
        } else if (span_is(key, "length")) {
            (void)parse_u64(value.p, (size_t)(value.end - value.p), UINT32_MAX, length);
        } else if (span_is(key, "event_id")) {
            return false; /* the line is an event, or the header of another envelope */
        }
    }
    return typed;
}

bool envelope_is(struct span text) {
    struct span line;
    uint64_t length;
    if (!next_line(&text, &line) || !envelope_is_header(line)) {
        return false;
    }
    while (next_line(&text, &line)) {
        if (line.p < line.end) {
            return envelope_is_item(line, &length);
        }
    }
    return false;
}

/* Takes the payload after an item's line: `length` bytes, or one line for UINT64_MAX; false: the
 * text is too short. */
static bool next_payload(struct span *rest, uint64_t length, struct span *payload) {
    if (length == UINT64_MAX) {
        return next_line(rest, payload);
    }
    if (length > (uint64_t)(rest->end - rest->p)) {
        return false;
    }
    *payload = (struct span){rest->p, rest->p + length};
    rest->p += length;
    return true;
}

struct span envelope_items(struct span text) {
    struct span line;
    (void)next_line(&text, &line);
    return text;
}

enum st envelope_next(struct span *items, struct span *payload, struct err *e) {
    struct span line;
    uint64_t length;
    do {
        if (!next_line(items, &line)) {
            return ST_NONE;
        }
    } while (line.p == line.end);
    if (!envelope_is_item(line, &length)) {
        return err_set(e, ERR_FORMAT, "not an item of an envelope");
    }
    return next_payload(items, length, payload)
               ? ST_OK
               : err_set(e, ERR_TRUNCATED, "an item of the envelope is cut short");
}
