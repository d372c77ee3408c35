/* Reads and writes the records of --answer-each. */
#include "dump/input/stream_record.h"

#include <string.h>

#include "base/jsonw.h"
#include "base/utf8.h"
#include "dump/json/scan_private.h"

static const char input_format[] = "stall-input/1";

/* Finds the member of an object, valid JSON or not; if two have that name, the first one. False:
 * the object has none. */
static bool find_record_member(struct span object, const char *name, struct span *value) {
    struct span key;
    while (span_next(&object, &key, value)) {
        if (span_is(key, name)) {
            return true;
        }
    }
    return false;
}

/* Does the string (with its quotes) begin with this text? */
static bool string_begins(struct span string, const char *text) {
    size_t len = strlen(text);
    return (size_t)(string.end - string.p) > len && *string.p == '"' &&
           memcmp(string.p + 1, text, len) == 0;
}

static bool begins_object(struct span text) {
    return text.p < text.end && *text.p == '{';
}

static enum stream_record record_of_list(struct span array) {
    struct span rest = array, first, format;
    if (!span_is_container(array)) {
        return RECORD_OTHER;
    }
    bool any = span_next(&rest, NULL, &first);
    bool ours = any && begins_object(first) && find_record_member(first, "format", &format) &&
                string_begins(format, "stall-");
    return ours || !any ? RECORD_LIST : RECORD_OTHER;
}

enum stream_record stream_record_of(struct span text) {
    /* The first bytes of a dump as the recorder and stallsym write it. */
    static const char dump[] = "{\"format\":\"stall-dump/";
    struct span format;
    span_skip_space(&text);
    if ((size_t)(text.end - text.p) >= sizeof dump && memcmp(text.p, dump, sizeof dump - 1) == 0) {
        return RECORD_OTHER;
    }
    if (text.p < text.end && *text.p == '[') {
        return record_of_list(text);
    }
    if (!begins_object(text) || !find_record_member(text, "format", &format)) {
        return RECORD_OTHER;
    }
    if (string_begins(format, "stall-input/")) {
        return RECORD_INPUT;
    }
    return string_begins(format, "stall-refused/") ? RECORD_REFUSED : RECORD_OTHER;
}

/* ---- stall-input/1 ---- */

/* Appends the decoded text of a JSON string, whose grammar was checked. ST_NONE: the value is
 * not a string. */
static enum st add_record_string(struct strbuf *out, struct span value, struct err *e) {
    struct token t = {0};
    if (value.p == value.end || *value.p != '"' || !token_string(value.p, value.end, &t)) {
        return ST_NONE;
    }
    if (t.kind != VALUE_ESCAPED) {
        strbuf_add(out, t.text, t.len);
        return strbuf_check(out, e);
    }
    /* token_decode may write three bytes for each byte of the token. */
    char *room = strbuf_room(out, 3 * (size_t)t.len);
    if (room) {
        strbuf_took(out, token_decode(t.text, t.len, room));
    }
    return strbuf_check(out, e);
}

enum st stream_record_string(struct span *rest, struct strbuf *out, struct err *e) {
    while (rest->p < rest->end && (rest->p = memchr(rest->p, '"', (size_t)(rest->end - rest->p)))) {
        struct token t = {0};
        const struct span string = *rest;
        const char *behind = token_string(rest->p, rest->end, &t);
        if (!behind) {
            break;
        }
        rest->p = token_skip_space(behind, rest->end);
        if (rest->p == rest->end || *rest->p != ':') { /* the string is no member's name */
            strbuf_clear(out);
            return add_record_string(out, (struct span){string.p, behind}, e);
        }
    }
    rest->p = rest->end;
    return ST_NONE;
}

enum st stall_input_read(struct stall_input *out, struct span text, struct err *e) {
    struct span value;
    enum st st = scan_check(text.p, (size_t)(text.end - text.p), 0, e);
    if (st == ST_ERR) {
        return ST_ERR;
    }
    if (!find_record_member(text, "format", &value) || !span_is(value, input_format)) {
        return err_set(e, ERR_UNSUPPORTED, "format %.*s is another version than %s",
                       (int)(value.end - value.p > 64 ? 64 : value.end - value.p), value.p,
                       input_format);
    }
    if (find_record_member(text, "name", &value) &&
        add_record_string(&out->name, value, e) == ST_ERR) {
        return ST_ERR;
    }
    st = find_record_member(text, "text", &value) ? add_record_string(&out->text, value, e)
                                                  : ST_NONE;
    if (st == ST_NONE) {
        return err_set(e, ERR_FORMAT, "%s without a text", input_format);
    }
    size_t mark = st == ST_OK ? utf8_mark(strbuf_cstr(&out->text), out->text.len) : 0;
    if (mark) {
        memmove(out->text.data, out->text.data + mark, out->text.len - mark);
        strbuf_truncate(&out->text, out->text.len - mark);
    }
    return st;
}

void stall_input_release(struct stall_input *in) {
    strbuf_release(&in->name);
    strbuf_release(&in->text);
}

/* ---- stall-refused/1 ---- */

enum st stall_refused_reason(struct strbuf *out, struct span text, struct err *e) {
    struct span value;
    return find_record_member(text, "reason", &value) ? add_record_string(out, value, e) : ST_NONE;
}

enum st stall_refused_tell(struct span text, struct err *e) {
    struct strbuf reason = {0}, where = {0};
    struct span value;
    enum st st = ST_OK;
    if (stall_refused_reason(&reason, text, e) == ST_ERR) {
        st = ST_ERR;
    }
    if (st != ST_ERR && find_record_member(text, "where", &value)) {
        st = add_record_string(&where, value, e);
    }
    if (st != ST_ERR) {
        err_set(e, ERR_FORMAT, "refused before: %s%s%s",
                reason.len ? strbuf_cstr(&reason) : "without a reason", where.len ? ", at " : "",
                strbuf_cstr(&where));
    }
    strbuf_release(&reason);
    strbuf_release(&where);
    return ST_ERR;
}

void stall_refused_write(const char *where, const struct err *why, struct sink *out) {
    struct jsonw w = jsonw_init(out);
    jsonw_begin_object(&w);
    jsonw_member_cstr(&w, "format", "stall-refused/1");
    jsonw_member_cstr(&w, "reason", why->text);
    jsonw_member_cstr(&w, "where", where);
    jsonw_end_object(&w);
    sink_char(out, '\n');
}
