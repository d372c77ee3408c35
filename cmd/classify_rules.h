/* The rules of a run of stallclassify or stallflame: --rules, --in-app, --not-in-app, and --lint of
 * them. */
#ifndef STALLKIT_CMD_CLASSIFY_RULES_H
#define STALLKIT_CMD_CLASSIFY_RULES_H

#include "base/vec.h"
#include "classify/rules/rules.h"
#include "cli.h"

struct side_glob {
    bool in_app;
    const char *glob; /* or @FILE */
};

/* Zero-initialised = the built-in rules. Texts are borrowed. */
struct classify_rules {
    bool raw;                    /* --rules none: no rules at all */
    VEC(const char *) files;     /* in the order given */
    VEC(struct side_glob) globs; /* in the order given; they go before the files */
    struct rules *set;           /* once loaded */
    struct strbuf name;          /* "shop.rules + built-in" */
    struct cli_failures *failures;
};

/* Takes the value of --rules. False after a printed message. */
bool classify_rules_take(struct classify_rules *r, struct cli_parser *p);
/* Loads the requested rules, then the built-in ones. False after a printed message. */
bool classify_rules_load(struct classify_rules *r);
/* Prints what is wrong with the files and globs, or, if there are none, with the built-in rules, to
 * a file (NULL: stdout) as FILE:LINE: FAULT: TEXT. CLI_OK: nothing; else CLI_FAILED. */
int classify_rules_lint(struct classify_rules *r, const char *output);
void classify_rules_release(struct classify_rules *r);

#endif
