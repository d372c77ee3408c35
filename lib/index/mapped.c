/* Answers look-ups from a symbol index. Its bytes are hostile: offsets are checked where they are
 * used, chains only lead backwards, and loops end at counts that the bytes bound. The bytes may
 * also have changed since they were written: each block on which an answer depends is compared with
 * its checksum, once, before the answer is given. */
#include "index/mapped.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "index/mapped_private.h"

/* ---- checksums ---- */

/* Returns the bytes of a block of a section; the section must have the block. */
static const uint8_t *block_at(const struct mapped *m, enum index_section which, uint64_t block,
                               size_t *len) {
    const struct index_extent *x = &m->header.sections[which];
    uint64_t left = x->size - block * INDEX_SUMMED;
    *len = left < INDEX_SUMMED ? (size_t)left : INDEX_SUMMED;
    return m->data + x->offset + block * INDEX_SUMMED;
}

static bool sum_holds(const struct mapped *m, enum index_section which, uint64_t block) {
    size_t len;
    const uint8_t *bytes = block_at(m, which, block, &len);
    const uint8_t *sums = m->data + m->header.sections[INDEX_SUMS].offset;
    return hash_crc32(bytes, len) == index_u32(sums + (m->first_block[which] + block) * 4);
}

static void note_sound(const struct mapped *m, enum index_section which, uint64_t block) {
    atomic_store_explicit(&m->sound[m->first_block[which] + block], 1, memory_order_relaxed);
}

enum st mapped_trust_blocks(const struct mapped *m, enum index_section which, uint64_t first,
                            uint64_t last, struct err *e) {
    for (uint64_t block = first; block <= last; block++) {
        if (mapped_known_sound(m, which, block)) {
            continue;
        }
        if (!sum_holds(m, which, block)) {
            return index_damaged(m, which, block * INDEX_SUMMED, e);
        }
        note_sound(m, which, block);
    }
    return ST_OK;
}

/* Strings may continue in the next block, so blocks are checked up to the end of the last string
 * that begins in `block`. */
bool mapped_strings_sound(const struct mapped *m, uint64_t block) {
    uint64_t blocks = index_blocks(m->header.sections[INDEX_STRS].size);
    bool ended = false;
    for (uint64_t next = block; !ended && next < blocks; next++) {
        size_t len;
        const uint8_t *bytes = block_at(m, INDEX_STRS, next, &len);
        if (!sum_holds(m, INDEX_STRS, next)) {
            return false;
        }
        ended = next == block ? bytes[len - 1] == 0 : memchr(bytes, 0, len) != NULL;
    }
    note_sound(m, INDEX_STRS, block);
    return true;
}

/* ---- look-ups ---- */

static enum st mapped_lookup(struct lookup_source *source, uint64_t address, struct lookup_hit *hit,
                             struct err *e) {
    const struct mapped *m = (const struct mapped *)source;
    uint64_t offset = address - m->header.origin;
    size_t after =
        address < m->header.origin ? 0 : index_rows_up_to(m->addresses, 4, m->piece_count, offset);
    if (m->piece_count == 0) {
        return ST_NONE;
    }
    /* If the blocks with the entries of the pieces before and behind the address are undamaged, the
     * address is certainly between these two pieces, even if the binary search has read damaged
     * blocks on the way. */
    size_t first = after > 0 ? after - 1 : 0, end = after + (after < m->piece_count);
    if (mapped_trust(m, INDEX_ADDR, first * 4, end * 4, e) != ST_OK) {
        return ST_ERR;
    }
    if (after == 0) {
        return ST_NONE;
    }
    if (mapped_trust(m, INDEX_RECO, first * 4, after * 4, e) != ST_OK) {
        return ST_ERR;
    }
    uint32_t record = index_u32(m->records + (after - 1) * 4);
    uint64_t piece = m->header.origin + index_u32(m->addresses + (after - 1) * 4);
    return record ? mapped_answer(m, record, piece, address, hit, e) : ST_NONE;
}

/* ---- open, close ---- */

static void mapped_close(struct lookup_source *source) {
    struct mapped *m = (struct mapped *)source;
    filemap_release(&m->file);
    free(m->sound);
    free(m->paths);
    free(m->name);
    free(m);
}

static const struct lookup_ops mapped_ops = {.lookup = mapped_lookup, .close = mapped_close};

/* Allocates the tables of checked blocks and paths, all unchecked. */
static enum st prepare_tables(struct mapped *m, struct err *e) {
    size_t blocks = 0;
    for (size_t i = 0; i < INDEX_SUMS; i++) {
        m->first_block[i] = blocks;
        blocks += (size_t)index_blocks(m->header.sections[i].size);
    }
    size_t files = (size_t)(m->header.sections[INDEX_FILE].size / 4);
    m->sound = calloc(blocks, sizeof *m->sound);
    m->paths = calloc(files + 1, sizeof *m->paths);
    return m->sound && m->paths ? ST_OK : err_nomem(e);
}

static enum lookup_content content_of(unsigned flags) {
    if (flags & INDEX_NAMELESS) {
        return LOOKUP_HAS_RANGES;
    }
    if (!(flags & INDEX_DWARF)) {
        return LOOKUP_HAS_SYMBOLS; /* INDEX_SPLIT may be set, too: no object file of the debug
                                      map was found when the index was built */
    }
    return flags & INDEX_SPLIT ? LOOKUP_HAS_SPLIT_DWARF : LOOKUP_HAS_DWARF;
}

/* Opens an index over bytes; takes over *file (NULL: none) on ST_OK. */
static enum st open_bytes(struct lookup_source **out, const char *name, struct filemap *file,
                          const uint8_t *data, size_t len, struct err *e) {
    struct mapped *m = calloc(1, sizeof *m);
    char *copy = strdup(name);
    if (!m || !copy) {
        free(m);
        free(copy);
        return err_nomem(e);
    }
    *m = (struct mapped){
        .source = {.ops = &mapped_ops, .concurrent = true}, .name = copy, .data = data, .len = len};
    enum st st = index_header_read(&m->header, copy, data, len, e);
    if (st == ST_OK) {
        st = prepare_tables(m, e);
    }
    if (st == ST_OK && !mapped_strings_hold(m, m->header.name / INDEX_SUMMED)) {
        st = index_damaged(m, INDEX_STRS, m->header.name, e);
    }
    if (st != ST_OK) {
        mapped_close(&m->source);
        return st;
    }
    const struct index_extent *x = m->header.sections;
    m->addresses = data + x[INDEX_ADDR].offset;
    m->records = data + x[INDEX_RECO].offset;
    m->piece_count = (size_t)(x[INDEX_ADDR].size / 4);
    while (2U << m->quantum_bits <= m->header.quantum) {
        m->quantum_bits++;
    }
    m->source.content = content_of(m->header.flags);
    m->source.incomplete = (m->header.flags & INDEX_SPLIT) != 0;
    m->source.is_map = m->header.id.kind == IMAGE_ID_UUID; /* Mach-O has no .dwo files */
    m->source.lineless = (m->header.flags & INDEX_LINELESS) != 0;
    m->source.hidden = (m->header.flags & INDEX_HIDDEN) != 0;
    m->source.names_cut = (m->header.flags & INDEX_NAMES_CUT) != 0;
    m->source.dieless = (m->header.flags & INDEX_DIELESS) != 0;
    if (file) {
        m->file = *file;
    }
    *out = &m->source;
    return ST_OK;
}

/* Opens the index of a file; takes the file over, whose opening had the result st. */
static enum st open_map(struct lookup_source **out, const char *path, struct filemap *file,
                        enum st st, struct err *e) {
    if (st != ST_OK) {
        return st;
    }
    st = open_bytes(out, path, file, file->data, file->size, e);
    if (st != ST_OK) {
        filemap_release(file);
    }
    return st;
}

enum st mapped_open(struct lookup_source **out, const char *path, struct err *e) {
    struct filemap file;
    return open_map(out, path, &file, filemap_open_regular(&file, path, 0, e), e);
}

enum st mapped_open_owned(struct lookup_source **out, const char *path, struct err *e) {
    struct filemap file;
    return open_map(out, path, &file, filemap_open_owned(&file, path, 0, e), e);
}

enum st mapped_open_bytes(struct lookup_source **out, const char *name, const uint8_t *data,
                          size_t len, struct err *e) {
    return open_bytes(out, name, NULL, data, len, e);
}

/* Is the padding after a section all zeros? The padding has no checksum. */
static bool padding_holds(const struct mapped *m, const struct index_extent *x) {
    for (uint64_t at = x->offset + x->size; at % INDEX_ALIGN != 0 && at < m->len; at++) {
        if (m->data[at] != 0) {
            return false;
        }
    }
    return true;
}

bool mapped_is_sound(const struct lookup_source *s) {
    const struct mapped *m = (const struct mapped *)s;
    for (size_t i = 0; i < INDEX_SECTIONS; i++) {
        if (!padding_holds(m, &m->header.sections[i])) {
            return false;
        }
    }
    for (size_t i = 0; i < INDEX_SUMS; i++) {
        uint64_t blocks = index_blocks(m->header.sections[i].size);
        for (uint64_t block = 0; block < blocks; block++) {
            if (!sum_holds(m, (enum index_section)i, block)) {
                return false;
            }
        }
    }
    return true;
}

const struct index_header *mapped_header(const struct lookup_source *s) {
    return &((const struct mapped *)s)->header;
}

enum st mapped_check_image(const struct lookup_source *s, const struct image_id *id,
                           const char *arch, struct err *e) {
    const struct index_header *h = mapped_header(s);
    return image_id_equal(&h->id, id) && strcmp(h->arch, arch) == 0
               ? ST_OK
               : err_set(e, ERR_FORMAT, "the index is of another image than the catalog says");
}

const char *mapped_image_name(const struct lookup_source *s) {
    const struct mapped *m = (const struct mapped *)s;
    return (const char *)m->data + m->header.sections[INDEX_STRS].offset + m->header.name;
}

size_t mapped_piece_count(const struct lookup_source *s) {
    return ((const struct mapped *)s)->piece_count;
}

uint64_t mapped_piece(const struct lookup_source *s, size_t i) {
    const struct mapped *m = (const struct mapped *)s;
    return m->header.origin + index_u32(m->addresses + i * 4);
}
