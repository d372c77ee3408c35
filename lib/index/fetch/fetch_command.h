/* A user's command that fetches the debug file of an id: split into words once, with the id and the
 * file to write filled in for each run. No shell sees it. */
#ifndef STALLKIT_INDEX_FETCH_FETCH_COMMAND_H
#define STALLKIT_INDEX_FETCH_FETCH_COMMAND_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/parse.h"

enum { FETCH_WORDS_MAX = 256 };

/* A fetch command. Zero-initialised = empty. */
struct fetch_command {
    char **words; /* words as written, with %u, %o and %% in them */
    size_t count;
    uint64_t hash; /* hash of the whole text, by which misses are kept apart by command */
};

/* Splits a command at blanks. Quotes group as in a shell: '…' is taken as it is; in "…" and outside
 * of quotes a backslash makes the next character literal. No other character is special. In words
 * %u stands for the id, %o for the file to write, %% for %. ERR_USAGE: a quote is open, another %
 * is there, %u or %o is missing, or there are more than FETCH_WORDS_MAX words. Never ST_NONE. */
enum st fetch_command_parse(struct fetch_command *out, const char *text,
                            struct err *e) BASE_MUST_USE;
void fetch_command_release(struct fetch_command *c);

/* Returns the words of one run, NULL after the last, to be freed with fetch_command_free_words. %u
 * becomes the id in hexadecimal digits only: a UUID in upper case without dashes, a build-id in
 * lower case. NULL: out of memory. */
char **fetch_command_words(const struct fetch_command *c, const struct image_id *id,
                           const char *output);
/* Frees the words of a run; words may be NULL. */
void fetch_command_free_words(char **words);

#endif
