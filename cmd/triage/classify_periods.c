/* Counts the dumps and session records of answered lines by hour or day. */
#include "triage/classify_periods.h"

#include <string.h>

#include "base/search.h"
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
    size_t at;
    LOWER_BOUND(at, p->rows.len, strcmp(p->rows.data[at].name, row.name), 0);
    if (at < p->rows.len && strcmp(p->rows.data[at].name, row.name) == 0) {
        *out = p->rows.data[at].triage;
        return ST_OK;
    }
    if (triage_new(&row.triage, &p->options, e) != ST_OK) {
        return ST_ERR;
    }
    if (!VEC_INSERT(&p->rows, at)) {
        triage_free(row.triage);
        return err_nomem(e);
    }
    p->rows.data[at] = row;
    *out = row.triage;
    return ST_OK;
}

/* Folds the counts of a period (triage_fold), and writes them as a partial in one line behind its
 * head. text: scratch, whose content is replaced. */
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
