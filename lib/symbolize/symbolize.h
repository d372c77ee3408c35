/* Dump + symbol sources -> symbolicated dump, by the rules of
 * stallkit-design(7), ADDRESS RULES. */
#ifndef STALLKIT_SYMBOLIZE_SYMBOLIZE_H
#define STALLKIT_SYMBOLIZE_SYMBOLIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/sink.h"
#include "dump/dump.h"
#include "index/symbol_set.h"
#include "symbolize/learned_source.h"

/* Answers for an image; symbol_set_find has this shape, tests bring fakes. Called under the
 * symbolizer's lock. */
typedef enum st (*symbolize_find)(void *ctx, const struct symbol_request *r,
                                  struct symbol_file *out, struct err *e);

/* Resolves each distinct (image, offset) of a run once and keeps the answer, up to some 100 MB of
 * them: past that, new ones are resolved each time. */
struct symbolizer;

/* How names are written: as people say them, with everything that the mangled name tells, or
 * mangled. */
enum symbolize_names { SYMBOLIZE_SIMPLIFIED, SYMBOLIZE_FULL, SYMBOLIZE_LINKAGE };
/* What two options of a command ask for: --linkage-names is the stronger one. */
static inline enum symbolize_names symbolize_names_of(bool linkage, bool full) {
    if (linkage) {
        return SYMBOLIZE_LINKAGE;
    }
    return full ? SYMBOLIZE_FULL : SYMBOLIZE_SIMPLIFIED;
}

/* ctx is find's, and outlives the symbolizer, as do the sources that find returns. */
enum st symbolizer_new(struct symbolizer **out, symbolize_find find, void *ctx,
                       enum symbolize_names names, struct err *e) BASE_MUST_USE;
/* Names frames of images for which find gives no source by what reports have called their
 * functions (borrowed; NULL = no more), from now on. The dump's own name of a frame counts where it
 * says the same start. */
void symbolizer_use_learned(struct symbolizer *s, struct learned_sources *learned);
/* NULL is allowed. Names and symbols_file in dumps that it symbolicated may die with it. */
void symbolizer_free(struct symbolizer *s);

/* Fills d->locations, every stack's locations, every image's symbols and symbols_file, in place,
 * and the same in *add for dump_write_spliced. Arrays are d's (its arena), names are its or the
 * symbolizer's, files are the symbolizer's. What an image that is already `ok` resolved in an
 * earlier run is kept, and so is a learned name where no file answers now and nothing that has been
 * learned says otherwise. Thread safe: several workers share one symbolizer. ST_ERR: out of memory.
 * A damaged unit costs its addresses only; the source has complained. */
enum st symbolize_dump(struct symbolizer *s, struct dump *d, struct dump_addition *add,
                       struct err *e) BASE_MUST_USE;

/* The name of a lookup frame, written as `names` says; appended to out. Nothing is appended for a
 * frame without a name. *mangled (may be NULL) is the frame's mangled name if it has one that
 * differs, else NULL. */
enum st symbolize_name(const struct lookup_frame *f, enum symbolize_names names, struct strbuf *out,
                       const char **mangled, struct err *e) BASE_MUST_USE;

/* Is this a name at all? "<redacted>", "???" and the like are not (stallkit-design(7), ADDRESS
 * RULES, 5). */
bool symbolize_is_name(const char *name);

/* A report that a person reads: header, verdict per image, main thread first with its heaviest
 * stack, who waits for whom, the other threads. */
void symbolize_report(const struct dump *d, struct sink *out);

#endif
