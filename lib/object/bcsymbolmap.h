/* Maps the names that Apple's bitcode compiler hid to the original ones: an app built with bitcode
 * has "__hidden#12_" in place of a name, and the 14th line of its .bcsymbolmap file is the name:
 * the first line has the version, and names are numbered from 0. */
#ifndef STALLKIT_OBJECT_BCSYMBOLMAP_H
#define STALLKIT_OBJECT_BCSYMBOLMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "base/parse.h"

/* An open .bcsymbolmap file. It does not change: any number of threads may use it. */
struct bcsymbolmap;

/* Suffix of a map's file name, after the app's UUID; the UUID is not in the file's content. */
#define BCSYMBOLMAP_SUFFIX ".bcsymbolmap"

/* Reads the .bcsymbolmap file at path, of at most 512 MiB (ERR_LIMIT). Format: LLVM, dsymutil,
 * SymbolMap.cpp: "BCSymbolMap Version: 2.0" (or 1.0), then one name on each line, numbered from 0
 * on; a last line without a line end is cut, and counts as no name. ST_NONE: no such file. ST_ERR:
 * the file is no map (ERR_FORMAT), of another version (ERR_UNSUPPORTED), or cannot be read, or
 * memory ran out. */
enum st bcsymbolmap_open(struct bcsymbolmap **out, const char *path, struct err *e) BASE_MUST_USE;
/* Reads a map from a .bcsymbolmap file's bytes, which are copied; path is for error messages.
 * ST_ERR as for bcsymbolmap_open; never ST_NONE. */
enum st bcsymbolmap_open_bytes(struct bcsymbolmap **out, const char *path, const void *bytes,
                               size_t len, struct err *e) BASE_MUST_USE;
/* Frees the map; m may be NULL. */
void bcsymbolmap_close(struct bcsymbolmap *m);

/* Does the name begin like a hidden one: with "__hidden#", or in symbol tables "___hidden#"? */
static inline bool bcsymbolmap_is_hidden(const char *name) {
    return name[0] == '_' && name[1] == '_' &&
           strncmp(name + 2 + (name[2] == '_'), "hidden#", 7) == 0;
}
/* Do the bytes contain "__hidden#", the beginning of a hidden name, anywhere? */
bool bcsymbolmap_occurs(const void *bytes, size_t len);
/* Returns the original name for a hidden `name`, without a leading \1, by which LLVM marks a name
 * that it must not mangle; the returned name lives as long as the map. NULL: `name` is not of the
 * form "__hidden#LINE_" or "___hidden#LINE_", or the map has no such line or an empty one. */
const char *bcsymbolmap_text(const struct bcsymbolmap *m, const char *name);
/* Returns the map's whole text, version line and names, with NULs in place of line ends, for a
 * fingerprint; the text lives as long as the map. */
const uint8_t *bcsymbolmap_bytes(const struct bcsymbolmap *m, size_t *len);

/* Reads DBGOriginalUUID from <UUID>.plist in a dSYM's Resources: the UUID that an app had before
 * its bitcode was compiled again, which is also its map's file name. ST_NONE: the plist has no
 * DBGOriginalUUID, or its value is no UUID. ST_ERR: the plist is a binary property list, which is
 * not read (ERR_UNREAD). */
enum st bcsymbolmap_original_uuid(const void *plist, size_t len, struct image_id *out,
                                  struct err *e) BASE_MUST_USE;

#endif
