/* The answers that a run has resolved so far, shared by its threads; private to lib/symbolize. */
#ifndef STALLKIT_SYMBOLIZE_ANSWERS_PRIVATE_H
#define STALLKIT_SYMBOLIZE_ANSWERS_PRIVATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "dump/dump.h"
#include "index/symbol_set.h"
#include "symbolize/symbolize.h"

/* The answer for one (source, offset). */
struct answer {
    uint64_t start; /* offset of the function's first byte; the offset that was asked for if no
                       function is known there */
    /* The calls inlined there, innermost first, and last the function; none if no function with a
     * name is known there. */
    struct dump_line *lines;
    size_t line_count;
    enum dump_source source;
};

/* Keeps the first answers, up to a number of bytes, because stalls return to the same code, so that
 * frequent addresses come early. Later answers are resolved each time. */
struct answers;

/* Makes an empty table of answers. lock (borrowed) is held while a source that is not `concurrent`
 * is asked. kept_max: approximate limit in bytes of the answers and their strings that are kept.
 * ST_ERR: out of memory. */
enum st answers_new(struct answers **out, pthread_mutex_t *lock, enum symbolize_names names,
                    size_t kept_max, struct err *e) BASE_MUST_USE;
/* Sets the rules that replace the beginnings of source files' paths from now on (borrowed; NULL
 * = none). */
void answers_use_paths(struct answers *a, const struct path_map *paths);
/* Frees the table with the kept answers; a may be NULL. */
void answers_free(struct answers *a);

/* Gives the answer for an offset in the file's image; file->source is not NULL. A kept answer is
 * resolved once for all threads and lives as long as `a`; any other goes into `arena`. Thread safe
 * but for the arena. Never ST_NONE. ST_ERR: out of memory. */
enum st answers_find(struct answers *a, const struct symbol_file *file, uint64_t offset,
                     struct arena *arena, struct answer *out, struct err *e) BASE_MUST_USE;
/* Makes the line of a frame that a report names, with its strings in the arena. ST_ERR: out of
 * memory. */
enum st answers_line(const struct answers *a, const struct lookup_frame *f, struct arena *arena,
                     struct dump_line *line, struct err *e) BASE_MUST_USE;

#endif
