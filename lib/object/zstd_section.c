/* Inflates a zstd-compressed section of known size. */
#include "object/zstd_section.h"

#include <zstd.h>

enum st zstd_inflate_into(const char *name, const void *bytes, size_t len, void *out,
                          size_t out_len, struct err *e) {
    size_t got = ZSTD_decompress(out, out_len, bytes, len);
    if (ZSTD_isError(got)) {
        return err_set(e, ERR_FORMAT, "bad zstd stream in '%s': %s", name, ZSTD_getErrorName(got));
    }
    if (got != out_len) {
        return err_set(e, ERR_FORMAT, "zstd stream in '%s' has %zu bytes instead of %zu", name, got,
                       out_len);
    }
    return ST_OK;
}
