/* The symbol index as a source of answers. Its bytes are hostile: offsets are checked where they
 * are used, chains only lead backwards, and loops end at counts that the bytes bound. The bytes may
 * also have changed since they were written: those behind an answer are compared with their
 * checksums before the answer is given, each block once. */
#include "index/mapped.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/filemap.h"
#include "base/hash.h"
#include "base/reader.h"
#include "index/function_record.h"

struct mapped {
    struct lookup_source source;
    struct filemap file; /* empty over borrowed bytes */
    char *name;
    const uint8_t *data;
    size_t len;
    struct index_header header;
    const uint8_t *addresses, *records; /* of pieces */
    size_t piece_count;
    atomic_uchar
        *sound; /* the blocks that were checked against their sums, shared by all threads */
    size_t
        first_block[INDEX_SECTIONS]; /* the first block of each section, in `sound` and in SUMS */
};

/* ---- access ---- */

static struct reader mapped_section_reader(const struct mapped *m, enum index_section which,
                                           uint64_t at) {
    const struct index_extent *x = &m->header.sections[which];
    struct reader r = reader_init(m->name, m->data + x->offset, (size_t)x->size);
    r.origin = x->offset;
    reader_seek(&r, at);
    return r;
}

static enum st index_damaged(const struct mapped *m, enum index_section which, uint64_t at,
                             struct err *e) {
    return err_at(e, ERR_FORMAT, m->name, m->header.sections[which].offset + at,
                  "the symbol index is damaged");
}

/* ---- checksums ---- */

/* Bytes of a block of a section that has it. */
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

/* Was a block found sound before? Two threads may check it at once, with the same result. */
static inline bool known_sound(const struct mapped *m, enum index_section which, uint64_t block) {
    return atomic_load_explicit(&m->sound[m->first_block[which] + block], memory_order_relaxed);
}

static void note_sound(const struct mapped *m, enum index_section which, uint64_t block) {
    atomic_store_explicit(&m->sound[m->first_block[which] + block], 1, memory_order_relaxed);
}

static enum st trust_slowly(const struct mapped *m, enum index_section which, uint64_t first,
                            uint64_t last, struct err *e) {
    for (uint64_t block = first; block <= last; block++) {
        if (known_sound(m, which, block)) {
            continue;
        }
        if (!sum_holds(m, which, block)) {
            return index_damaged(m, which, block * INDEX_SUMMED, e);
        }
        note_sound(m, which, block);
    }
    return ST_OK;
}

/* Are bytes [from, to) of a section unchanged? The section has them, and at least one. */
static inline enum st trust(const struct mapped *m, enum index_section which, uint64_t from,
                            uint64_t to, struct err *e) {
    uint64_t first = from / INDEX_SUMMED, last = (to - 1) / INDEX_SUMMED;
    return first == last && known_sound(m, which, first) ? ST_OK
                                                         : trust_slowly(m, which, first, last, e);
}

/* Strings may continue in the next block, so blocks are checked up to the end of the last string.
 */
static bool find_strings_sound(const struct mapped *m, uint64_t block) {
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

static inline bool strings_hold(const struct mapped *m, uint64_t block) {
    return known_sound(m, INDEX_STRS, block) || find_strings_sound(m, block);
}

/* ---- strings and names ---- */

/* The last byte of the table is a NUL, so every offset inside is a string's. */
static enum st string_at(const struct mapped *m, uint64_t at, const char **out, struct err *e) {
    const struct index_extent *x = &m->header.sections[INDEX_STRS];
    if (at >= x->size || !strings_hold(m, at / INDEX_SUMMED)) {
        return index_damaged(m, INDEX_STRS, at, e);
    }
    *out = (const char *)m->data + x->offset + at;
    return ST_OK;
}

static enum st file_at(const struct mapped *m, uint64_t number, const char **out, struct err *e) {
    const struct index_extent *x = &m->header.sections[INDEX_FILE];
    if (number >= x->size / 4) {
        return index_damaged(m, INDEX_FILE, 0, e);
    }
    if (trust(m, INDEX_FILE, number * 4, number * 4 + 4, e) != ST_OK) {
        return ST_ERR;
    }
    return string_at(m, index_u32(m->data + x->offset + number * 4), out, e);
}

/* Fills the frame's names. */
static enum st set_frame_name(const struct mapped *m, struct lookup_frame *f, uint64_t at,
                              struct err *e) {
    struct reader r = mapped_section_reader(m, INDEX_NAME, at);
    uint64_t function = reader_uleb128(&r), linkage = reader_uleb128(&r);
    uint64_t file = reader_uleb128(&r), line = reader_uleb128(&r);
    if (reader_failed(&r)) {
        return index_damaged(m, INDEX_NAME, at, e);
    }
    if (trust(m, INDEX_NAME, at, reader_pos(&r), e) != ST_OK) {
        return ST_ERR;
    }
    if (function && string_at(m, function, &f->function, e) != ST_OK) {
        return ST_ERR;
    }
    if (linkage == 1) {
        f->linkage = f->function;
    } else if (linkage && string_at(m, linkage - 1, &f->linkage, e) != ST_OK) {
        return ST_ERR;
    }
    f->start_line = (uint32_t)line;
    return file ? file_at(m, file - 1, &f->start_file, e) : ST_OK;
}

/* ---- records ---- */

/* Reads the node at s->node into a frame whose place is already set; the place in its caller goes
 * to *s, and *s becomes the caller's. */
static enum st take_node(const struct mapped *m, const struct function_record *f,
                         struct step_state *s, struct lookup_frame *frame, struct err *e) {
    struct reader r = reader_init(m->name, f->nodes, f->node_bytes);
    reader_seek(&r, s->node - 1);
    unsigned flags = reader_u8(&r);
    uint64_t back = flags & NODE_PARENT ? reader_uleb128(&r) : s->node;
    uint64_t name = reader_uleb128(&r);
    s->file = flags & NODE_PLACE ? reader_uleb128(&r) : 0;
    s->line = flags & NODE_PLACE ? reader_uleb128(&r) : 0;
    s->column = flags & NODE_COLUMN ? reader_uleb128(&r) : 0;
    s->discriminator = flags & NODE_DISCRIMINATOR ? reader_uleb128(&r) : 0;
    frame->low_pc = flags & NODE_LOW ? f->low + index_unzigzag(reader_uleb128(&r)) : 0;
    if (reader_failed(&r) || back == 0 || back > s->node) {
        return index_damaged(m, INDEX_DATA, 0, e);
    }
    s->node -= back;
    return set_frame_name(m, frame, name, e);
}

/* The number of a place's file plus one; 0 = there is no place. Format 2 numbered files from 0 and
 * had no place at line 0. */
static uint64_t file_of_place(const struct mapped *m, const struct step_state *s) {
    if (m->header.format > 2) {
        return s->file;
    }
    return s->line ? s->file + 1 : 0;
}

static enum st set_frame_place(const struct mapped *m, struct lookup_frame *f,
                               const struct step_state *s, struct err *e) {
    uint64_t file = file_of_place(m, s);
    if (file == 0) {
        return ST_OK;
    }
    if (s->line > UINT32_MAX || s->column > UINT32_MAX || s->discriminator > UINT32_MAX) {
        return index_damaged(m, INDEX_DATA, 0, e);
    }
    f->line = (uint32_t)s->line;
    f->column = (uint32_t)s->column;
    f->discriminator = (uint32_t)s->discriminator;
    return file_at(m, file - 1, &f->file, e);
}

static enum st begin_frame(const struct mapped *m, const struct function_record *f,
                           const struct step_state *s, struct lookup_hit *hit,
                           struct lookup_frame **out, struct err *e) {
    if (hit->frame_count == LOOKUP_INLINE_MAX) {
        return index_damaged(m, INDEX_DATA, 0, e);
    }
    struct lookup_frame *frame = &hit->frames[hit->frame_count++];
    *frame = (struct lookup_frame){.start = f->entry};
    *out = frame;
    return set_frame_place(m, frame, s, e);
}

static enum st answer_function(const struct mapped *m, struct reader *r, unsigned flags,
                               uint64_t low, uint64_t address, struct lookup_hit *hit,
                               struct err *e) {
    struct function_record f = {.low = low};
    struct step_state s;
    struct lookup_frame *frame;
    uint64_t record = reader_pos(r) - 1;
    function_record_read(r, flags, m->header.quantum, &f);
    bool outside = !reader_failed(r) && address >= f.high;
    if (!outside) {
        function_record_step(r, &f, address, &s);
    }
    if (reader_failed(r)) {
        return index_damaged(m, INDEX_DATA, reader_pos(r), e);
    }
    if (trust(m, INDEX_DATA, record, reader_pos(r), e) != ST_OK) {
        return ST_ERR;
    }
    if (outside) {
        return ST_NONE;
    }
    hit->quality = LOOKUP_DWARF;
    hit->start = f.low;
    hit->end = f.high;
    hit->frame_count = 0;
    while (s.node != 0) {
        if (begin_frame(m, &f, &s, hit, &frame, e) != ST_OK ||
            take_node(m, &f, &s, frame, e) != ST_OK) {
            return ST_ERR;
        }
    }
    if (begin_frame(m, &f, &s, hit, &frame, e) != ST_OK) {
        return ST_ERR;
    }
    frame->low_pc = f.low_pc;
    return set_frame_name(m, frame, f.name, e);
}

static enum st answer_symbol(const struct mapped *m, struct reader *r, unsigned flags,
                             uint64_t piece, uint64_t address, struct lookup_hit *hit,
                             struct err *e) {
    uint64_t record = reader_pos(r) - 1;
    uint64_t back = reader_uleb128(r), size = reader_uleb128(r), name = reader_uleb128(r);
    struct step_state s = {0};
    if (flags & RECORD_PLACE) {
        s.file = reader_uleb128(r);
        s.line = reader_uleb128(r);
        s.column = reader_uleb128(r);
        s.discriminator = reader_uleb128(r);
    }
    if (reader_failed(r)) {
        return index_damaged(m, INDEX_DATA, reader_pos(r), e);
    }
    if (trust(m, INDEX_DATA, record, reader_pos(r), e) != ST_OK) {
        return ST_ERR;
    }
    struct function_record f = {.entry = piece - back};
    struct lookup_frame *frame;
    if (back > piece || size > UINT64_MAX - f.entry) {
        return index_damaged(m, INDEX_DATA, reader_pos(r), e);
    }
    if (address - f.entry >= size) {
        return ST_NONE;
    }
    hit->quality = LOOKUP_SYMTAB;
    hit->start = f.entry;
    hit->end = f.entry + size;
    hit->frame_count = 0;
    return begin_frame(m, &f, &s, hit, &frame, e) == ST_OK ? set_frame_name(m, frame, name, e)
                                                           : ST_ERR;
}

static enum st answer_nameless(const struct mapped *m, struct reader *r, uint64_t piece,
                               uint64_t address, struct lookup_hit *hit, struct err *e) {
    uint64_t record = reader_pos(r) - 1, back = reader_uleb128(r), size = reader_uleb128(r);
    if (reader_failed(r) || back > piece || size > UINT64_MAX - (piece - back)) {
        return index_damaged(m, INDEX_DATA, reader_pos(r), e);
    }
    if (trust(m, INDEX_DATA, record, reader_pos(r), e) != ST_OK) {
        return ST_ERR;
    }
    if (address - (piece - back) >= size) {
        return ST_NONE;
    }
    hit->quality = LOOKUP_NAMELESS;
    hit->start = piece - back;
    hit->end = hit->start + size;
    hit->frame_count = 0;
    return ST_OK;
}

static enum st answer_at(const struct mapped *m, uint32_t record, uint64_t piece, uint64_t address,
                         struct lookup_hit *hit, struct err *e) {
    struct reader r = mapped_section_reader(m, INDEX_DATA, record);
    unsigned head = reader_u8(&r);
    if ((head & RECORD_KIND) == RECORD_PART) {
        uint64_t back = reader_uleb128(&r), function = reader_uleb128(&r);
        if (!reader_failed(&r) && trust(m, INDEX_DATA, record, reader_pos(&r), e) != ST_OK) {
            return ST_ERR;
        }
        reader_seek(&r, function);
        head = reader_u8(&r);
        if ((head & RECORD_KIND) != RECORD_FUNCTION || back > piece) {
            return index_damaged(m, INDEX_DATA, record, e);
        }
        piece -= back;
    }
    if (reader_failed(&r)) {
        return index_damaged(m, INDEX_DATA, record, e);
    }
    switch (head & RECORD_KIND) {
    case RECORD_FUNCTION:
        return answer_function(m, &r, head, piece, address, hit, e);
    case RECORD_SYMBOL:
        return answer_symbol(m, &r, head, piece, address, hit, e);
    case RECORD_NAMELESS:
        return answer_nameless(m, &r, piece, address, hit, e);
    default:
        return index_damaged(m, INDEX_DATA, record, e);
    }
}

static enum st mapped_lookup(struct lookup_source *source, uint64_t address, struct lookup_hit *hit,
                             struct err *e) {
    const struct mapped *m = (const struct mapped *)source;
    uint64_t offset = address - m->header.origin;
    size_t after =
        address < m->header.origin ? 0 : index_rows_up_to(m->addresses, 4, m->piece_count, offset);
    if (m->piece_count == 0) {
        return ST_NONE;
    }
    /* However the search came here: if these two blocks are sound, the address lies between them.
     */
    size_t first = after > 0 ? after - 1 : 0, end = after + (after < m->piece_count);
    if (trust(m, INDEX_ADDR, first * 4, end * 4, e) != ST_OK) {
        return ST_ERR;
    }
    if (after == 0) {
        return ST_NONE;
    }
    if (trust(m, INDEX_RECO, first * 4, after * 4, e) != ST_OK) {
        return ST_ERR;
    }
    uint32_t record = index_u32(m->records + (after - 1) * 4);
    uint64_t piece = m->header.origin + index_u32(m->addresses + (after - 1) * 4);
    return record ? answer_at(m, record, piece, address, hit, e) : ST_NONE;
}

/* ---- open, close ---- */

static void mapped_close(struct lookup_source *source) {
    struct mapped *m = (struct mapped *)source;
    filemap_release(&m->file);
    free(m->sound);
    free(m->name);
    free(m);
}

static const struct lookup_ops mapped_ops = {.lookup = mapped_lookup, .close = mapped_close};

static enum st count_blocks(struct mapped *m, struct err *e) {
    size_t blocks = 0;
    for (size_t i = 0; i < INDEX_SUMS; i++) {
        m->first_block[i] = blocks;
        blocks += (size_t)index_blocks(m->header.sections[i].size);
    }
    m->sound = calloc(blocks, sizeof *m->sound);
    return m->sound ? ST_OK : err_nomem(e);
}

static enum lookup_content content_of(unsigned flags) {
    if (flags & INDEX_NAMELESS) {
        return LOOKUP_HAS_RANGES;
    }
    if (!(flags & INDEX_DWARF)) {
        return LOOKUP_HAS_SYMBOLS; /* of a debug map without any of its files with INDEX_SPLIT, too
                                    */
    }
    return flags & INDEX_SPLIT ? LOOKUP_HAS_SPLIT_DWARF : LOOKUP_HAS_DWARF;
}

/* Takes over *file on ST_OK. */
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
        st = count_blocks(m, e);
    }
    if (st == ST_OK && !strings_hold(m, m->header.name / INDEX_SUMMED)) {
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
    m->source.content = content_of(m->header.flags);
    m->source.incomplete = (m->header.flags & INDEX_SPLIT) != 0;
    m->source.is_map = m->header.id.kind == IMAGE_ID_UUID; /* Mach-O has no .dwo files */
    m->source.lineless = (m->header.flags & INDEX_LINELESS) != 0;
    m->source.dieless = (m->header.flags & INDEX_DIELESS) != 0;
    if (file) {
        m->file = *file;
    }
    *out = &m->source;
    return ST_OK;
}

enum st mapped_open(struct lookup_source **out, const char *path, struct err *e) {
    struct filemap file;
    enum st st = filemap_open(&file, path, 0, e);
    if (st != ST_OK) {
        return st;
    }
    st = open_bytes(out, path, &file, file.data, file.size, e);
    if (st != ST_OK) {
        filemap_release(&file);
    }
    return st;
}

enum st mapped_open_bytes(struct lookup_source **out, const char *name, const uint8_t *data,
                          size_t len, struct err *e) {
    return open_bytes(out, name, NULL, data, len, e);
}

/* Padding between sections has no checksum, and no meaning. */
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
