/* A user's command that fetches the debug file of an id: split into words once, with the id and the
 * file to write filled in for each run. No shell sees it. */
#ifndef STALLKIT_INDEX_FETCH_FETCH_COMMAND_H
#define STALLKIT_INDEX_FETCH_FETCH_COMMAND_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/parse.h"

enum { FETCH_WORDS_MAX = 256 };

/* Zero-initialised = empty. */
struct fetch_command {
    char **words; /* as they were written: %u, %o and %% still in them */
    size_t count;
    uint64_t hash; /* of the whole text: a miss of one command is none of another */
};

/* Splits the text at blanks. Quotes group as in a shell: '…' as it stands; "…" and what is bare
 * with a backslash in front of what is meant itself. Nothing else is special. In words %u stands
 * for the id, %o for the file to write, %% for %. ERR_USAGE: a quote is open, another % is there,
 * %u or %o is missing, or there are more than FETCH_WORDS_MAX words. Never ST_NONE. */
enum st fetch_command_parse(struct fetch_command *out, const char *text,
                            struct err *e) BASE_MUST_USE;
void fetch_command_release(struct fetch_command *c);

/* The words of a run, NULL behind the last, to be freed with fetch_command_free_words. %u is the id
 * in hexadecimal digits only: of a UUID in upper case without dashes, of a build-id in lower case.
 * NULL: out of memory. */
char **fetch_command_words(const struct fetch_command *c, const struct image_id *id,
                           const char *output);
/* NULL is allowed. */
void fetch_command_free_words(char **words);

#endif
