/* The mappings that a run was given, and the lines of the source that they give for a dump's names.
 */
#ifndef STALLKIT_SYMBOLIZE_RETRACE_SET_H
#define STALLKIT_SYMBOLIZE_RETRACE_SET_H

#include "dump/dump.h"
#include "symbolize/retrace_map.h"

/* The mappings of a run. Once filled it is only read, from any number of threads. */
struct retrace_set;

/* Makes an empty set. Never ST_NONE. ST_ERR: out of memory. */
enum st retrace_set_new(struct retrace_set **out, struct err *e) BASE_MUST_USE;
/* Frees the set; set may be NULL. */
void retrace_set_free(struct retrace_set *set);
/* Adds the mapping in the file at path. ST_NONE: it is no regular file, has no mapping's id in its
 * first 4096 bytes, or cannot be read. ST_ERR: out of memory. */
enum st retrace_set_add(struct retrace_set *set, const char *path, struct err *e) BASE_MUST_USE;

/* Returns the id of the mapping for the dump's short names: R8 writes "r8-map-id-ID" as a name's
 * file. NULL: no name has such a file. Borrowed from the dump. */
const char *retrace_id_of(const struct dump *d);
/* Returns the mapping whose id the dump has (retrace_id_of); NULL: the set (which may be NULL)
 * lacks it, or the dump has no id. */
const struct retrace_map *retrace_set_find(const struct retrace_set *set, const struct dump *d);
/* Makes the lines of the source behind a name of the dump, in the arena: innermost inline first.
 * callee: the name of the frame that the frame with this name called; NULL = none, or unknown. If
 * the callee is an outline, the lines are those of the code that R8 moved to the outline. A line
 * has a file only if it has a number and the mapping has the file of its class. ST_NONE: the
 * mapping lacks the name's class. ST_ERR: out of memory. */
enum st retrace_lines(const struct retrace_map *m, const struct dump_name *name,
                      const struct dump_name *callee, struct arena *arena, struct dump_line **lines,
                      size_t *count, struct err *e) BASE_MUST_USE;

#endif
