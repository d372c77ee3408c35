/* Defines the table of causes. */
#include "classify/rules/causes.h"

#include "base/parse.h"

static const struct cause_row {
    const char *word, *reason, *colour;
    size_t legend;
} cause_rows[CAUSE_COUNT] = {
#define CAUSE_ROW(name, word, reason, colour, legend) {word, reason, colour, legend},
    RULE_CAUSES(CAUSE_ROW)
#undef CAUSE_ROW
};

static const struct cause_row *cause_row_of(enum rule_cause c) {
    return &cause_rows[c < CAUSE_COUNT ? c : CAUSE_NONE];
}

const char *rule_cause_text(enum rule_cause c) {
    return cause_row_of(c)->word;
}

const char *rule_cause_reason(enum rule_cause c) {
    return cause_row_of(c)->reason;
}

const char *rule_cause_colour(enum rule_cause c) {
    return cause_row_of(c)->colour;
}

bool rule_cause_parse(const char *word, size_t len, enum rule_cause *out) {
    size_t cause;
    if (!word || !PARSE_WORD(word, len, cause_rows, &cause)) {
        return false;
    }
    *out = (enum rule_cause)cause;
    return true;
}

enum rule_cause rule_cause_of_legend(size_t i) {
    for (int c = CAUSE_NONE; c < CAUSE_COUNT; c++) {
        if (cause_rows[c].legend == i + 1) {
            return (enum rule_cause)c;
        }
    }
    return CAUSE_NONE;
}
