/* The bytes of a symbol index while it is built: records, names, files and strings. */
#ifndef STALLKIT_INDEX_ENCODE_H
#define STALLKIT_INDEX_ENCODE_H

#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "index/flat_records.h"
#include "index/format.h"
#include "index/name_table.h"

/* Zero-initialised, then encode_begin. A failed append marks a buffer failed; encode_check tells.
 */
struct encoder {
    struct strbuf data;
    struct name_table names;
    uint32_t *file_of_unit; /* file of the unit -> 1 + file of the index; 0 = not used yet */
    size_t file_cap;
    uint32_t *node_at; /* node of a record -> 1 + its offset */
    size_t node_cap;
    struct origin_names
        *origins; /* for each struct debug: its origins -> names; 0 = not used yet */
    unsigned origin_count;
    const struct own_symbols *own;
    unsigned quantum;
    bool failed; /* no memory for a table */
};

/* readers: the number of struct debugs that read the units. size: of their debug info. */
void encode_begin(struct encoder *c, const struct own_symbols *own, unsigned quantum,
                  unsigned readers, uint64_t size);
void encode_release(struct encoder *c);
/* ST_OK, or out of memory, or more than 32-bit offsets reach (ERR_UNSUPPORTED). */
enum st encode_check(const struct encoder *c, struct err *e) BASE_MUST_USE;

/* Encodes a unit, which struct debug number `reader` read: its records get their offsets, and files
 * of its rows become files of the index. */
void encode_unit(struct encoder *c, struct flat_records *f, unsigned reader);

/* A piece of a symbol's code, `back` bytes behind its start; place NULL = no line, else with a file
 * of the index. */
uint32_t encode_symbol(struct encoder *c, const struct object_symbol *s, uint64_t back,
                       const struct flat_place *place);
/* A piece of a function without a name, `back` bytes behind its start. */
uint32_t encode_nameless(struct encoder *c, const struct object_extent *x, uint64_t back);
/* A piece of a function's code, `back` bytes behind the start of its record. */
uint32_t encode_part(struct encoder *c, uint64_t back, uint32_t record);

#endif
