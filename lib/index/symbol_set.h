/* Finds the file that answers for an image: the files, bundles and folders that the user named are
 * searched by identity, and each image gets a verdict: the file that was found, or the reason why
 * none was. */
#ifndef STALLKIT_INDEX_SYMBOL_SET_H
#define STALLKIT_INDEX_SYMBOL_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/parse.h"
#include "index/lookup.h"
#include "index/open_files.h"
#include "index/store.h"
#include "object/find/find.h"

struct symbol_set;

enum symbol_verdict {
    SYMBOLS_OK = 1, /* the file has DWARF */
    /* The DWARF of some units is in files that were not found or are of another build: names in
     * these units are those of symbols. */
    SYMBOLS_SPLIT,
    SYMBOLS_ONLY,          /* a symbol table, no DWARF */
    SYMBOLS_MISSING,       /* no file has this id or this name */
    SYMBOLS_ID_MISMATCH,   /* a file of this name has another id */
    SYMBOLS_ARCH_MISMATCH, /* a file of this name lacks the architecture */
    SYMBOLS_NO_DEBUG_INFO, /* the file has neither DWARF nor symbols */
    SYMBOLS_DAMAGED        /* the file with this id, or of symbol_set_use, cannot be read */
};

/* The known facts about an image; strings may be NULL. */
struct symbol_request {
    struct image_id id;
    const char *name; /* base name, for verdicts and symbol_set_use */
    const char *path; /* where the image was on the device */
    const char *arch;
};

/* The answer to a request for an image; pointers are borrowed from the set. */
struct symbol_file {
    enum symbol_verdict verdict;
    const char *file; /* path of the file that is used or damaged, or of the nearest candidate; NULL
                         = none */
    /* Set if the verdict is OK, SPLIT or ONLY, or is NO_DEBUG_INFO and the ranges of functions are
     * known; else NULL. */
    struct lookup_source *source;
    uint64_t base; /* the debug file's own base address */
    bool arm32;    /* 32-bit ARM: bit 0 of a code address marks Thumb */
};

/* Callback for damaged or unreadable paths and units, from any thread that looks up or finds,
 * several at once. ERR_UNREAD is a notice, no damage; a notice is given once for each path and
 * text, unless memory runs out. */
typedef void (*symbol_complain)(void *ctx, const char *path, const struct err *why);

/* Makes an empty set; complain may be NULL. symbol_set_find may run while several threads look up
 * in the sources that it gave; callers must serialise all other calls. */
enum st symbol_set_new(struct symbol_set **out, symbol_complain complain, void *ctx,
                       struct err *e) BASE_MUST_USE;
/* Frees the set with all its sources and strings; s may be NULL. */
void symbol_set_free(struct symbol_set *s);

/* Sets the store whose indexes are used and built from now on (borrowed; NULL = none). */
void symbol_set_use_store(struct symbol_set *s, struct index_store *store);

/* Sets the folder for a nameless file into which archives are unpacked (borrowed; NULL: the
 * system's). */
void symbol_set_use_temporary_folder(struct symbol_set *s, const char *folder);

/* Sets a callback that symbol_set_add calls, and symbol_set_find when it looks into a bundle laid
 * out by id (on the thread that finds), with the number of entries of folders visited by the set so
 * far, after each 256. */
void symbol_set_on_progress(struct symbol_set *s, void (*tell)(void *ctx, size_t looked_at),
                            void *ctx);

/* Makes the set look into folders that are laid out by id when an id is asked for, instead of
 * adding all their files (finder_use_layouts). Not for symbol_set_each. */
void symbol_set_use_layouts(struct symbol_set *s);

/* Adds a file, a dSYM bundle, an archive, a folder, or a permanent store. ST_NONE: no such path.
 * ST_ERR: nothing at the path can be used, or out of memory. */
enum st symbol_set_add(struct symbol_set *s, const char *path, struct err *e) BASE_MUST_USE;
/* Uses this file or dSYM bundle for the image of this name, whatever their ids (the only way for an
 * image without an id). ST_NONE: no such path. ST_ERR: the path has no object file, or several, or
 * out of memory. */
enum st symbol_set_use(struct symbol_set *s, const char *name, const char *path,
                       struct err *e) BASE_MUST_USE;
/* Makes the set search the images' own paths and /usr/lib/debug on this host, too. The id must
 * match there, too. ST_ERR: out of memory. Never ST_NONE. */
enum st symbol_set_use_host(struct symbol_set *s, struct err *e) BASE_MUST_USE;

/* Callback that gets a debug file for an image for whose id no debug info was found. ST_OK: *path,
 * malloc'ed, is a file or an archive; files of other ids in it are not used. ST_NONE: the file
 * cannot be had now. ST_ERR: out of memory. */
typedef enum st (*symbol_fetch)(void *ctx, const struct symbol_request *r, char **path,
                                struct err *e);
/* Sets the callback that is asked when no debug info was found for an id, unless symbols of a
 * permanent store answer; it is asked at most once an hour for one request, under the set's lock.
 */
void symbol_set_on_missing(struct symbol_set *s, symbol_fetch fetch, void *ctx);

/* Gives the answer for an image. The same request gives the same answer without a new search, until
 * the catalog of a permanent store has changed and one lists the id (changes are looked for at most
 * once a second), or it is time to fetch again; an answer with all debug info stays. ST_ERR only
 * for out of memory. */
enum st symbol_set_find(struct symbol_set *s, const struct symbol_request *r,
                        struct symbol_file *out, struct err *e) BASE_MUST_USE;

/* symbol_set_each calls each for every file that was added and has debug info or symbols; of the
 * files of one id only for the best. source->fingerprint is 0. The files that source needs are in
 * *files, which is closed when each returns; `each` may move *files to a place of its own and close
 * it when it no longer needs source. Supplementary files, which several sources share, and `from`
 * live as long as the set. The function stops at the first ST_ERR of `each` and returns it. */
typedef enum st (*symbol_each)(void *ctx, const struct index_source *source,
                               const struct find_candidate *from, struct open_files *files,
                               struct err *e);
enum st symbol_set_each(struct symbol_set *s, symbol_each each, void *ctx,
                        struct err *e) BASE_MUST_USE;

#endif
