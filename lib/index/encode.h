/* The bytes of a symbol index while it is built: records, names, files and strings. */
#ifndef STALLKIT_INDEX_ENCODE_H
#define STALLKIT_INDEX_ENCODE_H

#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "index/flat_records.h"
#include "index/format.h"
#include "index/name_table.h"

/* A function whose record comes soon. */
struct encode_coming {
    const struct debug_function *function; /* NULL = none */
    struct function_names names;
    struct names_soon soon;
};

/* Zero-initialised, then encode_begin. A failed append marks a buffer failed; encode_check tells.
 */
struct encoder {
    struct strbuf data;
    struct name_table names;
    uint32_t *file_of_unit; /* file of the unit -> 1 + file of the index; 0 = not met */
    size_t file_cap;
    uint32_t *node_at; /* node of a record -> 1 + its offset */
    size_t node_cap;
    struct origin_names *origins; /* of each struct debug: its origins -> names; 0 = not met */
    unsigned origin_count;
    const struct own_symbols *own;
    size_t near; /* of own_symbols_name */
    struct encode_coming coming[2];
    unsigned last_coming;
    unsigned quantum;
    bool failed; /* no memory for a table */
};

/* readers: how many struct debug read the units. size: of their debug info. */
void encode_begin(struct encoder *c, const struct own_symbols *own, unsigned quantum,
                  unsigned readers, uint64_t size);
void encode_release(struct encoder *c);
/* ST_OK, or out of memory, or more than 32-bit offsets reach (ERR_UNSUPPORTED). */
enum st encode_check(const struct encoder *c, struct err *e) BASE_MUST_USE;

/* A unit as a whole, which struct debug number `reader` read: its records get their offsets, and
 * files of its rows become files of the index. Or in its parts: begin, each record in order, rows;
 * encode_soon some time before a record, and not more than one record ahead, makes it faster. */
void encode_unit(struct encoder *c, struct flat_records *f, unsigned reader);
void encode_unit_begin(struct encoder *c, const struct flat_unit *u);
void encode_soon(struct encoder *c, const struct flat_unit *u,
                 const struct debug_function *function);
void encode_record(struct encoder *c, const struct flat_records *f, struct flat_record *r,
                   unsigned reader);
void encode_rows(struct encoder *c, struct flat_records *f);

/* A piece of a symbol's code, `back` bytes behind its start; place NULL = no line, else with a file
 * of the index. */
uint32_t encode_symbol(struct encoder *c, const struct object_symbol *s, uint64_t back,
                       const struct flat_place *place);
/* A piece of a function's code, `back` bytes behind the start of its record. */
uint32_t encode_part(struct encoder *c, uint64_t back, uint32_t record);

#endif
