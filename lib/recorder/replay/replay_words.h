/* The words of a trace's lines, as numbers, times and names. Any text may come. */
#ifndef STALLREC_REPLAY_WORDS_H
#define STALLREC_REPLAY_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/capture.h"

/* Ten years in ms: far from overflow in ns. */
#define REPLAY_TIME_MAX (UINT64_C(315360000000))

/* What is left of a line, which is written to. */
struct replay_words {
    char *at;
};

/* The next word of the line, NUL-terminated in place; NULL at its end. */
char *replay_next_word(struct replay_words *w);

/* The whole of text, decimal, at most max. text may be NULL, which is no number. */
bool replay_parse_number(const char *text, uint64_t max, uint64_t *out);
/* Milliseconds with up to six digits behind the point, as ns; text is written to. */
bool replay_parse_ms(char *text, uint64_t *out);

/* Which of words it is; those may be NULL, as may word. */
bool replay_find_word(const char *word, const char *const *words, size_t count, uint32_t *index);

/* A word as a name: %XX stands for a byte, a % without that for nothing. NULL: "". */
void replay_read_name(char out[REC_NAME_MAX], const char *word);

#endif
