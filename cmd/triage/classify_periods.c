/* Counts the dumps of answered lines by hour or day. */
#include "triage/classify_periods.h"

#include <string.h>

#include "base/strbuf.h"
#include "dump/input/answer_head.h"

/* Writes the name of the period of a time. */
static void name_period(const struct classify_periods *p, const char *time,
                        char name[CLASSIFY_PERIOD_NAME]) {
    size_t len = time ? answer_head_hour(time) : 0;
    if (len == 0) {
        time = "unknown";
        len = strlen(time);
    } else if (p->daily) {
        len = sizeof "0000-00-00" - 1;
    }
    memcpy(name, time, len);
    name[len] = '\0';
}

enum st classify_period_at(struct classify_periods *p, const char *time, struct triage **out,
                           struct err *e) {
    struct classify_period row = {0};
    name_period(p, time, row.name);
    size_t low = 0;
    for (size_t high = p->rows.len; low < high;) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(p->rows.data[middle].name, row.name);
        if (order == 0) {
            *out = p->rows.data[middle].triage;
            return ST_OK;
        }
        low = order < 0 ? middle + 1 : low;
        high = order < 0 ? high : middle;
    }
    if (triage_new(&row.triage, &p->options, e) != ST_OK) {
        return ST_ERR;
    }
    if (!VEC_INSERT(&p->rows, low)) {
        triage_free(row.triage);
        return err_nomem(e);
    }
    p->rows.data[low] = row;
    *out = row.triage;
    return ST_OK;
}

/* Writes a partial as one line behind its head. text: scratch, whose content is replaced. */
static enum st write_period(const struct classify_period *row, struct strbuf *text,
                            struct sink *out, struct err *e) {
    strbuf_clear(text);
    struct sink lines = sink_to_strbuf(text);
    enum st st = triage_fold(row->triage, e);
    st = st == ST_OK ? triage_write_partial(row->triage, &lines, e) : st;
    if (sink_close(&lines, st == ST_OK ? e : NULL) != ST_OK || st != ST_OK) {
        return ST_ERR;
    }
    for (size_t i = 0; i < text->len; i++) {
        text->data[i] = text->data[i] == '\n' ? '\t' : text->data[i];
    }
    const struct answer_head head = {.kind = "partial", .id = row->name};
    answer_head_write(&head, text->len, out);
    sink_write(out, text->data, text->len);
    sink_char(out, '\n');
    return ST_OK;
}

static void forget_periods(struct classify_periods *p) {
    for (size_t i = 0; i < p->rows.len; i++) {
        triage_free(p->rows.data[i].triage);
    }
    p->rows.len = 0;
}

enum st classify_periods_write(struct classify_periods *p, struct sink *out, struct err *e) {
    struct strbuf text = {0};
    enum st st = ST_OK;
    for (size_t i = 0; st == ST_OK && i < p->rows.len; i++) {
        st = write_period(&p->rows.data[i], &text, out, e);
    }
    strbuf_release(&text);
    forget_periods(p);
    return st;
}

void classify_periods_release(struct classify_periods *p) {
    forget_periods(p);
    VEC_RELEASE(&p->rows);
}
