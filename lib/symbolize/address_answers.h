/* Prints the answers of stalladdr. */
#ifndef STALLKIT_SYMBOLIZE_ADDRESS_ANSWERS_H
#define STALLKIT_SYMBOLIZE_ADDRESS_ANSWERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "index/lookup.h"
#include "symbolize/symbolize.h"

/* How a user's address becomes a file address. */
enum address_meaning { MEANS_FILE, MEANS_LOADED, MEANS_SLID, MEANS_OFFSET };

/* What all answers share; all borrowed. */
struct address_question {
    struct lookup_source *source; /* NULL: nothing can be resolved */
    const char *path, *image, *delimiter;
    enum address_meaning meaning;
    uint64_t load, slide;
    uint64_t base, text_end; /* of the file */
    bool arm32, inlines, full_path, llvm_json;
    enum symbolize_names names;
};

/* Answers for one thread. Names are made readable once each, and kept: memory grows with distinct
 * names. */
struct answerer;

enum st answerer_new(struct answerer **out, const struct address_question *q,
                     struct err *e) BASE_MUST_USE;
void answerer_free(struct answerer *a);
/* Appends the answer to one word of the input. A word that is no address is printed back, so that
 * line N of the output stays the answer to word N. ST_ERR: out of memory, the word is no address,
 * or debug info there is damaged; something was appended all the same. */
enum st answerer_answer(struct answerer *a, const char *word, size_t len, struct strbuf *out,
                        struct err *e) BASE_MUST_USE;

#endif
