/* Implements gzip as a filter, in memory given by the caller. */
#include "support/rec_gzip.h"

#include <stdalign.h>
#include <stdint.h>
#include <zlib.h>

/* Sizes of the compressor. The window has 8 KiB, which saves the app memory, and is enough as a
 * dump repeats itself within a few stacks. zlib 1.2 then needs 71 KiB; the rest of ARENA is for
 * forks of zlib that need more. */
enum { WINDOW_BITS = 13, MEM_LEVEL = 6, ARENA = 128 * 1024, CHUNK = 1024, GZIP_WRAP = 16 };

struct rec_gzip {
    struct rec_out out;
    struct rec_out *to;
    z_stream stream;
    size_t used;
    unsigned char chunk[CHUNK];
    alignas(max_align_t) unsigned char arena[ARENA];
};

size_t rec_gzip_size(void) {
    return sizeof(struct rec_gzip);
}

static voidpf gzip_alloc(voidpf opaque, uInt items, uInt size) {
    struct rec_gzip *gzip = opaque;
    const size_t align = alignof(max_align_t);
    size_t left = ARENA - gzip->used;
    if (size != 0 && items > left / size) {
        return NULL;
    }
    size_t bytes = ((size_t)items * size + align - 1) / align * align;
    if (bytes > left) {
        return NULL;
    }
    void *at = gzip->arena + gzip->used;
    gzip->used += bytes;
    return at;
}

static void gzip_free(voidpf opaque, voidpf address) {
    (void)opaque;
    (void)address; /* zlib's memory is freed as a whole by the caller */
}

/* Compresses the bytes at next_in; with Z_FINISH up to the end of the gzip member. */
static bool deflate_all(struct rec_gzip *gzip, int flush) {
    z_stream *z = &gzip->stream;
    int status;
    do {
        z->next_out = gzip->chunk;
        z->avail_out = CHUNK;
        status = deflate(z, flush);
        if (status == Z_STREAM_ERROR) {
            return false;
        }
        rec_out_write(gzip->to, gzip->chunk, CHUNK - z->avail_out);
    } while (z->avail_out == 0);
    return !gzip->to->failed && (flush != Z_FINISH || status == Z_STREAM_END);
}

static bool gzip_write(void *ctx, const void *bytes, size_t len) {
    struct rec_gzip *gzip = ctx;
    const unsigned char *from = bytes;
    while (len > 0) {
        uInt part = len < INT32_MAX ? (uInt)len : (uInt)INT32_MAX;
        gzip->stream.next_in = (z_const Bytef *)from;
        gzip->stream.avail_in = part;
        if (!deflate_all(gzip, Z_NO_FLUSH)) {
            return false;
        }
        from += part;
        len -= part;
    }
    return true;
}

struct rec_gzip *rec_gzip_open(void *memory, struct rec_out *to) {
    struct rec_gzip *gzip = memory;
    gzip->out = (struct rec_out){.write = gzip_write, .ctx = gzip};
    gzip->to = to;
    gzip->used = 0;
    gzip->stream = (z_stream){.zalloc = gzip_alloc, .zfree = gzip_free, .opaque = gzip};
    if (deflateInit2(&gzip->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, WINDOW_BITS + GZIP_WRAP,
                     MEM_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK) {
        return NULL;
    }
    return gzip;
}

struct rec_out *rec_gzip_out(struct rec_gzip *gzip) {
    return &gzip->out;
}

bool rec_gzip_close(struct rec_gzip *gzip) {
    bool ok = !gzip->out.failed && deflate_all(gzip, Z_FINISH);
    deflateEnd(&gzip->stream);
    return ok;
}
