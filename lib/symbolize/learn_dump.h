/* Takes names from the dumps that have them. */
#ifndef STALLKIT_SYMBOLIZE_LEARN_DUMP_H
#define STALLKIT_SYMBOLIZE_LEARN_DUMP_H

#include "dump/dump.h"
#include "symbolize/learned_names.h"

/* Joins to n what the dump's own names (those of a report it was converted from, too) say of the
 * functions of images that have an id. A name further than LEARNED_OFFSET_MAX from its symbol, and
 * a placeholder, tells a start only; one whose offset nobody knows tells nothing. What an earlier
 * run of stallsym has resolved is not asked. Thread safe. Never ST_NONE. ST_ERR: out of memory. */
enum st learn_dump(struct learned_names *n, const struct dump *d, struct err *e) BASE_MUST_USE;

#endif
