/* Parses the words of a trace's lines as numbers, times and names. The text is untrusted. */
#ifndef STALLREC_REPLAY_WORDS_H
#define STALLREC_REPLAY_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/capture.h"

/* Ten years in ms, which do not overflow in ns. */
#define REPLAY_TIME_MAX (UINT64_C(315360000000))

/* The rest of a line; taking a word changes the line. */
struct replay_words {
    char *at;
};

/* Returns the next word of the line, NUL-terminated in place; NULL at the line's end. */
char *replay_next_word(struct replay_words *w);

/* Parses all of text as a decimal number of at most max; false: it is no such number, or NULL. */
bool replay_parse_number(const char *text, uint64_t max, uint64_t *out);
/* Parses at most REPLAY_TIME_MAX ms, with up to six digits after the point, to ns; changes text.
 * False: text is no such number, or NULL. */
bool replay_parse_ms(char *text, uint64_t *out);

/* Finds the index of word in words[]; false: it is not there. word and entries of words may be
 * NULL. */
bool replay_find_word(const char *word, const char *const *words, size_t count, uint32_t *index);

/* Reads a word as a name: %XX stands for a byte, a % without two digits for nothing; a name of
 * REC_NAME_MAX bytes or more is cut, and NULL gives "". */
void replay_read_name(char out[REC_NAME_MAX], const char *word);

#endif
