/* Decides which events of a thread are read. */
#include "attach/edge_budget.h"

enum {
    LIMITED_MS = 2, /* ms between two looks while a limited thread is read */
    /* Number of waits after which reading the events of a limited thread pauses again. */
    LIMITED_WAITS = 8,
    /* Number of the loop's own waits in EDGE_BUDGET_LOOK_MS up to which they are read in a pause.
     */
    KEPT_WAITS = EDGE_BUDGET_WAITS / 2,
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
        .calls = all_calls(false),
        .sleeps = true,
        .look_ns = now_ns + EDGE_BUDGET_LOOK_MS * MS,
        .window_ns = now_ns,
    };
}

void edge_budget_enter(struct edge_budget *b, const struct wait_call *call, uint64_t at_ns) {
    b->waits += call->on != WAIT_ON_CONDITION;
    for (unsigned i = 0; i < WAIT_CALLS_MAX; i++) {
        if (wait_call_at(i) == call) {
            b->seen_ns[i] = at_ns;
            b->loop_waits += b->loop_calls >> i & 1;
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

static void begin_window(struct edge_budget *b, uint64_t now_ns) {
    b->waits = b->conditions = b->loop_waits = 0;
    b->window_ns = now_ns;
    b->lost = false;
}

/* Begins a pause in which only the calls of `kept` are read. */
static unsigned pause_reading(struct edge_budget *b, uint32_t kept, uint64_t now_ns) {
    begin_window(b, now_ns);
    b->limits += kept == 0;
    b->kept = kept;
    b->some = b->often = b->limited = b->paused = true;
    b->look_ns = now_ns + EDGE_BUDGET_LOOK_MS * MS;
    return kept == 0 ? EDGE_BUDGET_PAUSED : EDGE_BUDGET_NARROWED;
}

static unsigned resume_reading(struct edge_budget *b, uint64_t now_ns) {
    unsigned changes = b->kept == 0 ? EDGE_BUDGET_RESUMED : 0;
    begin_window(b, now_ns);
    b->paused = false;
    b->kept = 0;
    b->on_ns = now_ns;
    b->look_ns = now_ns + LIMITED_MS * MS;
    return changes;
}

/* Returns the calls that are read in the pause that begins: those of the loop, if it waits seldom
 * itself, and no record was lost. */
static uint32_t calls_to_keep(const struct edge_budget *b, uint64_t now_ns) {
    uint64_t passed_ns = now_ns - b->window_ns;
    bool seldom = b->loop_waits <= 1 || /* one wait does not tell how often it waits */
                  b->loop_waits * EDGE_BUDGET_LOOK_MS * MS <= passed_ns * KEPT_WAITS;
    return seldom && !b->lost ? b->loop_calls : 0;
}

/* Decides by the number of waits and of futex(2) calls since the last decision. Reading pauses if
 * records were lost or the number has reached EDGE_BUDGET_WAITS, or LIMITED_WAITS for a limited
 * thread. */
static unsigned look_at_waits(struct edge_budget *b, uint64_t now_ns) {
    uint32_t waits = b->waits + b->conditions;
    if (b->lost || waits >= (b->limited ? LIMITED_WAITS : EDGE_BUDGET_WAITS)) {
        return pause_reading(b, calls_to_keep(b, now_ns), now_ns);
    }
    if (b->limited && now_ns - b->on_ns < EDGE_BUDGET_LOOK_MS * MS) {
        b->look_ns = now_ns + LIMITED_MS * MS;
        return 0;
    }
    b->limited = false;
    b->some = waits >= (b->some ? EDGE_BUDGET_SOME - 1 : EDGE_BUDGET_SOME);
    b->often = waits >= (b->often ? EDGE_BUDGET_OFTEN / 2 : EDGE_BUDGET_OFTEN);
    begin_window(b, now_ns);
    b->look_ns = now_ns + EDGE_BUDGET_LOOK_MS * MS;
    return 0;
}

/* Ends the pause when its time is over, or the loop is in doubt whose calls are read; or reads none
 * of them from now on, as they are too many. */
static unsigned look_in_pause(struct edge_budget *b, uint64_t now_ns) {
    if (b->kept != 0 && (b->lost || b->loop_waits >= EDGE_BUDGET_WAITS)) {
        return pause_reading(b, 0, now_ns);
    }
    if (now_ns >= b->look_ns || (b->kept & ~b->loop_calls) != 0) {
        return resume_reading(b, now_ns);
    }
    return 0;
}

unsigned edge_budget_look(struct edge_budget *b, bool busy_long, uint32_t loop_calls, bool in_doubt,
                          uint64_t now_ns) {
    unsigned changes = look_at_conditions(b, (loop_calls & all_calls(true)) != 0, now_ns);
    uint32_t before = b->calls;
    uint32_t kept = in_doubt ? 0 : loop_calls & ~all_calls(true);
    if (b->loop_calls != kept) {
        b->loop_waits = b->waits; /* it is not known how many of them are the loop's */
        b->loop_calls = kept;
    }
    if (b->paused) {
        changes |= look_in_pause(b, now_ns);
    } else if (now_ns >= b->look_ns || b->lost || b->waits + b->conditions >= EDGE_BUDGET_WAITS) {
        changes |= look_at_waits(b, now_ns);
    }
    b->sleeps = (!b->often || busy_long) && !b->paused;
    b->calls = b->some && !busy_long ? recent_calls(b, now_ns) : all_calls(false);
    if (b->no_conditions) {
        b->calls &= ~all_calls(true);
    }
    if (b->paused) {
        b->calls = b->kept;
    }
    if ((b->calls & ~before) != 0 && before != 0 && !b->paused) {
        changes |= EDGE_BUDGET_WIDENED;
    }
    return changes;
}
