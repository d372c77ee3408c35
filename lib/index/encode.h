/* Encodes the parts of a symbol index while it is built: records, names, files and strings. */
#ifndef STALLKIT_INDEX_ENCODE_H
#define STALLKIT_INDEX_ENCODE_H

#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "index/flat_records.h"
#include "index/format/format.h"
#include "index/name_table.h"

/* The state of encoding: zero-initialised, then encode_begin. A failed append marks a buffer as
 * failed, which encode_check reports; an offset that is returned then is not valid. */
struct encoder {
    struct strbuf data;
    struct name_table names;
    uint32_t *file_of_unit; /* file of the unit -> 1 + file of the index; 0 = not used yet */
    size_t file_cap;
    /* The rows of a record's tables while the record is encoded. node_scope: node -> 1 + the last
     * of its scopes. */
    uint32_t *nodes, *node_scope, *scopes, *steps;
    size_t node_cap, node_scope_cap, scope_cap, step_cap;
    /* for each struct debug: its origins -> names; 0 = not used yet */
    struct origin_names *origins;
    unsigned origin_count;
    const struct own_symbols *own;
    unsigned quantum;
    bool failed; /* memory for a table could not be allocated */
};

/* Begins encoding. quantum: bytes of the smallest instruction; readers: number of struct debugs
 * that read the units; size: bytes of their debug info, by which memory is reserved; file_size:
 * bytes of the file, which with `size` limits the bytes of names; own: borrowed until
 * encode_release. */
void encode_begin(struct encoder *c, const struct own_symbols *own, unsigned quantum,
                  unsigned readers, uint64_t size, uint64_t file_size);
void encode_release(struct encoder *c);
/* Appends the PACKED_SLACK bytes that readers of the records need after the last one; no record may
 * be encoded later. */
void encode_end(struct encoder *c);
/* Returns ST_ERR if encoding failed: out of memory, or more bytes than 32-bit offsets reach
 * (ERR_UNSUPPORTED). */
enum st encode_check(const struct encoder *c, struct err *e) BASE_MUST_USE;

/* Encodes a unit, which struct debug number `reader` read: sets the offsets of its records, and
 * turns file numbers of its rows into those of the index. */
void encode_unit(struct encoder *c, struct flat_records *f, unsigned reader);

/* Encodes a piece of a symbol's code, `back` bytes after the symbol's start; place NULL = no line,
 * else its file is one of the index. Returns the record's offset. */
uint32_t encode_symbol(struct encoder *c, const struct object_symbol *s, uint64_t back,
                       const struct flat_place *place);
/* Encodes a piece of a function without a name, `back` bytes after the function's start. Returns
 * the record's offset. */
uint32_t encode_nameless(struct encoder *c, const struct object_extent *x, uint64_t back);
/* Encodes a piece of a function's code, `back` bytes after the start of `record`. Returns the new
 * record's offset. */
uint32_t encode_part(struct encoder *c, uint64_t back, uint32_t record);

#endif
