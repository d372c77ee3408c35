/* Unpacks xz, with a limit on memory and on the unpacked bytes. */
#include "object/xz_section.h"

#include <lzma.h>

enum { STEP = 64 * 1024 };
/* `xz -9` needs 65 MiB to unpack. */
#define MEMORY_MAX (UINT64_C(128) << 20)

static enum st xz_failed(const char *name, lzma_ret why, struct err *e) {
    switch (why) {
    case LZMA_MEM_ERROR:
        return err_nomem(e);
    case LZMA_MEMLIMIT_ERROR:
        return err_set(e, ERR_LIMIT, "xz stream in '%s' needs too much memory", name);
    case LZMA_OK:
    case LZMA_BUF_ERROR:
        return err_set(e, ERR_TRUNCATED, "xz stream in '%s' is cut", name);
    default:
        return err_set(e, ERR_FORMAT, "bad xz stream in '%s'", name);
    }
}

enum st xz_inflate(const char *name, const void *bytes, size_t len, uint64_t max,
                   struct strbuf *out, struct err *e) {
    uint8_t step[STEP];
    lzma_stream z = LZMA_STREAM_INIT;
    lzma_ret r = lzma_stream_decoder(&z, MEMORY_MAX, LZMA_CONCATENATED);
    uint64_t total = 0;
    enum st st = ST_OK;
    z.next_in = bytes;
    z.avail_in = len;
    while (r == LZMA_OK && st == ST_OK) {
        z.next_out = step;
        z.avail_out = sizeof step;
        r = lzma_code(&z, LZMA_FINISH);
        size_t got = sizeof step - z.avail_out;
        if (got > max - total) {
            st = err_set(e, ERR_LIMIT, "xz stream in '%s' unpacks to more than %llu bytes", name,
                         (unsigned long long)max);
        } else {
            total += got;
            strbuf_add(out, (const char *)step, got);
            st = strbuf_check(out, e);
        }
    }
    lzma_end(&z);
    if (st != ST_OK) {
        return st;
    }
    return r == LZMA_STREAM_END ? ST_OK : xz_failed(name, r, e);
}
