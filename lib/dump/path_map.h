/* Replaces the beginnings of paths, as compilers do with -ffile-prefix-map, in the paths of source
 * and debug files that a dump names, because these paths reveal the machines on which the app was
 * built and the dump was symbolicated. */
#ifndef STALLKIT_DUMP_PATH_MAP_H
#define STALLKIT_DUMP_PATH_MAP_H

#include "base/err.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "dump/dump.h"

struct path_rule {
    const char *from, *to; /* borrowed; no NUL ends `from` */
    size_t from_len, to_len;
};

/* Rules for the beginnings of paths. The first rule that fits a path is applied. Zero-initialised =
 * none. Read-only use is thread safe. */
struct path_map {
    VEC(struct path_rule) rules;
};

/* Adds a rule "OLD=NEW"; the text is borrowed. OLD, which ends at the first '=', must not be empty;
 * slashes at the ends of OLD and NEW are ignored, except in "/" itself. Never ST_NONE. ST_ERR:
 * ERR_USAGE, or out of memory. */
enum st path_map_add(struct path_map *m, const char *rule, struct err *e) BASE_MUST_USE;
/* Frees the rules. */
void path_map_release(struct path_map *m);
/* Appends the path with NEW in place of OLD; OLD matches whole components only ("/a/b" matches
 * "/a/b/c", not "/a/bc"), which '/' or '\' separates. ST_NONE: no rule fits, and nothing is
 * appended. ST_ERR: out of memory. */
enum st path_map_apply(const struct path_map *m, const char *path, struct strbuf *out,
                       struct err *e) BASE_MUST_USE;
/* Applies the rules to the files that the parsed dump names: those of its locations, its names and
 * its images' symbols_file; not to its text. New paths are in d's arena. Never ST_NONE. */
enum st dump_map_paths(struct dump *d, const struct path_map *m, struct err *e) BASE_MUST_USE;

#endif
