/* Runs the JSON grammar over a text, and writes the messages for errors in it. */
#include "dump/json/scan_private.h"

enum scan_event scan_feed(struct scan *s, const char *p, size_t len, size_t *used) {
    const char *at = p;
    struct token token = {0};
    enum scan_event event;
    do {
        event = scan_next(s, &at, p + len, &token);
    } while (event > SCAN_MANY);
    *used = (size_t)(at - p);
    return event;
}

enum st scan_refuse(const char *text, const char *at, enum err_code code, const char *why,
                    struct err *e) {
    unsigned long long line = 1, column = 1;
    for (const char *p = text; p < at; p++) {
        column++;
        if (*p == '\n') {
            line++;
            column = 1;
        }
    }
    if (line == 1) {
        return err_set(e, code, "%s at column %llu", why, column);
    }
    return err_set(e, code, "%s at line %llu, column %llu of the document", why, line, column);
}

enum st scan_begin(const char *text, size_t len, struct err *e) {
    const char *end = text + len, *p = token_skip_space(text, end);
    if (p == end || *p == '{' || *p == '[') {
        return ST_OK;
    }
    struct token token = {0};
    const char *next = token_read(p, end, &token);
    if (!next) {
        return scan_refuse(text, token.wrong < end ? token.wrong : text, ERR_FORMAT, "not JSON", e);
    }
    next = token_skip_space(next, end);
    return next == end ? ST_NONE : scan_refuse(text, next, ERR_FORMAT, "not JSON", e);
}

enum st scan_end(enum scan_event event, const char *at, const char *text, size_t len,
                 struct err *e) {
    switch (event) {
    case SCAN_MORE:
        return err_set(e, ERR_TRUNCATED, "the JSON text is cut short");
    case SCAN_DEEP:
        return scan_refuse(text, at, ERR_LIMIT, "nested too deep", e);
    case SCAN_MANY:
        return scan_refuse(text, at, ERR_LIMIT, "too many values", e);
    case SCAN_DONE:
        at = token_skip_space(at, text + len);
        if (at == text + len) {
            return ST_OK;
        }
        return scan_refuse(text, at, ERR_FORMAT, "something follows the JSON text", e);
    default:
        return scan_refuse(text, at, ERR_FORMAT, "not JSON", e);
    }
}

enum st scan_check(const char *text, size_t len, unsigned depth_max, struct err *e) {
    struct scan s = {.depth_max = depth_max};
    size_t used = 0;
    enum st st = scan_begin(text, len, e);
    if (st != ST_OK) {
        return st;
    }
    enum scan_event event = scan_feed(&s, text, len, &used);
    return scan_end(event, text + used, text, len, e);
}
