/* Learns names of functions from reports: which function starts where in an image, up to which byte
 * of the function reports have given its name, and whether one report or more tell it (all reports
 * of one user count as one). Facts joined in any order and grouping give the same names, so neither
 * the order of inputs nor the number of threads shows. */
#ifndef STALLKIT_SYMBOLIZE_LEARNED_NAMES_H
#define STALLKIT_SYMBOLIZE_LEARNED_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/parse.h"

enum {
    /* Maximum distance in bytes of a name from its symbol; a name that is farther away is probably
     * only the nearest symbol of a file with few symbols, and not the function. */
    LEARNED_OFFSET_MAX = 16 * 1024,
    LEARNED_NAME_MAX = 16 * 1024, /* bytes */
    /* Maximum number of names of one start that read differently; with more, none is kept. */
    LEARNED_READINGS_MAX = 8
};

/* A name of a function of an image, or a start without a name. A function has several of them if
 * reports name it differently. */
struct learned_function {
    uint64_t start; /* offset of the function's first byte in the image */
    /* Offset past the last byte for which a report gave this name; equal to start = none. */
    uint64_t end;
    /* the name as a report has it, mangled if any report has the mangled one; NULL = only the start
     * is known */
    const char *name;
    /* The function has no name: it has more than LEARNED_READINGS_MAX of them, or (after
     * learned_list_choose) none is better told than another. */
    bool conflict;
    /* The two smallest of the numbers of those who told this name, ascending; 0 = there is none. A
     * fact with two zeros counts as told by number 1. Both are 0 in a conflict. */
    uint32_t told_by[2];
};

/* The functions of an image, ascending by start, and those of one start by name, NULL first.
 * Zero-initialised = empty; VEC_RELEASE frees it. */
struct learned_list {
    struct learned_function *data;
    size_t len, cap;
};

/* One fact that a report gives about a function. Pointers are borrowed. */
struct learned_fact {
    const struct image_id *id; /* not an id of zeros */
    struct learned_function function;
};

/* The names of any number of images. Thread safe. */
struct learned_names;

/* Makes an empty set of names. Never ST_NONE. ST_ERR: out of memory. */
enum st learned_names_new(struct learned_names **out, struct err *e) BASE_MUST_USE;
/* Frees the names; n may be NULL. */
void learned_names_free(struct learned_names *n);

/* May the text be the name of a function: is it valid UTF-8 of 1 … LEARNED_NAME_MAX bytes without
 * control characters, and no placeholder such as "<redacted>"? */
bool learned_is_name(const char *text);

/* Joins facts to those in n; names must pass learned_is_name, and are copied. Two names of one
 * start that read the same (a mangled name and its readable form do) become one, told by those who
 * told either; names that read differently are kept beside each other. Never ST_NONE. ST_ERR: out
 * of memory; some facts may have been joined. */
enum st learned_names_add(struct learned_names *n, const struct learned_fact *facts, size_t count,
                          struct err *e) BASE_MUST_USE;
/* Copies an image's functions to *out, which must be empty; names live as long as n. ST_NONE: n has
 * no function of the image. ST_ERR: out of memory. */
enum st learned_names_list(struct learned_names *n, const struct image_id *id,
                           struct learned_list *out, struct err *e) BASE_MUST_USE;
/* Return the number of images in n, and the id of image i, in no defined order; the id is borrowed
 * from n. */
size_t learned_names_image_count(struct learned_names *n);
const struct image_id *learned_names_image_id(struct learned_names *n, size_t i);

#endif
