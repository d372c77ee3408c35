/* Reads partials and merges them line by line. */
#include "classify/stats/partial_input.h"

#include <inttypes.h>
#include <string.h>

enum st partial_input_open(struct partial_input *m, struct err *e) {
    return partial_reader_new(&m->reader, e);
}

static void partial_fail(struct partial_input *m, const char *name, const struct err *e) {
    struct strbuf where = {0};
    strbuf_addf(&where, "%s:%" PRIu64, name, m->number);
    m->fail(m->ctx, strbuf_cstr(&where), e);
    strbuf_release(&where);
}

/* Merges the partial if this line completes one. False: the rest of this input is skipped. */
static bool partial_line(struct partial_input *m, const char *name, const char *line, size_t len) {
    struct triage *part = NULL;
    struct err e = {0};
    if (len == 0) {
        return true;
    }
    enum st st = partial_reader_line(m->reader, line, len, &part, &e);
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

void partial_input_read(struct partial_input *m, struct gz_input *in, const char *name) {
    struct gz_lines lines = {.in = in, .cutter.limit = PARTIAL_LINE_MAX};
    const char *line;
    size_t len;
    struct err e = {0};
    enum st st = ST_OK;
    bool good = true;
    m->number = m->found = 0;
    while (good && st == ST_OK) {
        st = gz_lines_next(&lines, &line, &len, &e);
        m->number = lines.cutter.number;
        good = st != ST_OK || partial_line(m, name, line, len);
    }
    if (st == ST_ERR) {
        partial_fail(m, name, &e);
        good = false;
    }
    /* An error at the end of the input does not belong to the last line. */
    m->number += st == ST_NONE && !lines.cutter.unended;
    gz_lines_release(&lines);
    if (partial_reader_end(m->reader, &e) != ST_OK && good) {
        partial_fail(m, name, &e);
    } else if (good && !m->found) {
        err_set(&e, ERR_FORMAT, "empty: no partial in it");
        m->fail(m->ctx, name, &e);
    }
}

void partial_input_release(struct partial_input *m) {
    partial_reader_free(m->reader);
    m->reader = NULL;
}
