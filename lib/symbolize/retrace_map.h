/* Reads R8's and ProGuard's mapping.txt, which maps the short names of a release build to those of
 * the source, with inlined methods and lines. The format is R8's "retrace" one,
 * https://r8.googlesource.com/r8/+/refs/heads/main/doc/retrace.md */
#ifndef STALLKIT_SYMBOLIZE_RETRACE_MAP_H
#define STALLKIT_SYMBOLIZE_RETRACE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Limit on the methods at one line, the outermost included; of more, the first
 * RETRACE_LINES_MAX - 1 and the outermost are kept. */
enum { RETRACE_LINES_MAX = 64 };

/* A method of the source; texts are parts of the mapping, without a NUL. */
struct retrace_line {
    const char *class_name, *method, *file;
    size_t class_len, method_len, file_len; /* file_len 0 = the mapping has no file for the class */
    uint32_t line;                          /* 0 = none */
};

/* A mapping. Once opened it is only read, from any number of threads. */
struct retrace_map;

/* Do a file's first bytes show that it is a mapping with an id? */
bool retrace_map_is(const char *bytes, size_t len);
/* Reads a mapping. The text is borrowed until retrace_map_close. Lines that are no part of a
 * mapping are skipped. ST_NONE: the mapping has no id ("# pg_map_id:"). ST_ERR: out of memory. */
enum st retrace_map_open(struct retrace_map **out, const char *text, size_t len,
                         struct err *e) BASE_MUST_USE;
/* Frees the mapping; m may be NULL. */
void retrace_map_close(struct retrace_map *m);
/* Is m the mapping with this id, or is the id in the file of m the beginning of this id? False if
 * id is NULL. */
bool retrace_map_is_named(const struct retrace_map *m, const char *id);
/* Writes the methods of the source for symbol "a.b.c" at this line (0 = unknown), innermost inline
 * first, to out[RETRACE_LINES_MAX]; returns how many. 0: the mapping lacks the class, or the symbol
 * has no dot. A method that is ambiguous or not in the mapping keeps its short name, in the
 * source's class. A method that R8 made is left out where others are inlined in it. A look-up
 * searches a limited number of entries, enough for any mapping that R8 writes. */
size_t retrace_map_find(const struct retrace_map *m, const char *symbol, uint32_t line,
                        struct retrace_line *out);

/* Finds the place from which R8 moved code into an outline, a method made of code of several
 * methods. The frame of `symbol` called the method `outline` at `line`; the outline was at
 * outline_line. Returns the line of the short method `symbol` from which that code came; 0:
 * `outline` is no outline, or the mapping has no such line. */
uint32_t retrace_map_callsite(const struct retrace_map *m, const char *symbol, uint32_t line,
                              const char *outline, uint32_t outline_line);

#endif
