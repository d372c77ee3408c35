/* Turns a dump and symbol sources into a symbolicated dump, by the rules of stallkit-design(7),
 * ADDRESS RULES. */
#ifndef STALLKIT_SYMBOLIZE_SYMBOLIZE_H
#define STALLKIT_SYMBOLIZE_SYMBOLIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/sink.h"
#include "dump/dump.h"
#include "dump/path_map.h"
#include "index/symbol_set.h"
#include "symbolize/learned_source.h"
#include "symbolize/retrace_set.h"

/* Callback that finds the file and source of an image, called under the symbolizer's lock;
 * symbol_set_find is such a callback, and tests have fake ones. ST_ERR fails symbolize_dump; if
 * there is no file, *out has no source. */
typedef enum st (*symbolize_find)(void *ctx, const struct symbol_request *r,
                                  struct symbol_file *out, struct err *e);

/* Resolves each distinct (source of an image, offset) of a run once and keeps the answer; beyond
 * some 100 MB of answers, new ones are resolved each time. */
struct symbolizer;

/* The form in which names are written: simplified for people; in full, with all parts of the
 * mangled name; or mangled. */
enum symbolize_names { SYMBOLIZE_SIMPLIFIED, SYMBOLIZE_FULL, SYMBOLIZE_LINKAGE };
/* Returns the style for two options of a command; --linkage-names wins over the other. */
static inline enum symbolize_names symbolize_names_of(bool linkage, bool full) {
    if (linkage) {
        return SYMBOLIZE_LINKAGE;
    }
    return full ? SYMBOLIZE_FULL : SYMBOLIZE_SIMPLIFIED;
}

/* Makes a symbolizer; ctx is passed to find. ctx and the sources that find gives must outlive the
 * symbolizer. Never ST_NONE. ST_ERR: out of memory. */
enum st symbolizer_new(struct symbolizer **out, symbolize_find find, void *ctx,
                       enum symbolize_names names, struct err *e) BASE_MUST_USE;
/* Sets the source of names for images for which `find` gives none, from now on (borrowed; NULL =
 * none). Where a learned name and the dump's own name of a frame have the same start, the dump's is
 * used. */
void symbolizer_use_learned(struct symbolizer *s, struct learned_sources *learned);
/* Sets the mappings (borrowed; NULL = none) by which short names of code outside of all images are
 * replaced by those of the source from now on, if the set has the mapping that the dump names. */
void symbolizer_use_retrace(struct symbolizer *s, const struct retrace_set *set);
/* Sets the rules that replace the beginnings of the paths of look-ups' files and of symbols_file
 * from now on (borrowed; NULL = none). Paths that a dump brings are replaced by dump_map_paths. */
void symbolizer_use_paths(struct symbolizer *s, const struct path_map *paths);
/* Frees the symbolizer, with names and symbols_file of dumps that it symbolicated; s may be NULL.
 */
void symbolizer_free(struct symbolizer *s);

/* Symbolicates a dump: fills d->locations, every stack's locations, every image's symbols and
 * symbols_file, and the same in *add for dump_write_spliced. Arrays are in d's arena, names and
 * files of lines are d's or the symbolizer's, symbols_file is the symbolizer's. Answers of an
 * earlier run are kept for an image whose verdict was `ok` without hidden names, or gave names and
 * was better than the verdict now (or the same, with hidden names then and now); so is a learned
 * name, or a report's that d's names lack, if no file has an answer now and no learned name
 * contradicts it. Thread safe: several workers share one symbolizer. Never ST_NONE. ST_ERR: out of
 * memory, or `find` failed. A damaged unit costs only its own addresses, and the source complains.
 */
enum st symbolize_dump(struct symbolizer *s, struct dump *d, struct dump_addition *add,
                       struct err *e) BASE_MUST_USE;

/* Appends the name of a lookup frame, in the style `names`, to out, which is empty; nothing for a
 * frame without a name. *mangled (mangled may be NULL) becomes the frame's linkage name, or its
 * function name if it has no other, if that name is mangled, the style is not SYMBOLIZE_LINKAGE and
 * the appended name differs; else NULL. Never ST_NONE. ST_ERR: out of memory. */
enum st symbolize_name(const struct lookup_frame *f, enum symbolize_names names, struct strbuf *out,
                       const char **mangled, struct err *e) BASE_MUST_USE;

/* Is the text a name, and no placeholder such as "<redacted>" or "???" (stallkit-design(7), ADDRESS
 * RULES, 5)? */
bool symbolize_is_name(const char *name);

/* Prints the report of a dump for people: header, the main thread's chain of waits, verdict per
 * image, main thread with its heaviest stack, the other threads. */
void symbolize_report(const struct dump *d, struct sink *out);

#endif
