/* A mapping in memory: retrace_map.c reads it, retrace_find.c looks lines up. */
#ifndef STALLKIT_SYMBOLIZE_RETRACE_MAP_PRIVATE_H
#define STALLKIT_SYMBOLIZE_RETRACE_MAP_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"

struct retrace_text {
    const char *p;
    size_t len;
};

struct retrace_method {
    struct retrace_text short_name, class_name, name; /* class_name empty: the class around it */
    struct retrace_text signature;                    /* type, name and arguments, as they stand */
    uint32_t from, to;               /* lines of the short method, 0:65535 being all */
    uint32_t source_from, source_to; /* lines of the source; 0 = unknown */
    uint32_t tree_from, tree_to; /* least `from` and largest `to` in the subtree whose root is this
                                    method (find_entries of retrace_find.c) */
    size_t order;                /* index in the file's order */
    bool ranged;                 /* the mapping gives from and to */
    bool sourced; /* the mapping gives source_from; else the lines of the short method are those of
                     the source */
    bool synthesized;              /* R8 made the method, it is not in the source */
    bool outline;                  /* R8 moved its code out of other methods */
    struct retrace_text positions; /* for a call of an outline: the members of "positions" */
};

/* The entries of a class that have one short name. */
struct retrace_group {
    struct retrace_text short_name;
    size_t first, count; /* the group's part of retrace_map.methods, in the file's order */
    size_t own;   /* index in methods of the last entry of the class itself; SIZE_MAX = none */
    bool several; /* the entries of the class itself have different names */
    bool outline; /* an entry is an outline */
};

struct retrace_class {
    struct retrace_text name, file;
    size_t first, count; /* the class's part of retrace_map.methods */
    /* the class's part of retrace_map.groups, which ascend by name */
    size_t first_group, group_count;
    /* next: index of the next class with the same short name; last: in the first of these classes,
     * index of the last one; 0 = none */
    size_t next, last;
};

struct retrace_map {
    struct retrace_text id;
    struct map by_short_name; /* short name of a class -> index in classes */
    struct map by_name;       /* the source's name of a class -> index in classes */
    VEC(struct retrace_class) classes;
    VEC(struct retrace_method) methods;
    VEC(struct retrace_group) groups;
    bool after_method; /* the last line that is neither a comment nor empty was a method */
};

bool retrace_text_equal(struct retrace_text a, struct retrace_text b);
/* Is below, equal to or above 0 as a is before, equal to or after b in the order of bytes. */
int retrace_text_compare(struct retrace_text a, struct retrace_text b);
/* Takes a number of at most 32 bits and, if `colon`, the colon after it off the start of the text.
 * False: the text does not begin so. */
bool retrace_take_number(struct retrace_text *t, bool colon, uint32_t *out);

#endif
