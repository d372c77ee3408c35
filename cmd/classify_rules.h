/* Loads the rules of a run of stallclassify or stallflame, from --rules, --in-app and
 * --not-in-app, and checks them for --lint. */
#ifndef STALLKIT_CMD_CLASSIFY_RULES_H
#define STALLKIT_CMD_CLASSIFY_RULES_H

#include "base/vec.h"
#include "classify/rules/rules.h"
#include "cli.h"

struct side_glob {
    bool in_app;
    const char *glob; /* a glob, or @FILE with a list of ids */
};

/* The rules of a run. Zero-initialised = the built-in rules. Texts are borrowed. */
struct classify_rules {
    bool raw;                /* --rules none: there are no rules */
    VEC(const char *) files; /* files of --rules, in the order given */
    VEC(struct side_glob)
    globs;              /* --in-app and --not-in-app, in the order given; their rules precede those
                           of the files */
    struct rules *set;  /* NULL until loaded */
    struct strbuf name; /* name of the set, such as "shop.rules + built-in" */
    struct cli_failures *failures;
};

/* Adds the file that is the value of --rules, or sets r->raw if it is "none". False: an error was
 * printed. */
bool classify_rules_take(struct classify_rules *r, struct cli_parser *p);
/* Loads the requested rules, then the built-in ones; with r->raw, none at all. Sets r->set and
 * r->name. False: an error was printed. */
bool classify_rules_load(struct classify_rules *r);
/* Prints the faults of the files and globs, or, if neither were given, of the built-in rules, to a
 * file (NULL: stdout) as FILE:LINE: FAULT: TEXT, and their numbers to stderr. Returns CLI_OK if
 * there are no faults and no failures, else CLI_FAILED. */
int classify_rules_lint(struct classify_rules *r, const char *output);
void classify_rules_release(struct classify_rules *r);

#endif
