/* Prints the answers of stalladdr. */
#ifndef STALLKIT_SYMBOLIZE_ADDRESS_ANSWERS_H
#define STALLKIT_SYMBOLIZE_ADDRESS_ANSWERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "index/lookup.h"
#include "symbolize/symbolize.h"

/* The meaning of the addresses that a user gives: file addresses, addresses in a loaded or slid
 * image, or offsets in the image. */
enum address_meaning { MEANS_FILE, MEANS_LOADED, MEANS_SLID, MEANS_OFFSET };

/* A section: file address and size. */
struct address_section {
    uint64_t low, size;
};

/* The settings that all answers of a run share; all pointers are borrowed. */
struct address_question {
    struct lookup_source *source; /* NULL: nothing can be resolved */
    const char *path, *image, *delimiter;
    enum address_meaning meaning;
    uint64_t load, slide;
    uint64_t base, text_end; /* base and end of the text segment in the file */
    /* If there are sections, addresses with MEANS_FILE, and those with MEANS_SLID after the slide
     * is subtracted, are offsets in the first section that is long enough. Without sections they
     * are file addresses. */
    const struct address_section *sections;
    size_t section_count;
    /* Sections in which llvm_json gives the starts of functions as offsets; elsewhere it gives them
     * as file addresses. */
    const struct address_section *unlinked;
    size_t unlinked_count;
    bool arm32, inlines, full_path, llvm_json;
    enum symbolize_names names;
};

/* The state of answering in one thread. The printed form of each name and path is made once and
 * kept: memory grows with the number of distinct names and paths. */
struct answerer;

/* Makes an answerer; q is borrowed. Never ST_NONE. ST_ERR: out of memory. */
enum st answerer_new(struct answerer **out, const struct address_question *q,
                     struct err *e) BASE_MUST_USE;
/* Frees the answerer; a may be NULL. */
void answerer_free(struct answerer *a);
/* Appends the answer to one word of the input. A word that is no address is printed back (but not
 * with llvm_json), so that line N of the output stays the answer to word N. Never ST_NONE. ST_ERR:
 * out of memory, the word is no address, or debug info of the address is damaged, for which an
 * answer without names is appended. */
enum st answerer_answer(struct answerer *a, const char *word, size_t len, struct strbuf *out,
                        struct err *e) BASE_MUST_USE;

#endif
