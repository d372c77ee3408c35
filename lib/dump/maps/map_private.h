/* A parsed map, shared by its parser and its reader. Its strings live in the set's arena. */
#ifndef STALLKIT_DUMP_MAP_PRIVATE_H
#define STALLKIT_DUMP_MAP_PRIVATE_H

#include "base/vec.h"
#include "dump/maps/member_path.h"
#include "dump/maps/report_map.h"
#include "dump/reports/report_private.h"

enum map_unit {
    UNIT_MS,
    UNIT_NS,
    UNIT_US,
    UNIT_S,
    UNIT_MIN,
    UNIT_H,
    UNIT_WORDS,
    UNIT_HEX,
    UNIT_PPM
};

/* A list of paths; the member that has the list says which of the paths count. */
struct map_paths {
    struct member_path *data;
    size_t len, cap;
};

struct map_texts {
    const char **data;
    size_t len, cap;
};

/* A rule of a source's "as": a value that matches the pattern becomes `value`. */
struct map_pair {
    const char *pattern, *value;
};

/* One place where a field's value may stand, and how the value is converted. */
struct map_source {
    const char *constant;   /* the value itself; NULL: it is at the paths */
    struct map_paths paths; /* paths of the parts, which are joined if there are several */
    const char *with;       /* text between the parts */
    const char *like;       /* pattern that the value or, with several paths, the joined text has to
                               match; NULL = none */
    bool number;            /* the {} of `like` stands only for digits with at most one point */
    enum map_unit unit;
    /* replacements by "as", of which the first that matches counts; empty: the value stays */
    VEC(struct map_pair) pairs;
    bool conditional; /* true: the source counts only if a value at `when` matches one of the
                         patterns in `is` */
    struct member_path when;
    struct map_texts is;
};

/* The fields that a map can set: of the dump, of an image, of a thread and of a frame. */
enum map_field_id {
    FIELD_ID,
    FIELD_TIME,
    FIELD_USER,
    FIELD_APP_ID,
    FIELD_APP_VERSION,
    FIELD_APP_BUILD,
    FIELD_APP_UUID,
    FIELD_APP_PATH,
    FIELD_MODEL,
    FIELD_OS,
    FIELD_OS_BUILD,
    FIELD_ARCH,
    FIELD_THERMAL,
    FIELD_KIND,
    FIELD_ACTIVITY,
    FIELD_APP_STATE,
    FIELD_REASON,
    FIELD_THRESHOLD,
    FIELD_AT,
    FIELD_DURATION,
    FIELD_CPU,
    FIELD_SINCE_LAUNCH,
    FIELD_FATAL,
    FIELD_ENDED,
    FIELD_SAMPLES_PER_THREAD,
    FIELD_IMAGE_UUID,
    FIELD_IMAGE_BUILD_ID,
    FIELD_IMAGE_NAME,
    FIELD_IMAGE_PATH,
    FIELD_IMAGE_ARCH,
    FIELD_IMAGE_LOAD,
    FIELD_IMAGE_SIZE,
    FIELD_IMAGE_IN_APP,
    FIELD_THREAD_ID,
    FIELD_THREAD_NAME,
    FIELD_THREAD_MAIN,
    FIELD_THREAD_CRASHED,
    FIELD_THREAD_STATE,
    FIELD_THREAD_WAITS_FOR,
    FIELD_THREAD_SAMPLES,
    FIELD_FRAME_ADDRESS,
    FIELD_FRAME_OFFSET,
    FIELD_FRAME_LOAD,
    FIELD_FRAME_UUID,
    FIELD_FRAME_BUILD_ID,
    FIELD_FRAME_IMAGE,
    FIELD_FRAME_IMAGE_INDEX,
    FIELD_FRAME_SYMBOL,
    FIELD_FRAME_SYMBOL_ADDRESS,
    FIELD_FRAME_SYMBOL_OFFSET,
    FIELD_FRAME_FILE,
    FIELD_FRAME_LINE,
    FIELD_FRAME_IN_APP,
    MAP_FIELDS
};

struct map_field {
    VEC(struct map_source) sources; /* the first source that has a value counts */
};

/* A context member that a map sets. */
struct map_context {
    const char *name;
    struct map_field field;
};

/* A condition for recognising a document: one of the paths must lead to a value other than null or,
 * if `is` has texts, to one of these texts. */
struct map_need {
    struct map_paths paths;
    struct map_texts is; /* accepted texts; empty: any value other than null */
};

struct report_map {
    const char *name;
    VEC(struct map_need) needs; /* all must hold */
    struct map_paths each; /* paths to the objects that become one dump each; the first path that
                              leads to a value counts; empty: the whole document is the object */
    /* images, threads: all paths count; frames: paths in a thread, of which the first that leads to
     * an object counts */
    struct map_paths images, threads, frames;
    /* paths in a thread to the lists of the roots of its call trees; all count */
    struct map_paths trees;
    const char *children, *count; /* names of members of a tree's node; count may be NULL, and both
                                     are NULL without trees */
    bool outermost_first;
    struct map_field fields[MAP_FIELDS];
    VEC(struct map_context) context;
};

struct report_maps {
    struct arena arena;
    VEC(struct report_map *) list;
    size_t user_count; /* number of maps in list before the first built-in one; 0 until
                          report_maps_add_builtin */
};

void map_release_parts(struct report_map *map);

/* ---- values (map_value.c) ---- */

/* A value as text, without a NUL at its end. The text is borrowed from the JSON tree that has the
 * value, from the draft's arena or from the map. */
struct value_text {
    const char *s;
    size_t len;
};

/* Does the whole text match the pattern, in which * stands for any text? If so, *taken, if taken is
 * not NULL, is set to what {} stands for, or to the whole text if the pattern has no {}. number: {}
 * stands only for digits with at most one point. A pattern with {} matches no text of more than
 * 1024 bytes, and matches nothing if 256 bytes or more are before the {}. */
bool map_like(const char *pattern, const char *text, size_t len, bool number,
              struct value_text *taken);
/* Finds the field's text for this object. False: no source of the field has a text, or memory ran
 * out (then r->no_memory is set). */
bool map_field_text(struct report *r, const struct report_map *map, enum map_field_id id,
                    const json_t *object, struct value_text *out);
/* Returns a copy of the field's text in the draft's arena. NULL: no source of the field has a text,
 * or memory ran out (then r->no_memory is set). */
const char *map_field_string(struct report *r, const struct report_map *map, enum map_field_id id,
                             const json_t *object);
/* Returns a copy of a context member's text in the draft's arena; NULL as for map_field_string. */
const char *map_context_string(struct report *r, const struct map_context *c, const json_t *object);
/* Reads a field that is an address or a number; false: the object has none, or it is malformed. */
bool map_field_address(struct report *r, const struct report_map *map, enum map_field_id id,
                       const json_t *object, uint64_t *out);
/* Returns a field that is a duration, in ms; -1: there is none, it is malformed, or the whole part
 * of its number, or the result in ms, is above 2^53. */
int64_t map_field_ms(struct report *r, const struct report_map *map, enum map_field_id id,
                     const json_t *object);
/* Is the flag set? It is if the field has a value other than false, False, 0, no and NO. */
bool map_field_true(struct report *r, const struct report_map *map, enum map_field_id id,
                    const json_t *object);

/* ---- reading (map_read.c) ---- */

/* Does the map recognise the object? */
bool report_map_claims(const struct report_map *map, struct span object);

enum map_origin { MAP_OF_USER, MAP_BUILTIN };

/* Returns the first map of this origin in the set that recognises the object. NULL: none does, the
 * object is one of Stallkit's own records, or maps is NULL. */
const struct report_map *report_maps_find(const struct report_maps *maps, enum map_origin origin,
                                          struct span object);
/* Converts, as report_convert does, a document that the map recognises. */
enum st report_map_read(const struct report_map *map, const struct report_document *d,
                        struct err *e) BASE_MUST_USE;

#endif
