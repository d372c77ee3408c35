/* Maps: data files that describe where another tool's JSON has its threads, frames and images, so
 * that the format needs no reader in C. stall-map(5) describes the language. */
#ifndef STALLKIT_DUMP_REPORT_MAP_H
#define STALLKIT_DUMP_REPORT_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* A set of maps. Once filled it is only read, and any number of threads may do so. */
struct report_maps;

/* Makes a set without maps; the caller frees it with report_maps_free. ST_ERR: ERR_NOMEM. Never
 * ST_NONE. */
enum st report_maps_new(struct report_maps **out, struct err *e) BASE_MUST_USE;
/* Frees the set; NULL is allowed. */
void report_maps_free(struct report_maps *maps);

/* Receives a fault of a map; line: from 1, or 0 if the map is an empty text; text: the description
 * of the fault, borrowed for the call. */
typedef void (*report_map_on_fault)(void *ctx, const char *file, uint32_t line, const char *text);
/* Appends the map in a text to the set; the first map that recognises a document reads it. file is
 * the name for messages; file and text need only live as long as the call. ERR_FORMAT: the map has
 * faults, each was passed to on_fault (may be NULL), and the map is left out; the error is the
 * first fault, as "FILE:LINE: TEXT". ERR_LIMIT: text is longer than 256 KiB. ERR_NOMEM. Never
 * ST_NONE. */
enum st report_maps_add(struct report_maps *maps, const char *file, const char *text, size_t len,
                        report_map_on_fault on_fault, void *ctx, struct err *e) BASE_MUST_USE;
/* Appends the built-in maps; call it once, and last. */
enum st report_maps_add_builtin(struct report_maps *maps, struct err *e) BASE_MUST_USE;
/* Returns the name of map i of the set, in the order in which they are tried; NULL: there are no
 * more. */
const char *report_maps_name(const struct report_maps *maps, size_t i);

#endif
