/* Writes and reads the header and table of contents of the symbol index. */
#include "index/format/format.h"

#include <string.h>

#include "base/checked.h"
#include "base/hash.h"
#include "base/reader.h"

static const char magic[] = "stallidx"; /* without its NUL */
enum { MAGIC_SIZE = sizeof magic - 1 };

static const char tags[INDEX_SECTIONS][5] = {
    [INDEX_ADDR] = "ADDR", [INDEX_RECO] = "RECO", [INDEX_DATA] = "DATA", [INDEX_NAME] = "NAME",
    [INDEX_FILE] = "FILE", [INDEX_STRS] = "STRS", [INDEX_SUMS] = "SUMS",
};

/* ---- writing ---- */

static void put_field(uint8_t *at, uint64_t v, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) {
        at[i] = (uint8_t)(v >> 8 * i);
    }
}

/* Returns the hash of the header up to the hash's place, and of the table of contents. */
static uint64_t prologue_hash(const uint8_t *data, size_t toc_size) {
    return hash_bytes(data, INDEX_HASH_AT) ^
           hash_u64(hash_bytes(data + INDEX_HEADER_SIZE, toc_size));
}

static void add_sum(struct strbuf *out, const char *bytes, size_t len) {
    uint8_t sum[4];
    put_field(sum, hash_crc32(bytes, len), sizeof sum);
    strbuf_add(out, sum, sizeof sum);
}

void index_sums_write(const struct strbuf *const sections[INDEX_SUMS], struct strbuf *out) {
    for (size_t i = 0; i < INDEX_SUMS; i++) {
        const struct strbuf *s = sections[i];
        for (size_t at = 0; at < s->len; at += INDEX_SUMMED) {
            add_sum(out, s->data + at, s->len - at < INDEX_SUMMED ? s->len - at : INDEX_SUMMED);
        }
    }
    add_sum(out, strbuf_cstr(out), out->len);
}

void index_header_write(const struct index_header *h, uint8_t out[INDEX_PROLOGUE]) {
    memset(out, 0, INDEX_PROLOGUE);
    memcpy(out, magic, MAGIC_SIZE);
    put_field(out + 8, h->format, 4);
    put_field(out + 12, h->builder, 4);
    put_field(out + 16, h->size, 8);
    put_field(out + 24, h->origin, 8);
    put_field(out + 32, h->base, 8);
    put_field(out + 40, h->text_end, 8);
    put_field(out + 48, h->fingerprint, 8);
    out[56] = (uint8_t)h->id.kind;
    out[57] = h->id.len;
    out[58] = h->flags;
    out[59] = h->quantum;
    put_field(out + 60, INDEX_SECTIONS, 4);
    memcpy(out + 64, h->id.bytes, sizeof h->id.bytes);
    memcpy(out + 84, h->arch, strlen(h->arch));
    put_field(out + 100, h->name, 4);
    for (size_t i = 0; i < INDEX_SECTIONS; i++) {
        uint8_t *entry = out + INDEX_HEADER_SIZE + i * INDEX_TOC_ENTRY;
        memcpy(entry, tags[i], 4);
        put_field(entry + 8, h->sections[i].offset, 8);
        put_field(entry + 16, h->sections[i].size, 8);
    }
    put_field(out + INDEX_HASH_AT, prologue_hash(out, INDEX_SECTIONS * INDEX_TOC_ENTRY), 8);
}

/* ---- reading ---- */

static enum st header_damaged(struct err *e, const char *name, uint64_t at, const char *what) {
    return err_at(e, ERR_FORMAT, name, at, "%s of the index is damaged", what);
}

static enum st read_fields(struct index_header *h, struct reader *r, uint32_t *sections,
                           struct err *e) {
    h->builder = reader_u32(r);
    h->size = reader_u64(r);
    h->origin = reader_u64(r);
    h->base = reader_u64(r);
    h->text_end = reader_u64(r);
    h->fingerprint = reader_u64(r);
    uint8_t kind = reader_u8(r);
    h->id.len = reader_u8(r);
    h->flags = reader_u8(r);
    h->quantum = reader_u8(r);
    *sections = reader_u32(r);
    const uint8_t *id = reader_bytes(r, sizeof h->id.bytes);
    const uint8_t *arch = reader_bytes(r, sizeof h->arch);
    h->name = reader_u32(r);
    if (reader_check(r, e, "the index's header") != ST_OK) {
        return ST_ERR;
    }
    memcpy(h->id.bytes, id, sizeof h->id.bytes);
    memcpy(h->arch, arch, sizeof h->arch);
    if (kind > IMAGE_ID_BUILD || h->id.len > IMAGE_ID_MAX || h->quantum == 0 ||
        *sections > INDEX_SECTIONS_MAX || h->arch[sizeof h->arch - 1] != 0) {
        return header_damaged(e, r->name, 56, "the header");
    }
    h->id.kind = (enum image_id_kind)kind;
    return ST_OK;
}

/* Reads the table of contents: sections must ascend and lie in the file; unknown tags are skipped.
 */
static enum st read_toc(struct index_header *h, struct reader *r, uint32_t count, struct err *e) {
    uint64_t end = INDEX_HEADER_SIZE + (uint64_t)count * INDEX_TOC_ENTRY;
    unsigned seen = 0;
    for (uint32_t i = 0; i < count; i++) {
        size_t at = reader_pos(r);
        const uint8_t *tag = reader_bytes(r, 4);
        (void)reader_u32(r);
        struct index_extent x = {.offset = reader_u64(r)};
        x.size = reader_u64(r);
        if (reader_failed(r) || x.offset < end || x.offset % INDEX_ALIGN != 0 ||
            !checked_range(x.offset, x.size, (uint64_t)(r->end - r->start))) {
            return header_damaged(e, r->name, at, "the table of contents");
        }
        end = x.offset + x.size;
        for (size_t k = 0; k < INDEX_SECTIONS; k++) {
            if (memcmp(tag, tags[k], 4) == 0) {
                h->sections[k] = x;
                seen |= 1U << k;
            }
        }
    }
    return seen == (1U << INDEX_SECTIONS) - 1
               ? ST_OK
               : header_damaged(e, r->name, INDEX_HEADER_SIZE, "the table of contents");
}

/* Checks that there is a checksum for each block, and the checksum of the checksums themselves. */
static enum st check_sums(const struct index_header *h, const char *name, const uint8_t *data,
                          struct err *e) {
    const struct index_extent *sums = &h->sections[INDEX_SUMS];
    uint64_t blocks = 0;
    for (size_t i = 0; i < INDEX_SUMS; i++) {
        blocks += index_blocks(h->sections[i].size);
    }
    if (sums->size / 4 == blocks + 1 && sums->size % 4 == 0) {
        struct reader r = reader_init(name, data + sums->offset, (size_t)sums->size);
        const uint8_t *all = reader_bytes(&r, blocks * 4);
        if (reader_u32(&r) == hash_crc32(all, (size_t)blocks * 4)) {
            return ST_OK;
        }
    }
    return header_damaged(e, name, sums->offset, "the table of checksums");
}

/* Checks the invariants on which every later access relies. */
static enum st check_sections(const struct index_header *h, const char *name, const uint8_t *data,
                              struct err *e) {
    const struct index_extent *s = h->sections;
    const struct index_extent *strings = &s[INDEX_STRS];
    if (s[INDEX_ADDR].size % 4 != 0 || s[INDEX_RECO].size != s[INDEX_ADDR].size ||
        s[INDEX_FILE].size % 4 != 0 || s[INDEX_ADDR].size / 4 > UINT32_MAX) {
        return header_damaged(e, name, INDEX_HEADER_SIZE, "the size of a section");
    }
    if (strings->size == 0 || data[strings->offset] != 0 ||
        data[strings->offset + strings->size - 1] != 0 || h->name >= strings->size) {
        return header_damaged(e, name, strings->offset, "the string table");
    }
    return check_sums(h, name, data, e);
}

enum st index_header_read(struct index_header *out, const char *name, const uint8_t *data,
                          size_t len, struct err *e) {
    struct index_header h = {0};
    struct reader r = reader_init(name, data, len);
    uint32_t sections;
    if (len < MAGIC_SIZE || memcmp(data, magic, MAGIC_SIZE) != 0) {
        return ST_NONE;
    }
    reader_skip(&r, MAGIC_SIZE);
    h.format = reader_u32(&r);
    if (!reader_failed(&r) && (h.format < INDEX_FORMAT_OLDEST || h.format > INDEX_FORMAT)) {
        return err_at(e, ERR_UNSUPPORTED, name, 8, "index format %u is not known",
                      (unsigned)h.format);
    }
    if (read_fields(&h, &r, &sections, e) != ST_OK) {
        return ST_ERR;
    }
    uint64_t hash = reader_u64(&r);
    if (reader_check(&r, e, "the index's header") != ST_OK) {
        return ST_ERR;
    }
    if (h.size != len) {
        return err_at(e, ERR_TRUNCATED, name, len, "the index should have %llu bytes",
                      (unsigned long long)h.size);
    }
    if (!checked_range(INDEX_HEADER_SIZE, (uint64_t)sections * INDEX_TOC_ENTRY, len) ||
        hash != prologue_hash(data, sections * (size_t)INDEX_TOC_ENTRY)) {
        return header_damaged(e, name, INDEX_HASH_AT, "the header");
    }
    if (read_toc(&h, &r, sections, e) != ST_OK || check_sections(&h, name, data, e) != ST_OK) {
        return ST_ERR;
    }
    *out = h;
    return ST_OK;
}
