/* The symbol index in memory, between mapped.c, which opens it and finds the records of an address,
 * and mapped_record.c, which reads them. */
#ifndef STALLKIT_INDEX_MAPPED_PRIVATE_H
#define STALLKIT_INDEX_MAPPED_PRIVATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/filemap.h"
#include "base/reader.h"
#include "index/format/format.h"
#include "index/lookup.h"

struct mapped {
    struct lookup_source source;
    struct filemap file; /* empty over borrowed bytes */
    char *name;
    const uint8_t *data;
    size_t len;
    struct index_header header;
    /* u32 for each piece of code: where it begins (section ADDR), its record's offset (RECO) */
    const uint8_t *addresses, *records;
    size_t piece_count;
    atomic_uchar *sound; /* per block: 1 = its checksum was found right; shared by all threads */
    _Atomic(const char *) *paths; /* per number in FILE: the path once it was found sound, else
                                     NULL; shared by all threads */
    unsigned quantum_bits;        /* log2 of the quantum's bytes; for packed formats */
    size_t first_block[INDEX_SECTIONS]; /* number of each section's first block, in `sound` and in
                                           SUMS */
};

/* Sets *e to damage at an offset in a section, and returns ST_ERR. */
static inline enum st index_damaged(const struct mapped *m, enum index_section which, uint64_t at,
                                    struct err *e) {
    return err_at(e, ERR_FORMAT, m->name, m->header.sections[which].offset + at,
                  "the symbol index is damaged");
}

/* ---- checksums ---- */

/* Was the checksum of the block compared before, and right? Two threads may check a block at once,
 * with the same result. */
static inline bool mapped_known_sound(const struct mapped *m, enum index_section which,
                                      uint64_t block) {
    return atomic_load_explicit(&m->sound[m->first_block[which] + block], memory_order_relaxed);
}

/* Compares blocks first to last, both included, of a section with their checksums, except those
 * that were found right before. ST_ERR: one differs. */
enum st mapped_trust_blocks(const struct mapped *m, enum index_section which, uint64_t first,
                            uint64_t last, struct err *e);
/* Are the strings that begin in a block unchanged, up to the end of the last one? */
bool mapped_strings_sound(const struct mapped *m, uint64_t block);

/* Checks that bytes [from, to) of a section are unchanged; from < to, and the section has them. */
static inline enum st mapped_trust(const struct mapped *m, enum index_section which, uint64_t from,
                                   uint64_t to, struct err *e) {
    uint64_t first = from / INDEX_SUMMED, last = (to - 1) / INDEX_SUMMED;
    return first == last && mapped_known_sound(m, which, first)
               ? ST_OK
               : mapped_trust_blocks(m, which, first, last, e);
}

static inline bool mapped_strings_hold(const struct mapped *m, uint64_t block) {
    return mapped_known_sound(m, INDEX_STRS, block) || mapped_strings_sound(m, block);
}

/* ---- records ---- */

/* Fills *hit with the answer of the record at an offset in DATA, whose piece begins at `piece`, for
 * an address in the piece. Statuses as of lookup_ops.lookup. */
enum st mapped_answer(const struct mapped *m, uint32_t record, uint64_t piece, uint64_t address,
                      struct lookup_hit *hit, struct err *e);

#endif
