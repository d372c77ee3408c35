/* Describes the holders of locks in words. */
#include "classify/print/holder_text.h"

#include <string.h>

#include "classify/print/triage_text.h"
#include "classify/stats/sum.h"

const char *holder_status_text(enum holder_status s) {
    static const char *const texts[] = {[HOLDER_NONE] = "",
                                        [HOLDER_UNKNOWN] = "unknown",
                                        [HOLDER_KNOWN] = "known",
                                        [HOLDER_DEADLOCK] = "deadlock",
                                        [HOLDER_INFERRED] = "inferred"};
    return texts[s];
}

struct holder_row holder_row_of(const struct bucket *b) {
    struct holder_row row = {.status = HOLDER_UNKNOWN, .thread = "", .lock = ""};
    if (b->frame_count < 2 || strcmp(b->frames[0]->image, HOLDER_IS_THREAD) != 0) {
        return row;
    }
    enum holder_status status = HOLDER_KNOWN;
    if (strcmp(b->frames[1]->image, HOLDER_OF_DEADLOCK) == 0) {
        status = HOLDER_DEADLOCK;
    } else if (strcmp(b->frames[1]->image, HOLDER_BY_FRAMES) == 0) {
        status = HOLDER_INFERRED;
    }
    return (struct holder_row){.status = status,
                               .thread = b->frames[0]->function,
                               .lock = b->frames[1]->function,
                               .frames = b->frames + 2,
                               .frame_count = b->frame_count - 2};
}

struct holder_sums holder_sums_of(const struct triage *t) {
    struct holder_sums sums = {0};
    for (size_t i = 0; i < t->holders.buckets.len; i++) {
        const struct bucket *b = t->holders.buckets.data[i];
        sum_add(&sums.ms, b->tally->ms);
        sum_add(&sums.stalls, b->tally->stalls);
        sum_add(&sums.dumps, b->tally->dumps);
        sum_add(&sums.length_unknown, tally_length_unknown(b->tally));
        if (holder_row_of(b).status == HOLDER_UNKNOWN) {
            sum_add(&sums.unknown_ms, b->tally->ms);
            sum_add(&sums.unknown_dumps, b->tally->dumps);
        } else {
            sums.holders++;
        }
    }
    return sums;
}

void holder_add_who(struct strbuf *b, const struct holder_row *row) {
    if (row->status == HOLDER_UNKNOWN) {
        strbuf_addstr(b, "holder unknown");
        return;
    }
    text_add_clean(b, row->thread[0] ? row->thread : "a thread without a name");
    strbuf_addstr(b, " (");
    text_add_clean(b, row->lock);
    if (row->status == HOLDER_DEADLOCK) {
        strbuf_addstr(b, ", deadlock");
    } else if (row->status == HOLDER_INFERRED) {
        strbuf_addstr(b, ", inferred from frames");
    }
    strbuf_addc(b, ')');
}

void holder_add_stack(struct strbuf *b, const struct holder_row *row) {
    for (size_t i = 0; i < row->frame_count; i++) {
        strbuf_addstr(b, i ? " \xe2\x86\x90 " : "");
        text_add_frame(b, row->frames[i]);
    }
}

void holder_add_totals(struct strbuf *b, const struct triage *t) {
    char number[NUMBER_SIZE];
    struct holder_sums sums = holder_sums_of(t);
    text_add_counted(b, sums.stalls, "stall", "stalls");
    strbuf_addf(b, " of %s %s for locks, ", text_grouped(t->total.stalls, number),
                sums.stalls == 1 ? "waits" : "wait");
    strbuf_addstr(b, text_ms(sums.ms, number));
    strbuf_addf(b, " of %s", text_ms(t->total.ms, number));
    strbuf_addf(b, " (%s)", text_share(sums.ms, t->total.ms, number));
    text_add_length_unknown(b, sums.length_unknown);
    strbuf_addstr(b, ", ");
    text_add_counted(b, sums.holders, "holder", "holders");
}

void holder_add_unknown(struct strbuf *b, const struct triage *t) {
    char number[NUMBER_SIZE];
    struct holder_sums sums = holder_sums_of(t);
    if (sums.unknown_dumps) {
        strbuf_addf(b, "holder unknown: %s in ", text_ms(sums.unknown_ms, number));
        text_add_counted(b, sums.unknown_dumps, "dump, which does", "dumps, which do");
        strbuf_addstr(b, " not tell whose the lock is, or what that thread does");
    }
}

void holder_add_action(struct strbuf *b, const struct triage *t, const struct bucket *holder) {
    char share[NUMBER_SIZE];
    if (!holder->actions.len) {
        return;
    }
    const struct action_share *main = &holder->actions.data[0];
    strbuf_addstr(b, "while ");
    text_add_frame(b, t->actions.buckets.data[main->action]->frames[0]);
    if (main->ms < holder->tally->ms) {
        strbuf_addf(b, " (%s)", text_share(main->ms, holder->tally->ms, share));
    }
}
