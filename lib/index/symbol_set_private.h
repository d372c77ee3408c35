/* Types and functions that the files of the symbol set share, private to lib/index. */
#ifndef STALLKIT_INDEX_SYMBOL_SET_PRIVATE_H
#define STALLKIT_INDEX_SYMBOL_SET_PRIVATE_H

#include <pthread.h>
#include <time.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "index/added_stores.h"
#include "index/build.h"
#include "index/open_files.h"
#include "index/symbol_set.h"

enum { CANDIDATES_MAX = 64, SYMBOL_ROOTS = 1 };
/* Folders in which this host's packages put debug files. */
extern const char *const symbol_roots[SYMBOL_ROOTS];

struct named_use {
    const char *name, *path;
};

/* An answer of symbol_set_find, the number of changes of stores by then, and the time. */
struct given_answer {
    struct symbol_file file;
    unsigned changes;
    time_t seconds; /* time of the monotonic clock, in seconds */
};

struct symbol_set {
    pthread_mutex_t lock; /* held in symbol_set_find, and while sources open debug info */
    struct finder *finder;
    struct index_store *store; /* store of indexes of the files; NULL = none */
    struct added_stores added_stores;
    symbol_fetch fetch; /* NULL = none */
    void *fetch_ctx;
    symbol_complain complain;
    void *complain_ctx;
    bool host;
    VEC(struct named_use) uses;
    struct open_files files;
    struct split_files split;
    struct map told;       /* paths of files whose missing supplementary file was reported */
    pthread_mutex_t talk;  /* guards notices */
    struct map notices;    /* path and text of each notice that was given */
    const char *temporary; /* folder for unpacked archives; borrowed; NULL = the system's */
    VEC(struct lookup_source *) sources;
    VEC(struct given_answer) answers;
    struct map answer_by_request; /* request -> index in answers */
    struct arena arena;
};

/* ---- symbol_search.c ---- */

/* Passes an error on to the set's complain, if any. symbol_set_complain is itself a
 * symbol_complain, whose ctx is a set. A notice (ERR_UNREAD) whose path and text were passed on
 * before is dropped, unless memory ran out. Any thread may call it. */
void symbol_set_complain(void *ctx, const char *path, const struct err *why);

/* Searches the file for a request; the caller holds the set's lock. ST_ERR: out of memory. */
enum st symbol_search(struct symbol_set *s, const struct symbol_request *r, struct symbol_file *out,
                      struct err *e) BASE_MUST_USE;

/* Returns the rank of a file by its debug info: RANK_BEST has all, RANK_DEBUG_INFO and above has
 * DWARF, 0 has nothing. */
enum { RANK_BEST = 6, RANK_DEBUG_INFO = 4 };
int symbol_search_rank(const struct symbol_file *f);

/* Opens a candidate once. ST_NONE: the candidate cannot be opened, which is reported the first
 * time. ST_ERR: out of memory. */
enum st symbol_set_open(struct symbol_set *s, struct open_files *files,
                        const struct find_candidate *c, struct object **out,
                        struct err *e) BASE_MUST_USE;
/* Sets *paired to the first other file of the slice's id, not all[except], that has function
 * starts: a dSYM's binary bounds its symbols. NULL: none, or the slice has symbols and function
 * starts itself. ST_ERR: out of memory. Never ST_NONE. */
enum st symbol_set_pair(struct symbol_set *s, struct open_files *files,
                        const struct object_slice *of, const struct find_candidate *const *all,
                        size_t count, size_t except, const struct object_slice **paired,
                        struct err *e) BASE_MUST_USE;
/* Fills *out with the slice and the other files that an index or a look-up reads, such as its
 * supplementary file. ST_ERR: out of memory. Never ST_NONE. */
enum st symbol_set_source_of(struct symbol_set *s, const struct object_slice *slice,
                             const struct object_slice *paired, const char *path,
                             struct index_source *out, struct err *e) BASE_MUST_USE;

#endif
