/* Finds the dSYM bundle beside a Mach-O file, as LLDB and llvm-symbolizer do: F.dSYM beside F, and
 * Shop.app.dSYM beside the bundle Shop.app that F is in. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/strbuf.h"
#include "object/find/find_private.h"

/* Number of folders around a binary that may be its bundle: Shop.app is the third around
 * Shop.app/Contents/MacOS/Shop. */
enum { BUNDLE_DEPTH = 4 };

/* Looks for the debug file in the bundle that is called like the first len characters of the
 * binary's path, with .dSYM appended. */
static enum st try_dsym(const struct object_slice *s, const char *binary, size_t len, char **path,
                        struct err *e) {
    struct strbuf b = {0};
    strbuf_addf(&b, "%.*s.dSYM/Contents/Resources/DWARF/%s", (int)len, binary, path_base(binary));
    enum st st = strbuf_check(&b, e);
    if (st == ST_OK) {
        st = find_check_id(b.data, object_slice_id(s), e);
    }
    if (st == ST_OK) {
        *path = strbuf_take(&b);
        st = *path ? ST_OK : err_nomem(e);
    }
    strbuf_release(&b);
    return st;
}

/* Looks beside the binary, then beside those of the BUNDLE_DEPTH innermost folders around the
 * binary that are called like bundles (Shop.app, Shop.framework). */
static enum st try_bundles(const struct object_slice *s, const char *binary, char **path,
                           struct err *e) {
    size_t len = strlen(binary);
    enum st st = try_dsym(s, binary, len, path, e);
    for (int up = 0; up < BUNDLE_DEPTH && st == ST_NONE; up++) {
        while (len > 0 && binary[len - 1] != '/') {
            len--;
        }
        while (len > 0 && binary[len - 1] == '/') {
            len--;
        }
        size_t dot = len;
        while (dot > 0 && binary[dot - 1] != '.' && binary[dot - 1] != '/') {
            dot--;
        }
        if (dot > 1 && binary[dot - 1] == '.' && binary[dot - 2] != '/') {
            st = try_dsym(s, binary, len, path, e);
        }
    }
    return st;
}

enum st find_dsym(const struct object_slice *s, const char *object_file_path, char **path,
                  struct err *e) {
    char real[PATH_MAX];
    if (object_slice_format(s) != OBJECT_MACHO || image_id_is_zero(object_slice_id(s)) ||
        strlen(object_file_path) >= PATH_MAX) {
        return ST_NONE;
    }
    enum st st = try_bundles(s, object_file_path, path, e);
    if (st == ST_NONE && realpath(object_file_path, real) && strcmp(real, object_file_path) != 0) {
        st = try_bundles(s, real, path, e);
    }
    return st;
}
