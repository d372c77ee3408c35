/* Paths to values inside JSON, as map files write them, see stall-map(5):
 *
 *     exception.values.*.type          members; * is each element of an array, each member's value
 *     threads[0]  exceptions[-1]       an element, from the end if negative
 *     entries[type=threads].data       the elements whose member has this text
 *     ."a.b".c  .                      a quoted name; the value itself */
#ifndef STALLKIT_DUMP_MEMBER_PATH_H
#define STALLKIT_DUMP_MEMBER_PATH_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "dump/json/span_private.h"

enum { PATH_STEPS_MAX = 16 };

enum path_step_kind { STEP_MEMBER, STEP_EACH, STEP_INDEX, STEP_WITH };

struct path_step {
    enum path_step_kind kind;
    const char *name;  /* member's name; for STEP_WITH, the name of a member of the element */
    const char *value; /* STEP_WITH: text that the member has to have */
    int64_t index;     /* STEP_INDEX: index of the element; negative: counted from the end */
};

/* A path of `count` steps; a path without steps leads to the value itself. */
struct member_path {
    const struct path_step *steps;
    size_t count;
};

/* Parses a path; its strings are copied into the arena. ST_ERR: ERR_FORMAT (the message has no line
 * or column), ERR_LIMIT for more than PATH_STEPS_MAX steps, or ERR_NOMEM. Never ST_NONE. */
enum st member_path_parse(struct member_path *out, const char *text, size_t len, struct arena *a,
                          struct err *e) BASE_MUST_USE;

/* Receives a value at the end of a path; returns true to continue to the next one. */
typedef bool (*member_path_visit)(void *ctx, const json_t *value);
/* Visits the values that the path leads to, in their order. False: a visit returned false, which
 * ended the walk. A NULL root has no values. */
bool member_path_each(const struct member_path *path, const json_t *root, member_path_visit visit,
                      void *ctx);
/* Returns the first value that the path leads to; NULL: there is none. */
const json_t *member_path_first(const struct member_path *path, const json_t *root);

/* Receives a value at the end of a path in a text; returns true to continue to the next one. */
typedef bool (*member_path_visit_span)(void *ctx, struct span value);
/* Visits the values that the path leads to in a text, valid JSON or not; of two members with one
 * name both are visited. False: a visit returned false, which ended the walk. */
bool member_path_each_span(const struct member_path *path, struct span root,
                           member_path_visit_span visit, void *ctx);

#endif
