/* Inflates and deflates gzip and zlib with zlib's stream interface. */
#include "base/gz.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/deflate.h"
#include "base/gz_private.h"

enum {
    STEP = 64 * 1024,   /* bytes inflated or read at a time */
    ZLIB_OR_GZIP = 32,  /* added to windowBits: inflate accepts zlib and gzip */
    GZIP = 16,          /* added to windowBits: gzip only */
    WINDOW = MAX_WBITS, /* 32 KiB, the largest window */
};

#define DEFAULT_MAX (UINT64_C(4) << 30)

bool gz_is_gzip(const void *bytes, size_t len) {
    return len >= 3 && memcmp(bytes, "\x1f\x8b\x08", 3) == 0;
}

static voidpf zalloc(voidpf opaque, uInt count, uInt size) {
    (void)opaque;
    return calloc(count, size);
}

static void zfree(voidpf opaque, voidpf p) {
    (void)opaque;
    free(p);
}

z_stream gz_new_stream(void) {
    return (z_stream){.zalloc = zalloc, .zfree = zfree};
}

/* Returns the size of the next piece of a buffer: zlib's lengths have 32 bits. */
static uInt piece(size_t left) {
    return left > INT_MAX ? INT_MAX : (uInt)left;
}

static enum st inflate_error(int code, const char *name, const z_stream *z, struct err *e) {
    if (code == Z_MEM_ERROR) {
        return err_nomem(e);
    }
    return err_set(e, ERR_FORMAT, "damaged compressed data in '%s': %s", name,
                   z->msg ? z->msg : "unexpected end of a block");
}

/* The state of inflating one buffer, over all of its members. */
struct inflation {
    const char *name;
    const uint8_t *in;
    size_t left;
    uint64_t max_out, total;
    struct strbuf *out;
};

/* Inflates up to the end of one gzip or zlib member. */
static enum st inflate_member(struct inflation *f, z_stream *z, uint8_t *step, struct err *e) {
    int code = Z_OK;
    while (code != Z_STREAM_END) {
        z->next_in = (Bytef *)(uintptr_t)f->in; /* zlib's next_in lacks a const */
        z->avail_in = piece(f->left);
        z->next_out = step;
        z->avail_out = STEP;
        uInt given = z->avail_in;
        code = inflate(z, Z_NO_FLUSH);
        size_t made = STEP - z->avail_out;
        f->in += given - z->avail_in;
        f->left -= given - z->avail_in;
        size_t room = f->max_out - f->total < made ? (size_t)(f->max_out - f->total) : made;
        strbuf_add(f->out, step, room);
        f->total += room;
        if (strbuf_check(f->out, e) != ST_OK) {
            return ST_ERR;
        }
        if (room < made) {
            return err_set(e, ERR_LIMIT, "'%s' inflates to more than %llu bytes", f->name,
                           (unsigned long long)f->max_out);
        }
        bool starved = code == Z_BUF_ERROR || (code == Z_OK && made == 0);
        if (starved && f->left == 0) {
            return err_set(e, ERR_TRUNCATED, "compressed data in '%s' is cut short", f->name);
        }
        if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR) {
            return inflate_error(code == Z_NEED_DICT ? Z_DATA_ERROR : code, f->name, z, e);
        }
    }
    return ST_OK;
}

/* Returns the size, modulo 2^32, that the last four bytes of a gzip give for its last member; 0:
 * the bytes are no gzip, or too few for such a size. */
static size_t told_size(const uint8_t *bytes, size_t len) {
    enum { GZIP_MIN = 18 /* bytes of a header and a trailer */, RATIO_MAX = 1032 /* of deflate */ };
    if (len < GZIP_MIN || !gz_is_gzip(bytes, len)) {
        return 0;
    }
    const uint8_t *end = bytes + len;
    size_t size = end[-4] | (size_t)end[-3] << 8 | (size_t)end[-2] << 16 | (size_t)end[-1] << 24;
    return size / RATIO_MAX > len ? 0 : size;
}

/* Inflates a gzip of one member at once. False, with nothing appended: the bytes are something else
 * or damaged, memory ran out, the result is empty or has more than max_out bytes, `out` has a
 * limit, or the build has no libdeflate. */
static bool inflate_at_once(const uint8_t *bytes, size_t len, uint64_t max_out,
                            struct strbuf *out) {
    size_t size = told_size(bytes, len), used = 0, made = 0;
    if (size == 0 || size > max_out || out->limit) {
        return false;
    }
    strbuf_room_large(out, size + 1);
    char *room = strbuf_room(out, size);
    if (!room || !deflate_gunzip(bytes, len, room, size, &used, &made) || used != len ||
        made != size) {
        return false;
    }
    strbuf_took(out, size);
    return true;
}

/* Skips the zeros with which tapes and block devices pad a member. */
static void skip_padding(struct inflation *f) {
    while (f->left > 0 && *f->in == 0) {
        f->in++;
        f->left--;
    }
}

/* Inflates members by zlib: all of them, or one. */
static enum st inflate_members(struct inflation *f, bool all, struct err *e) {
    uint8_t *step = malloc(STEP);
    if (!step) {
        return err_nomem(e);
    }
    z_stream z = gz_new_stream();
    enum st st = ST_ERR;
    int code = inflateInit2(&z, WINDOW + ZLIB_OR_GZIP);
    if (code != Z_OK) {
        inflate_error(code, f->name, &z, e);
        goto out;
    }
    do {
        st = inflate_member(f, &z, step, e);
        if (st == ST_OK) {
            skip_padding(f);
        }
        if (st == ST_OK && f->left > 0 && (*f->in != 0x1f || inflateReset(&z) != Z_OK)) {
            st = err_set(e, ERR_FORMAT, "bytes after the end of the compressed data in '%s'",
                         f->name);
        }
    } while (st == ST_OK && f->left > 0 && all);
    inflateEnd(&z);
out:
    free(step);
    return st;
}

enum st gz_inflate(const char *name, const void *bytes, size_t len, uint64_t max_out,
                   struct strbuf *out, struct err *e) {
    struct inflation f = {.name = name,
                          .in = bytes,
                          .left = len,
                          .max_out = max_out ? max_out : DEFAULT_MAX,
                          .out = out};
    if (len == 0) {
        return err_set(e, ERR_TRUNCATED, "compressed data in '%s' is cut short", name);
    }
    return inflate_at_once(bytes, len, f.max_out, out) ? ST_OK : inflate_members(&f, true, e);
}

enum st gz_inflate_member(const char *name, const void **bytes, size_t *len, uint64_t max_out,
                          struct strbuf *out, struct err *e) {
    struct inflation f = {.name = name, .in = *bytes, .left = *len, .max_out = max_out, .out = out};
    size_t room = out->data && !out->failed ? out->cap - out->len : 0, used, made;
    if (f.left == 0) {
        return err_set(e, ERR_TRUNCATED, "compressed data in '%s' is cut short", name);
    }
    if (told_size(f.in, f.left) >= room && inflate_at_once(f.in, f.left, max_out, out)) {
        f.in += f.left;
        f.left = 0;
    } else if (room > 1 && gz_is_gzip(f.in, f.left) &&
               deflate_gunzip(f.in, f.left, out->data + out->len, room - 1, &used, &made) &&
               made <= max_out) {
        strbuf_took(out, made);
        f.in += used;
        f.left -= used;
        skip_padding(&f);
    } else {
        strbuf_truncate(out, out->len);
        enum st st = inflate_members(&f, false, e);
        if (st != ST_OK) {
            return st;
        }
    }
    *bytes = f.in;
    *len = f.left;
    return ST_OK;
}

enum st gz_inflate_into(const char *name, const void *bytes, size_t len, void *out, size_t out_len,
                        struct err *e) {
    if (len > 0 && out_len > 0 && deflate_inflate(bytes, len, out, out_len)) {
        return ST_OK;
    }
    z_stream z = gz_new_stream();
    int code = inflateInit2(&z, WINDOW);
    if (code != Z_OK) {
        return inflate_error(code, name, &z, e);
    }
    const uint8_t *in = bytes;
    uint8_t *to = out;
    uint8_t spare; /* receives the byte after out_len that a stream which is too long has */
    size_t left = len, room = out_len;
    bool more = true;
    while (more) {
        uInt given = piece(left), space = room ? piece(room) : 1;
        z.next_in = (Bytef *)(uintptr_t)in;
        z.avail_in = given;
        z.next_out = room ? to : &spare;
        z.avail_out = space;
        code = inflate(&z, Z_NO_FLUSH);
        size_t used = given - z.avail_in, made = space - z.avail_out;
        in += used;
        left -= used;
        if (room == 0 && made > 0) {
            code = Z_OK;
            break;
        }
        to += made;
        room -= made;
        more = code == Z_OK && (used > 0 || made > 0);
    }
    enum st st = ST_ERR;
    if (code == Z_STREAM_END && room == 0) {
        st = ST_OK;
    } else if (code == Z_STREAM_END) {
        err_set(e, ERR_FORMAT, "compressed data in '%s' holds %zu bytes fewer than promised", name,
                room);
    } else if (code == Z_OK && room == 0 && z.next_out == &spare + 1) {
        err_set(e, ERR_FORMAT, "compressed data in '%s' holds more bytes than promised", name);
    } else if ((code == Z_OK || code == Z_BUF_ERROR) && left == 0) {
        err_set(e, ERR_TRUNCATED, "compressed data in '%s' is cut short", name);
    } else {
        inflate_error(code == Z_MEM_ERROR ? code : Z_DATA_ERROR, name, &z, e);
    }
    inflateEnd(&z);
    return st;
}

enum st gz_deflate(const void *bytes, size_t len, int level, struct strbuf *out, struct err *e) {
    z_stream z = gz_new_stream();
    /* Memory level 8 is zlib's default. The header that zlib writes has neither time nor name. */
    int code = deflateInit2(&z, level, Z_DEFLATED, WINDOW + GZIP, 8, Z_DEFAULT_STRATEGY);
    if (code != Z_OK) {
        return code == Z_MEM_ERROR ? err_nomem(e)
                                   : err_set(e, ERR_USAGE, "no compression level %d", level);
    }
    uint8_t *step = malloc(STEP);
    enum st st = step ? ST_OK : err_nomem(e);
    const uint8_t *in = bytes;
    size_t left = len;
    while (st == ST_OK && code != Z_STREAM_END) {
        uInt given = piece(left);
        z.next_in = (Bytef *)(uintptr_t)in;
        z.avail_in = given;
        z.next_out = step;
        z.avail_out = STEP;
        code = deflate(&z, given == left ? Z_FINISH : Z_NO_FLUSH);
        in += given - z.avail_in;
        left -= given - z.avail_in;
        strbuf_add(out, step, STEP - z.avail_out);
        st = strbuf_check(out, e);
        if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR) {
            st = err_set(e, ERR_INTERNAL, "zlib cannot compress (%d)", code);
        }
    }
    free(step);
    deflateEnd(&z);
    return st;
}

enum st gz_deflate_fast(const void *bytes, size_t len, int level, struct strbuf *out,
                        struct err *e) {
    /* A gzip that grows beyond this is left to zlib. */
    size_t most = len + 64;
    char *room = strbuf_room(out, most);
    size_t size = room ? deflate_gzip(bytes, len, level, room, most) : 0;
    if (size) {
        strbuf_took(out, size);
        return ST_OK;
    }
    return gz_deflate(bytes, len, level, out, e);
}
