/* Packs and unpacks with zstd. A packed text is one frame of zstd. If it was packed against another
 * text, a skippable frame before it has the number of that text in four bytes. */
#include "history/pack_text.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

enum {
    PACKED_LEVEL = 1,
    PACKED_SHORT_LEVEL = 6, /* for packer_new_short */
    /* Passages are found up to 16 MiB back, which is also the memory that unpacking takes. */
    PACKED_WINDOW = 24,
    NUMBER_SIZE = 12 /* size of the skippable frame: magic, length and number */
};
/* The first bytes of a frame, and of the skippable frame in front of it with its length. */
static const unsigned char frame_magic[4] = {0x28, 0xb5, 0x2f, 0xfd};
static const unsigned char number_magic[8] = {0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0};
/* The first bytes of a dictionary of zstd. A text that begins with them would be read as one. */
static const unsigned char dictionary_magic[4] = {0x37, 0xa4, 0x30, 0xec};

/* An unpacked text has at most free_bytes bytes, and BYTES_PER_BYTE more for each packed byte. */
static const uint64_t free_bytes = UINT64_C(64) << 20;
enum { BYTES_PER_BYTE = 1024 };

struct packer {
    ZSTD_CCtx *to;
    ZSTD_DCtx *from;
    ZSTD_inBuffer in;
    uint64_t left;   /* bytes that the text which is unpacked may still have */
    bool ended;      /* the frame is complete */
    uint32_t number; /* number of the only text that this packer packs against; 0 = any text */
};

/* Makes a packer with the settings that all packers have. */
static enum st make_packer(struct packer **out, struct err *e) {
    struct packer *p = calloc(1, sizeof *p);
    if (!p) {
        return err_nomem(e);
    }
    p->to = ZSTD_createCCtx();
    p->from = ZSTD_createDCtx();
    if (!p->to || !p->from) {
        packer_free(p);
        return err_nomem(e);
    }
    (void)ZSTD_CCtx_setParameter(p->to, ZSTD_c_checksumFlag, 1);
    (void)ZSTD_DCtx_setParameter(p->from, ZSTD_d_windowLogMax, PACKED_WINDOW);
    *out = p;
    return ST_OK;
}

enum st packer_new(struct packer **out, struct err *e) {
    if (make_packer(out, e) != ST_OK) {
        return ST_ERR;
    }
    (void)ZSTD_CCtx_setParameter((*out)->to, ZSTD_c_compressionLevel, PACKED_LEVEL);
    (void)ZSTD_CCtx_setParameter((*out)->to, ZSTD_c_windowLog, PACKED_WINDOW);
    (void)ZSTD_CCtx_setParameter((*out)->to, ZSTD_c_enableLongDistanceMatching, 1);
    return ST_OK;
}

enum st packer_new_short(struct packer **out, uint32_t number, const void *shared, size_t len,
                         struct err *e) {
    /* zstd gives the same error for a damaged dictionary as for a lack of memory. */
    if (len >= sizeof dictionary_magic &&
        memcmp(shared, dictionary_magic, sizeof dictionary_magic) == 0) {
        return err_set(e, ERR_FORMAT, "a dictionary of zstd in place of a text");
    }
    if (make_packer(out, e) != ST_OK) {
        return ST_ERR;
    }
    struct packer *p = *out;
    (void)ZSTD_CCtx_setParameter(p->to, ZSTD_c_compressionLevel, PACKED_SHORT_LEVEL);
    p->number = number;
    if (ZSTD_isError(ZSTD_CCtx_loadDictionary(p->to, shared, len)) ||
        ZSTD_isError(ZSTD_DCtx_loadDictionary(p->from, shared, len))) {
        packer_free(p);
        *out = NULL;
        return err_nomem(e);
    }
    return ST_OK;
}

void packer_free(struct packer *p) {
    if (p) {
        ZSTD_freeCCtx(p->to);
        ZSTD_freeDCtx(p->from);
        free(p);
    }
}

static bool has_number(const void *bytes, size_t len) {
    return len >= NUMBER_SIZE && memcmp(bytes, number_magic, sizeof number_magic) == 0;
}

bool packed_is_one(const void *bytes, size_t len) {
    return has_number(bytes, len) ||
           (len >= sizeof frame_magic && memcmp(bytes, frame_magic, sizeof frame_magic) == 0);
}

uint32_t packed_number(const void *bytes, size_t len) {
    uint32_t number = 0;
    if (has_number(bytes, len)) {
        const unsigned char *at = (const unsigned char *)bytes + sizeof number_magic;
        for (size_t i = 0; i < sizeof number; i++) {
            number |= (uint32_t)at[i] << 8 * i;
        }
    }
    return number;
}

static void put_text_number(uint32_t number, struct strbuf *out) {
    strbuf_add(out, number_magic, sizeof number_magic);
    for (size_t i = 0; i < sizeof number; i++) {
        strbuf_addc(out, (char)(number >> 8 * i & 0xff));
    }
}

enum st packer_pack(struct packer *p, uint32_t number, const void *shared, size_t shared_len,
                    const void *bytes, size_t len, struct strbuf *out, struct err *e) {
    if (p->number || shared_len) {
        put_text_number(p->number ? p->number : number, out);
    }
    size_t most = ZSTD_compressBound(len);
    char *room = ZSTD_isError(most) ? NULL : strbuf_room(out, most);
    if (!room || (!p->number && ZSTD_isError(ZSTD_CCtx_refPrefix(p->to, shared, shared_len)))) {
        return err_nomem(e);
    }
    size_t got = ZSTD_compress2(p->to, room, most, bytes, len);
    if (ZSTD_isError(got)) {
        return err_nomem(e);
    }
    strbuf_took(out, got);
    return strbuf_check(out, e);
}

enum st packer_open(struct packer *p, const void *shared, size_t shared_len, const void *bytes,
                    size_t len, struct err *e) {
    size_t from = has_number(bytes, len) ? NUMBER_SIZE : 0;
    p->in = (ZSTD_inBuffer){bytes, len, from};
    p->left = free_bytes + (uint64_t)len * BYTES_PER_BYTE;
    p->ended = false;
    return ZSTD_isError(ZSTD_DCtx_reset(p->from, ZSTD_reset_session_only)) ||
                   (!p->number && ZSTD_isError(ZSTD_DCtx_refPrefix(p->from, shared, shared_len)))
               ? err_nomem(e)
               : ST_OK;
}

enum st packer_next(struct packer *p, struct strbuf *out, struct err *e) {
    if (p->ended) {
        return p->in.pos == p->in.size ? ST_NONE : err_set(e, ERR_FORMAT, "bytes after its end");
    }
    char *room = strbuf_room(out, PACKED_PIECE);
    if (!room) {
        return err_nomem(e);
    }
    ZSTD_outBuffer to = {room, PACKED_PIECE, 0};
    size_t more = ZSTD_decompressStream(p->from, &to, &p->in);
    if (ZSTD_isError(more)) {
        return ZSTD_getErrorCode(more) == ZSTD_error_memory_allocation
                   ? err_nomem(e)
                   : err_set(e, ERR_FORMAT, "bad zstd stream: %s", ZSTD_getErrorName(more));
    }
    if (to.pos > p->left) {
        return err_set(e, ERR_LIMIT, "it is too large");
    }
    p->left -= to.pos;
    p->ended = more == 0;
    strbuf_took(out, to.pos);
    return p->ended || to.pos || p->in.pos < p->in.size
               ? strbuf_check(out, e)
               : err_set(e, ERR_TRUNCATED, "it ends too early");
}
