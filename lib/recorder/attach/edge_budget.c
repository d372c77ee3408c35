/* Decides which events of a thread are read. */
#include "attach/edge_budget.h"

enum {
    LIMITED_MS = 2, /* ms between two looks while a limited thread is read */
    /* Number of waits after which reading the events of a limited thread pauses again. */
    LIMITED_WAITS = 8,
    /* Time in ms: if a loop turns often, only calls that were seen in the last RECENT_MS are
     * read. */
    RECENT_MS = 2000,
    /* First time in ms for which calls of futex(2) are not read; each later time is longer, up to
     * CONDITIONS_OFF_MAX_MS. */
    CONDITIONS_OFF_MS = 250,
    CONDITIONS_OFF_MAX_MS = 8000
};
#define MS UINT64_C(1000000)

/* Returns the set of waiting system calls that this processor has; if `conditions`, only those
 * that wait for condition variables. */
static uint32_t all_calls(bool conditions) {
    const struct wait_call *call;
    uint32_t calls = 0;
    for (unsigned i = 0; (call = wait_call_at(i)) != NULL; i++) {
        calls |= (uint32_t)(call->on == WAIT_ON_CONDITION || !conditions) << i;
    }
    return calls;
}

void edge_budget_begin(struct edge_budget *b, uint64_t now_ns) {
    *b = (struct edge_budget){
        .calls = all_calls(false), .sleeps = true, .look_ns = now_ns + EDGE_BUDGET_LOOK_MS * MS};
}

void edge_budget_enter(struct edge_budget *b, const struct wait_call *call, uint64_t at_ns) {
    b->waits += call->on != WAIT_ON_CONDITION;
    for (unsigned i = 0; i < WAIT_CALLS_MAX; i++) {
        if (wait_call_at(i) == call) {
            b->seen_ns[i] = at_ns;
        }
    }
}

void edge_budget_exit(struct edge_budget *b, const struct wait_call *call) {
    b->conditions += call->on == WAIT_ON_CONDITION;
}

void edge_budget_lose(struct edge_budget *b) {
    b->lost = true;
}

static uint32_t recent_calls(const struct edge_budget *b, uint64_t now_ns) {
    uint32_t calls = 0;
    for (unsigned i = 0; i < WAIT_CALLS_MAX; i++) {
        calls |= (uint32_t)(b->seen_ns[i] + RECENT_MS * MS >= now_ns && b->seen_ns[i] != 0) << i;
    }
    return calls;
}

/* ---- condition variables ---- */

static unsigned look_at_conditions(struct edge_budget *b, bool on_conditions, uint64_t now_ns) {
    if (b->no_conditions && !b->paused && now_ns >= b->conditions_ns) {
        b->no_conditions = false;
        b->conditions = 0;
        return EDGE_BUDGET_CONDITIONS;
    }
    if (!b->no_conditions && b->conditions > EDGE_BUDGET_WAITS && !on_conditions) {
        b->no_conditions = true;
        b->conditions_off_ns = b->conditions_off_ns * 2 + CONDITIONS_OFF_MS * MS;
        if (b->conditions_off_ns > CONDITIONS_OFF_MAX_MS * MS) {
            b->conditions_off_ns = CONDITIONS_OFF_MAX_MS * MS;
        }
        b->conditions_ns = now_ns + b->conditions_off_ns;
        b->conditions = 0;
    }
    return 0;
}

/* ---- all waits ---- */

static void begin_window(struct edge_budget *b) {
    b->waits = b->conditions = 0;
    b->lost = false;
}

static unsigned pause_reading(struct edge_budget *b, uint64_t now_ns) {
    begin_window(b);
    b->limits++;
    b->some = b->often = b->limited = b->paused = true;
    b->look_ns = now_ns + EDGE_BUDGET_LOOK_MS * MS;
    return EDGE_BUDGET_PAUSED;
}

static unsigned resume_reading(struct edge_budget *b, uint64_t now_ns) {
    begin_window(b);
    b->paused = false;
    b->on_ns = now_ns;
    b->look_ns = now_ns + LIMITED_MS * MS;
    return EDGE_BUDGET_RESUMED;
}

/* Decides by the number of waits and of futex(2) calls since the last decision. Reading pauses if
 * records were lost or the number has reached EDGE_BUDGET_WAITS, or LIMITED_WAITS for a limited
 * thread. */
static unsigned look_at_waits(struct edge_budget *b, uint64_t now_ns) {
    uint32_t waits = b->waits + b->conditions;
    if (b->lost || waits >= (b->limited ? LIMITED_WAITS : EDGE_BUDGET_WAITS)) {
        return pause_reading(b, now_ns);
    }
    if (b->limited && now_ns - b->on_ns < EDGE_BUDGET_LOOK_MS * MS) {
        b->look_ns = now_ns + LIMITED_MS * MS;
        return 0;
    }
    b->limited = false;
    b->some = waits >= (b->some ? EDGE_BUDGET_SOME - 1 : EDGE_BUDGET_SOME);
    b->often = waits >= (b->often ? EDGE_BUDGET_OFTEN / 2 : EDGE_BUDGET_OFTEN);
    begin_window(b);
    b->look_ns = now_ns + EDGE_BUDGET_LOOK_MS * MS;
    return 0;
}

unsigned edge_budget_look(struct edge_budget *b, bool busy_long, bool on_conditions,
                          uint64_t now_ns) {
    unsigned changes = look_at_conditions(b, on_conditions, now_ns);
    uint32_t before = b->calls;
    if (b->paused && now_ns >= b->look_ns) {
        changes |= resume_reading(b, now_ns);
    } else if (!b->paused &&
               (now_ns >= b->look_ns || b->lost || b->waits + b->conditions >= EDGE_BUDGET_WAITS)) {
        changes |= look_at_waits(b, now_ns);
    }
    b->sleeps = !b->often || busy_long;
    b->calls = b->some && !busy_long ? recent_calls(b, now_ns) : all_calls(false);
    if (b->no_conditions) {
        b->calls &= ~all_calls(true);
    }
    if (b->paused) {
        b->calls = 0;
    }
    if ((b->calls & ~before) != 0 && before != 0) {
        changes |= EDGE_BUDGET_WIDENED;
    }
    return changes;
}
