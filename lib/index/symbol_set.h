/* Which file answers for an image: the files, bundles and folders that the user named, searched by
 * identity, and for each image a verdict that says what was found or why nothing was. */
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
#include "object/find.h"

struct symbol_set;

enum symbol_verdict {
    SYMBOLS_OK = 1,        /* DWARF */
    SYMBOLS_SPLIT,         /* some DWARF is in files that were not found: names of symbols */
    SYMBOLS_ONLY,          /* a symbol table, no DWARF */
    SYMBOLS_MISSING,       /* no file with this id, none of this name */
    SYMBOLS_ID_MISMATCH,   /* a file of this name has another id */
    SYMBOLS_ARCH_MISMATCH, /* a file of this name lacks the architecture */
    SYMBOLS_NO_DEBUG_INFO, /* the file has neither DWARF nor symbols */
    SYMBOLS_DAMAGED        /* the file with this id cannot be read */
};

/* The known facts about an image; strings may be NULL. */
struct symbol_request {
    struct image_id id;
    const char *name; /* base name, for verdicts and symbol_set_use */
    const char *path; /* where the image was on the device */
    const char *arch;
};

/* All borrowed from the set. */
struct symbol_file {
    enum symbol_verdict verdict;
    const char *file; /* used, damaged, or the nearest candidate; NULL = none */
    /* NULL unless OK, SPLIT or ONLY; or NO_DEBUG_INFO, where it may know where functions lie. */
    struct lookup_source *source;
    uint64_t base; /* the debug file's own base address */
    bool arm32;    /* bit 0 of a code address is Thumb's */
};

/* Told of damaged or unreadable paths and units, from any thread that looks up or finds, several at
 * once. ERR_UNREAD: a notice, nothing is wrong; told once of a file. */
typedef void (*symbol_complain)(void *ctx, const char *path, const struct err *why);

/* complain may be NULL. symbol_set_find may run while several threads look up in the sources that
 * it gave; for the rest callers share a set under a lock of theirs. */
enum st symbol_set_new(struct symbol_set **out, symbol_complain complain, void *ctx,
                       struct err *e) BASE_MUST_USE;
/* NULL is allowed. All sources and strings of the set die with it. */
void symbol_set_free(struct symbol_set *s);

/* Answers through the indexes of this store (borrowed; NULL = none) from now on. */
void symbol_set_use_store(struct symbol_set *s, struct index_store *store);

/* Archives are unpacked into a nameless file in this folder (borrowed; NULL: the system's). */
void symbol_set_use_temporary_folder(struct symbol_set *s, const char *folder);

/* symbol_set_add calls tell (of object/find.h's kind) now and then with the number of files and
 * folders looked at so far. */
void symbol_set_on_progress(struct symbol_set *s, void (*tell)(void *ctx, size_t looked_at),
                            void *ctx);

/* Looks into folders that are laid out by id when an id is asked for, instead of adding all of them
 * (finder_use_layouts). Not for symbol_set_each. */
void symbol_set_use_layouts(struct symbol_set *s);

/* Adds a file, a dSYM bundle, an archive, a folder, or a permanent store. ST_NONE: no such path.
 * ST_ERR: it cannot be used at all.
 */
enum st symbol_set_add(struct symbol_set *s, const char *path, struct err *e) BASE_MUST_USE;
/* Answers for the image of this name from this file or dSYM bundle, whatever their ids (an image
 * without an id is matched no other way). ST_NONE: no such path. ST_ERR: it holds no object file,
 * or several. */
enum st symbol_set_use(struct symbol_set *s, const char *name, const char *path,
                       struct err *e) BASE_MUST_USE;
/* Also looks at the images' own paths and under /usr/lib/debug on this host. The id must match
 * there too. */
enum st symbol_set_use_host(struct symbol_set *s, struct err *e) BASE_MUST_USE;

/* Gets a debug file for an image whose id nothing has debug info for. ST_OK: *path, malloc'ed, is a
 * file or an archive; what in it is not of the id does not answer. ST_NONE: it cannot be had, now.
 * ST_ERR: out of memory. */
typedef enum st (*symbol_fetch)(void *ctx, const struct symbol_request *r, char **path,
                                struct err *e);
/* Asks fetch where all else has no debug info, once an hour for a request. Under the set's lock. */
void symbol_set_on_missing(struct symbol_set *s, symbol_fetch fetch, void *ctx);

/* The answer for an image; the same request gives the same answer without a new search, until a
 * permanent store lists more for its id, which is looked for once a second, or it is time to
 * fetch again. ST_ERR only for out of memory. */
enum st symbol_set_find(struct symbol_set *s, const struct symbol_request *r,
                        struct symbol_file *out, struct err *e) BASE_MUST_USE;

/* Calls each for every file that was added and has debug info or symbols; of files of one id only
 * for the best. source->fingerprint is 0. What source was opened from is in *files, which is closed
 * when each returns; each may move it out, to close it when it has done with source. Supplementary
 * files, which many share, stay open as long as the set; from lives as long, too. Stops at the
 * first ST_ERR and returns it. */
typedef enum st (*symbol_each)(void *ctx, const struct index_source *source,
                               const struct find_candidate *from, struct open_files *files,
                               struct err *e);
enum st symbol_set_each(struct symbol_set *s, symbol_each each, void *ctx,
                        struct err *e) BASE_MUST_USE;

#endif
