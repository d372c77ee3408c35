/* Which dumps count as stalls, and how much of each. */
#include "classify/stats/stall_count.h"

#include <string.h>

#include "base/hash.h"

const char *triage_apart_text(enum triage_apart a) {
    static const char *const texts[APART_COUNT] = {"",          "crash",     "background",
                                                   "prewarmed", "idle",      "late",
                                                   "no-stack",  "duplicate", "left-out"};
    return a < APART_COUNT ? texts[a] : "";
}

static bool triage_is(const char *s, const char *what) {
    return s && strcmp(s, what) == 0;
}

enum triage_apart triage_apart_of(const struct dump *d, const struct stall_key *key,
                                  const bool open[APART_COUNT]) {
    if (triage_is(d->stall.kind, "crash") && !open[APART_CRASH]) {
        return APART_CRASH;
    }
    if (triage_is(d->stall.app_state, "background") && !open[APART_BACKGROUND]) {
        return APART_BACKGROUND;
    }
    if (d->stall.prewarmed && !open[APART_PREWARMED]) {
        return APART_PREWARMED;
    }
    static const enum triage_apart by_status[] = {[KEY_OK] = APART_NONE,
                                                  [KEY_NO_STACK] = APART_NO_STACK,
                                                  [KEY_IDLE] = APART_IDLE,
                                                  [KEY_LATE] = APART_LATE};
    enum triage_apart apart = by_status[key->status];
    return open[apart] ? APART_NONE : apart;
}

void triage_apart_opened(const struct where *w, bool open[APART_COUNT]) {
    memset(open, 0, APART_COUNT * sizeof *open);
    open[APART_CRASH] = where_asks(w, "stall.kind");
    open[APART_BACKGROUND] = where_asks(w, "stall.app_state");
    open[APART_PREWARMED] = where_asks(w, "stall.prewarmed");
    open[APART_IDLE] = open[APART_LATE] = where_asks_for(w, "cause", "idle");
}

bool stall_count_judge(struct seen_set *seen, const struct dump *d, const struct stall_key *key,
                       bool wanted, const bool open[APART_COUNT], enum triage_apart *why) {
    bool duplicate = false;
    if (d->id && *d->id && !seen_before(seen, hash_bytes(d->id, strlen(d->id)), &duplicate)) {
        return false;
    }
    *why = triage_apart_of(d, key, open);
    if (duplicate) {
        *why = APART_DUPLICATE;
    } else if (!wanted) {
        *why = APART_LEFT_OUT;
    }
    return true;
}

uint64_t stall_count_span(const struct dump *d) {
    int64_t span = dump_span_ms(d);
    return span > 0 ? (uint64_t)span : 0;
}

uint64_t stall_count_ms(const struct dump *d, uint64_t cap_ms) {
    uint64_t span = stall_count_span(d);
    uint64_t start = d->stall.seq > 1 && d->stall.at_ms > 0 ? (uint64_t)d->stall.at_ms : 0;
    if (!cap_ms) {
        return span;
    }
    uint64_t room = start < cap_ms ? cap_ms - start : 0;
    return span < room ? span : room;
}

bool stall_count_is_whole(const struct dump *d) {
    bool last = d->stall.ended || d->stall.fatal;
    uint64_t duration = last && d->stall.duration_ms > 0 ? (uint64_t)d->stall.duration_ms : 0;
    return !d->stall.id || !*d->stall.id ||
           (d->stall.seq <= 1 && last && stall_count_span(d) >= duration);
}
