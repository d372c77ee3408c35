/* Learns names of functions from the dumps that have them. */
#ifndef STALLKIT_SYMBOLIZE_LEARN_DUMP_H
#define STALLKIT_SYMBOLIZE_LEARN_DUMP_H

#include "dump/dump.h"
#include "symbolize/learned_names.h"

/* Joins to n the facts that the dump's own names, or those of the report from which it was
 * converted, give about functions of images that have an id. A name more than LEARNED_OFFSET_MAX
 * bytes past its symbol, or a placeholder, gives only a start, and so do two names of one function
 * that are different texts; a name of unknown offset gives nothing. The one who tells them is the
 * dump's user, or else the dump by its id; all dumps without both are one. Names that an earlier
 * run of stallsym resolved are not used. Thread safe. Never ST_NONE. ST_ERR: out of memory. */
enum st learn_dump(struct learned_names *n, const struct dump *d, struct err *e) BASE_MUST_USE;

#endif
