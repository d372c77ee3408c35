/* Reads attribute values by their forms (DWARF5 §7.5.6, and GNU's of DWARF 4): sizes and meanings.
 */
#ifndef STALLKIT_DEBUG_FORMS_H
#define STALLKIT_DEBUG_FORMS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/reader.h"
#include "debug/die.h"
#include "debug/sections.h"

/* LLVM's form of an address in DWARF 5 (-minimize-addr-in-v5=Form): an index, and an addend. The
 * dwarf.h of libdwarf 20210528 lacks it. */
enum { FORM_LLVM_ADDRX_OFFSET = 0x2001 };

/* The unit's header fields on which sizes of forms depend. */
struct form_sizes {
    uint8_t address_size, offset_size;
    bool version_2; /* DW_FORM_ref_addr has the size of an address */
};
static inline struct form_sizes form_sizes_of(const struct die_unit *u) {
    return (struct form_sizes){u->address_size, u->offset_size, u->version == 2};
}
static inline bool form_sizes_equal(struct form_sizes a, struct form_sizes b) {
    return a.address_size == b.address_size && a.offset_size == b.offset_size &&
           a.version_2 == b.version_2;
}

/* Sets *size to the size of a form's values, in bytes, if all have the same. False: the size
 * depends on the value, or the form is unknown. */
bool form_fixed_size(struct form_sizes sizes, uint64_t form, uint32_t *size);
/* Skips a value; an unknown form fails the reader. */
void form_skip(struct reader *r, struct form_sizes sizes, uint64_t form);
/* Can form_skip skip the form? True for the forms of DWARF 2 to 5 but DW_FORM_indirect, for GNU's
 * addr_index, str_index, ref_alt and strp_alt, and for FORM_LLVM_ADDRX_OFFSET. */
bool form_known(uint64_t form);

/* An attribute's value, which begins at r. */
struct form_value {
    struct reader *r;
    const struct die_unit *unit;
    uint64_t form;    /* a form that form_known() accepts */
    int64_t constant; /* value of DW_FORM_implicit_const */
};

/* form_u64, form_address, form_ref and form_string consume the value, whether they can interpret it
 * or not. False: the form is not of the requested class, or the value is damaged. */

/* Reads a constant that is not negative, an offset in a section, or a list's index. */
bool form_u64(const struct form_value *v, uint64_t *out);
/* Does the form give an address? DW_FORM_exprloc counts, because clang writes addresses with it
 * under -minimize-addr-in-v5=Expressions. */
bool form_is_address(uint64_t form);
bool form_address(const struct form_value *v, const struct sections *s, uint64_t *out);
/* Reads a reference to a DIE; one to a type by its signature gives offset 0. */
bool form_ref(const struct form_value *v, struct die_ref *out);

/* The string sections of a file. */
struct form_strings {
    const struct sections *sections;
    /* Bytes of each string section up to its last NUL: every string that begins before that offset
     * has an end. */
    uint64_t str_end, line_str_end, alt_str_end;
    const struct sections *alt; /* dwz's supplementary file; NULL = none */
};
/* Prepares *f for reading strings; s and alt (NULL = none) must outlive it. */
void form_strings_init(struct form_strings *f, const struct sections *s,
                       const struct sections *alt);
/* Gives the string at an offset of a section. `end`: number of bytes up to and with the section's
 * last NUL. *out = NULL: the string is empty. False: the offset is not below `end`. */
static inline bool form_string_at(const struct sections *s, enum section_id id, uint64_t end,
                                  uint64_t offset, const char **out) {
    if (offset >= end) {
        return false;
    }
    const char *text = (const char *)s->of[id].data + offset;
    *out = *text ? section_shown(s, text) : NULL;
    return true;
}
/* Reads a string; *out = NULL: the string is empty, or in a supplementary file that is absent. */
bool form_string(const struct form_value *v, const struct form_strings *strings, const char **out);

#endif
