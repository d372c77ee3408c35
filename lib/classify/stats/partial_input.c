/* Merges partials line by line as they are read. */
#include "classify/stats/partial_input.h"

#include <inttypes.h>
#include <string.h>

enum { READ_SIZE = 1 << 16 };

enum st partial_input_open(struct partial_input *m, struct err *e) {
    m->line.limit = PARTIAL_LINE_MAX;
    return partial_reader_new(&m->reader, e);
}

static void partial_fail(struct partial_input *m, const char *name, const struct err *e) {
    struct strbuf where = {0};
    strbuf_addf(&where, "%s:%" PRIu64, name, m->number);
    m->fail(m->ctx, strbuf_cstr(&where), e);
    strbuf_release(&where);
}

/* False: no more of this input. */
static bool partial_line(struct partial_input *m, const char *name) {
    struct triage *part = NULL;
    struct err e = {0};
    m->number++;
    if (m->line.len == 0) {
        return true;
    }
    enum st st = strbuf_check(&m->line, &e) == ST_OK
                     ? partial_reader_line(m->reader, m->line.data, m->line.len, &part, &e)
                     : ST_ERR;
    strbuf_clear(&m->line);
    m->found += st == ST_OK;
    if (st == ST_OK && m->merged) {
        st = triage_merge(m->merged, part, &e);
        triage_free(part);
    } else if (st == ST_OK) {
        m->merged = part;
    }
    if (st == ST_ERR) {
        partial_fail(m, name, &e);
    }
    return st != ST_ERR;
}

/* Cuts the bytes that were read into lines. False: no more of this input. */
static bool partial_bytes(struct partial_input *m, const char *name, const char *bytes,
                          size_t len) {
    for (size_t at = 0; at < len;) {
        const char *newline = memchr(bytes + at, '\n', len - at);
        size_t rest = newline ? (size_t)(newline - bytes) - at : len - at;
        strbuf_add(&m->line, bytes + at, rest);
        at += rest + 1;
        if (m->line.failed || newline) {
            if (!partial_line(m, name)) {
                return false;
            }
        }
    }
    return true;
}

void partial_input_read(struct partial_input *m, struct gz_input *in, const char *name) {
    char bytes[READ_SIZE];
    size_t got;
    struct err e = {0};
    bool more = true;
    m->number = m->found = 0;
    strbuf_clear(&m->line);
    do {
        enum st st = gz_input_read(in, bytes, sizeof bytes, &got, &e);
        more = partial_bytes(m, name, bytes, got);
        if (st == ST_ERR && more) {
            partial_fail(m, name, &e);
            more = false;
        }
    } while (more && got > 0);
    more = more && partial_line(m, name);
    if (partial_reader_end(m->reader, &e) != ST_OK && more) {
        partial_fail(m, name, &e);
    } else if (more && !m->found) {
        err_set(&e, ERR_FORMAT, "empty: no partial in it");
        m->fail(m->ctx, name, &e);
    }
}

void partial_input_release(struct partial_input *m) {
    partial_reader_free(m->reader);
    strbuf_release(&m->line);
    m->reader = NULL;
}
