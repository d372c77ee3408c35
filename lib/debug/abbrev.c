/* Abbreviation tables (DWARF5 §7.5.3). */
#include <dwarf.h>

#include "debug/abbrev_private.h"

/* Attributes of one declaration. Real ones have some twenty; a declaration of a million empty ones
 * would make each DIE, of one byte, cost a million steps. */
enum { ABBREV_SPECS_MAX = 1024 };

/* Tables are read again where units use two of them in turns, or parts of one as their own. No more
 * than this often, all units together. */
enum { ABBREV_WORK_FACTOR = 64, ABBREV_WORK_FREE = 1 << 20 };

void abbrev_table_release(struct abbrev_table *t) {
    VEC_RELEASE(&t->entries);
    VEC_RELEASE(&t->specs);
    map_release(&t->odd);
    *t = (struct abbrev_table){0};
}

void abbrev_skip_leb128(struct reader *r) {
    while (reader_u8(r) & 0x80) {
    }
}

static enum st begin(const struct sections *s, struct abbrev_table *t, uint64_t offset,
                     struct err *e) {
    t->used = true;
    t->offset = offset;
    t->complete = false;
    t->entries.len = 0;
    t->specs.len = 0;
    map_clear(&t->odd);
    t->r = section_reader(s, SECTION_ABBREV);
    reader_seek(&t->r, offset);
    if (t->work > ABBREV_WORK_FREE + ABBREV_WORK_FACTOR * (uint64_t)t->r.size) {
        return err_at(e, ERR_LIMIT, t->r.name, offset, "abbreviations read too often");
    }
    return ST_OK;
}

static enum st read_specs(struct abbrev_table *t, struct abbrev *a, struct err *e) {
    a->first = (uint32_t)t->specs.len;
    for (;;) {
        uint64_t attribute = reader_uleb128(&t->r), form = reader_uleb128(&t->r);
        if (form == DW_FORM_implicit_const) {
            abbrev_skip_leb128(&t->r);
        }
        if (reader_failed(&t->r)) {
            return reader_check(&t->r, e, "abbreviation");
        }
        if (attribute == 0 && form == 0) {
            a->count = (uint32_t)(t->specs.len - a->first);
            return ST_OK;
        }
        if (attribute == 0 || attribute > UINT16_MAX || form > UINT16_MAX ||
            t->specs.len - a->first >= ABBREV_SPECS_MAX) {
            return err_at(e, ERR_FORMAT, t->r.name, t->offset,
                          "abbreviation %llu with attribute 0x%llx of form 0x%llx",
                          (unsigned long long)a->code, (unsigned long long)attribute,
                          (unsigned long long)form);
        }
        struct abbrev_spec spec = {.attribute = (uint16_t)attribute, .form = (uint16_t)form};
        if (!VEC_PUSH(&t->specs, spec)) {
            return err_nomem(e);
        }
    }
}

static const struct abbrev *known(const struct abbrev_table *t, uint64_t code) {
    if (code <= t->entries.len && t->entries.data[code - 1].code == code) {
        return &t->entries.data[code - 1];
    }
    const struct map_entry *m = t->odd.count > 0 ? map_get(&t->odd, &code, sizeof code) : NULL;
    return m ? &t->entries.data[m->value] : NULL;
}

/* Two declarations of one code: which of them libdwarf takes is its secret. */
static enum st number(struct abbrev_table *t, uint64_t code, struct err *e) {
    size_t index = t->entries.len;
    if (known(t, code)) {
        return err_at(e, ERR_FORMAT, t->r.name, t->offset, "abbreviation %llu twice",
                      (unsigned long long)code);
    }
    if (code != index + 1 && !map_put(&t->odd, &code, sizeof code, index, NULL)) {
        return err_nomem(e);
    }
    return ST_OK;
}

/* Reads the next declaration. ST_NONE: the table ends. */
static enum st read_next(struct abbrev_table *t, struct err *e) {
    struct abbrev a = {.code = reader_uleb128(&t->r)};
    if (a.code == 0 && !reader_failed(&t->r)) {
        t->complete = true;
        return ST_NONE;
    }
    uint64_t tag = reader_uleb128(&t->r);
    a.tag = tag <= UINT16_MAX ? (uint16_t)tag : 0;
    a.children = reader_u8(&t->r) != 0;
    if (reader_failed(&t->r)) {
        return reader_check(&t->r, e, "abbreviation");
    }
    if (a.tag == 0) {
        return err_at(e, ERR_FORMAT, t->r.name, t->offset, "abbreviation %llu with tag 0x%llx",
                      (unsigned long long)a.code, (unsigned long long)tag);
    }
    enum st st = read_specs(t, &a, e);
    if (st == ST_OK) {
        st = number(t, a.code, e);
    }
    if (st == ST_OK && !VEC_PUSH(&t->entries, a)) {
        st = err_nomem(e);
    }
    return st;
}

enum st abbrev_find(const struct sections *s, struct abbrev_table *t, uint64_t offset,
                    uint64_t code, const struct abbrev **out, struct err *e) {
    if ((!t->used || t->offset != offset) && begin(s, t, offset, e) != ST_OK) {
        return ST_ERR;
    }
    for (;;) {
        *out = known(t, code);
        if (*out) {
            return ST_OK;
        }
        size_t before = reader_pos(&t->r);
        enum st st = t->complete ? ST_NONE : read_next(t, e);
        t->work += reader_pos(&t->r) - before;
        if (st != ST_OK) {
            if (st == ST_ERR) {
                t->used = false; /* begin again: the error is this unit's, not the next one's */
            }
            return st;
        }
    }
}
