/* Finds faults of a rule set: malformed lines, and rules that can never decide. */
#ifndef STALLKIT_CLASSIFY_RULES_LINT_H
#define STALLKIT_CLASSIFY_RULES_LINT_H

#include "classify/rules/rules.h"

enum rules_fault {
    FAULT_BAD,       /* the line is malformed: it has an unknown word, too many patterns … */
    FAULT_DUPLICATE, /* an earlier or a built-in rule decides the same for the same frames */
    /* The rule can never decide, because an earlier rule that matches more frames decides the same,
     * or because no normalised name of a function or of an image matches the rule. */
    FAULT_DEAD,
    FAULT_SHADOWED, /* the rule can never decide, because an earlier rule that matches the same
                       frames, or more, decides something else */
    FAULT_WIDE,     /* the rule matches nearly everything */
    FAULTS
};
/* Returns the word for a fault: "bad", "duplicate" … */
const char *rules_fault_text(enum rules_fault f);

struct rules_finding {
    enum rules_fault fault;
    const char *file;
    uint32_t line;
    const char *text; /* description of the fault, borrowed during the call */
};
typedef void (*rules_on_finding)(void *ctx, const struct rules_finding *f);

/* Appends the rules of a text as rules_add does, but reports malformed lines and leaves them
 * out. ST_ERR: out of memory, or the text is too long. */
enum st rules_add_lint(struct rules *r, const char *file, const char *text, size_t len,
                       rules_on_finding on_finding, void *ctx, struct err *e) BASE_MUST_USE;
/* Reports the faults of the first `count` rules of the set, in their order; the rules after them
 * are built-in, and are only used for comparison. ST_ERR: out of memory, or too many patterns to
 * compare in reasonable time (ERR_LIMIT), after the faults found until then were reported. */
enum st rules_lint(const struct rules *r, size_t count, rules_on_finding on_finding, void *ctx,
                   struct err *e) BASE_MUST_USE;

#endif
