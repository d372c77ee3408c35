/* Writes what was watched of a program. */
#include "record/watched_text.h"

#include <inttypes.h>

#include "base/strbuf.h"
#include "recorder/preload/preload.h"

enum { SHORT_MS = 50 }; /* time, in ms, below which no part of a run's time is told */

/* reasons[] is in the order of enum rec_unwatched, as unwatched_ms[] is. PRELOAD_UNCLEAR has
 * no text here, as recorder_add_input prints it. kinds[] is in the order of enum finder_kind. */
static const char *const reasons[PRELOAD_UNWATCHED] = {
    "launch", "no certain loop", "another place taken for the loop", "forgotten", "suspended"};
static const char *const kinds[] = {
    "event loop",      "event loop",     "loop on a condition variable",
    "loop on signals", "loop on a lock", "loop that sleeps"};

const char *recorder_plural(uint64_t n) {
    return n == 1 ? "" : "s";
}

const char *recorder_loop_kind(uint32_t kind) {
    return kinds[kind < sizeof kinds / sizeof *kinds ? kind : 0];
}

void recorder_add_threads(struct strbuf *line, uint32_t threads, uint32_t loops) {
    if (threads > 1) {
        strbuf_addf(line, "%" PRIu32 " threads, %" PRIu32 " event loop%s, one: ", threads, loops,
                    recorder_plural(loops));
    }
}

void recorder_add_processes(struct strbuf *line, uint32_t processes, uint32_t loopless,
                            uint64_t loopless_ms, uint32_t partly) {
    strbuf_addf(line, " (%" PRIu32 " process%s, %" PRIu32 " without a loop", processes,
                processes == 1 ? "" : "es", loopless);
    if (loopless_ms > 0) {
        strbuf_addf(line, " for %.1f s", (double)loopless_ms / 1000);
    }
    if (partly > 0) {
        strbuf_addf(line, ", %" PRIu32 " watched below %d %%", partly, RECORDER_WATCHED_PERCENT);
    }
    strbuf_addc(line, ')');
}

bool recorder_is_unclear(const uint64_t *unwatched_ms) {
    return unwatched_ms[PRELOAD_UNCLEAR] >= SHORT_MS;
}

void recorder_add_input(struct strbuf *line, uint64_t input_ms, const uint64_t *unwatched_ms,
                        const char *unclear) {
    if (input_ms >= SHORT_MS) {
        strbuf_addf(line, "; waited for input %.1f s", (double)input_ms / 1000);
    }
    if (recorder_is_unclear(unwatched_ms) && unclear) {
        strbuf_addf(line, "; not known whether idle: %.1f s in waits such as that of %s",
                    (double)unwatched_ms[PRELOAD_UNCLEAR] / 1000, unclear);
    }
}

void recorder_add_reasons(struct strbuf *line, const uint64_t *unwatched_ms, const char *unclear) {
    const char *between = "; not watched: ";
    for (uint32_t i = 0; i < PRELOAD_UNWATCHED; i++) {
        if (unwatched_ms[i] >= SHORT_MS && reasons[i]) {
            strbuf_addf(line, "%s%s %.1f s", between, reasons[i], (double)unwatched_ms[i] / 1000);
            between = ", ";
        }
    }
    if (unwatched_ms[PRELOAD_NO_LOOP] >= SHORT_MS && unclear &&
        !recorder_is_unclear(unwatched_ms)) {
        strbuf_addf(line, "; it may idle in %s", unclear);
    }
}
