/* Writes the numbers of dumps that were set apart, that is, not ranked, by reason. */
#include "classify/print/apart_text.h"

#include "classify/print/triage_text.h"

void apart_text_add(struct strbuf *out, const uint64_t counts[APART_COUNT]) {
    static const struct {
        const char *one, *many;
    } words[APART_COUNT] = {
        [APART_CRASH] = {"crash", "crashes"},
        [APART_BACKGROUND] = {"in the background", "in the background"},
        [APART_PREWARMED] = {"prewarmed", "prewarmed"},
        [APART_IDLE] = {"idle (only the loop waiting)", "idle (only the loop waiting)"},
        [APART_LATE] = {"captured too late", "captured too late"},
        [APART_NO_STACK] = {"without a stack", "without a stack"},
        [APART_DUPLICATE] = {"duplicate", "duplicates"},
        [APART_LEFT_OUT] = {"left out by --where", "left out by --where"}};
    bool any = false;
    for (size_t i = APART_NONE + 1; i < APART_COUNT; i++) {
        if (counts[i]) {
            strbuf_addstr(out, any ? ", " : "");
            text_add_counted(out, counts[i], words[i].one, words[i].many);
            any = true;
        }
    }
}
