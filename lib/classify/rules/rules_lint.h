/* What is wrong with a rule set: lines that are no rules, and rules that cannot do what they say.
 */
#ifndef STALLKIT_CLASSIFY_RULES_LINT_H
#define STALLKIT_CLASSIFY_RULES_LINT_H

#include "classify/rules/rules.h"

enum rules_fault {
    FAULT_BAD,       /* no rule: an unknown word, a pattern too many … */
    FAULT_DUPLICATE, /* said before, in the same words */
    FAULT_DEAD,      /* can never decide: an earlier, wider rule says the same, or no name is so */
    FAULT_SHADOWED,  /* can never decide: an earlier, wider rule says something else */
    FAULT_WIDE,      /* matches nearly everything */
    FAULTS
};
/* "bad", "duplicate" … */
const char *rules_fault_text(enum rules_fault f);

struct rules_finding {
    enum rules_fault fault;
    const char *file;
    uint32_t line;
    const char *text; /* in words, borrowed for the call */
};
typedef void (*rules_on_finding)(void *ctx, const struct rules_finding *f);

/* As rules_add, but lines that are no rules are told and left out. ST_ERR: out of memory, or the
 * text is too long. */
enum st rules_add_lint(struct rules *r, const char *file, const char *text, size_t len,
                       rules_on_finding on_finding, void *ctx, struct err *e) BASE_MUST_USE;
/* Tells what is wrong with the first `count` rules of the set, in their order; those behind are
 * built-in, and only asked whether they say the same already. ST_ERR: out of memory; or so many
 * patterns that holding them against each other takes too long (ERR_LIMIT), what was found until
 * then was told. */
enum st rules_lint(const struct rules *r, size_t count, rules_on_finding on_finding, void *ctx,
                   struct err *e) BASE_MUST_USE;

#endif
