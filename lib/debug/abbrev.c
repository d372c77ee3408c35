/* Abbreviation tables (DWARF5 §7.5.3) and the plans made of them. */
#include "debug/abbrev.h"

#include <dwarf.h>

#include "debug/abbrev_plan.h"

/* Attributes of one declaration. Real ones have some twenty; a declaration of a million empty ones
 * would make each DIE, of one byte, cost a million steps. */
enum { ABBREV_SPECS_MAX = 1024 };

/* Tables are read again where units use many of them in turns, or parts of one as their own. No
 * more than this often, all units together. */
enum { ABBREV_WORK_FACTOR = 64, ABBREV_WORK_FREE = 1 << 20 };

/* ---- the tables used last ---- */

static void table_release(struct abbrev_table *t) {
    VEC_RELEASE(&t->entries);
    VEC_RELEASE(&t->specs);
    VEC_RELEASE(&t->said);
    VEC_RELEASE(&t->steps);
    map_release(&t->odd);
}

void abbrev_cache_release(struct abbrev_cache *c) {
    for (size_t i = 0; i < ABBREV_TABLES; i++) {
        table_release(&c->tables[i]);
    }
    *c = (struct abbrev_cache){0};
}

static void begin(struct abbrev_table *t, const struct sections *s, uint64_t offset,
                  struct form_sizes sizes) {
    t->used = true;
    t->offset = offset;
    if (!t->forms.filled || !form_sizes_equal(t->forms.sizes, sizes)) {
        abbrev_forms_fill(&t->forms, sizes);
    }
    t->complete = false;
    err_clear(&t->damage);
    t->entries.len = 0;
    t->specs.len = 0;
    t->said.len = 0;
    t->steps.len = 0;
    t->ordered = 0;
    map_clear(&t->odd);
    t->r = section_reader(s, SECTION_ABBREV);
    reader_seek(&t->r, offset);
}

static bool is_for(const struct abbrev_table *t, uint64_t offset, struct form_sizes sizes) {
    return t->used && t->offset == offset && form_sizes_equal(t->forms.sizes, sizes);
}

enum st abbrev_table_of(struct abbrev_cache *c, const struct sections *s, const struct die_unit *u,
                        struct abbrev_table **out, struct err *e) {
    struct form_sizes sizes = form_sizes_of(u);
    struct abbrev_table *oldest = NULL;
    c->clock++;
    for (size_t i = 0; i < ABBREV_TABLES; i++) {
        struct abbrev_table *t = &c->tables[i];
        if (is_for(t, u->abbrev_offset, sizes)) {
            t->last_used = c->clock;
            *out = t;
            return ST_OK;
        }
        if (t->pins == 0 && (!oldest || t->last_used < oldest->last_used)) {
            oldest = t;
        }
    }
    uint64_t limit = ABBREV_WORK_FREE + ABBREV_WORK_FACTOR * (uint64_t)s->of[SECTION_ABBREV].len;
    if (c->work > limit || !oldest) {
        return err_at(e, ERR_LIMIT, section_name(SECTION_ABBREV), u->abbrev_offset,
                      "abbreviations read too often");
    }
    begin(oldest, s, u->abbrev_offset, sizes);
    oldest->planless = c->planless;
    oldest->last_used = c->clock;
    *out = oldest;
    return ST_OK;
}

/* ---- reading a declaration ---- */

/* Passes over the attributes of a declaration, up to and with their end. */
static inline enum st pass_specs(const struct abbrev_table *t, struct cursor *c, uint64_t code,
                                 struct err *e) {
    for (unsigned count = 0;; count++) {
        struct abbrev_pair p = abbrev_pair_read(c);
        if (abbrev_pair_ends(&p)) {
            return ST_OK;
        }
        if (count >= ABBREV_SPECS_MAX) {
            return err_at(e, ERR_FORMAT, t->r.name, t->offset,
                          "abbreviation %llu with more than %d attributes",
                          (unsigned long long)code, ABBREV_SPECS_MAX);
        }
        if (p.attribute == 0 || p.attribute > UINT16_MAX || p.form > UINT16_MAX) {
            return err_at(e, ERR_FORMAT, t->r.name, t->offset,
                          "abbreviation %llu with attribute 0x%llx of form 0x%llx",
                          (unsigned long long)code, (unsigned long long)p.attribute,
                          (unsigned long long)p.form);
        }
    }
}

static struct abbrev *known(const struct abbrev_table *t, uint64_t code) {
    if (code - 1 < t->entries.len && t->entries.data[code - 1].code == code) {
        return &t->entries.data[code - 1];
    }
    const struct map_entry *m = t->odd.count > 0 ? map_get(&t->odd, &code, sizeof code) : NULL;
    return m ? &t->entries.data[m->value] : NULL;
}

/* Two declarations of one code: which of them counts is anybody's guess. */
static enum st number(struct abbrev_table *t, uint64_t code, struct err *e) {
    size_t index = t->entries.len;
    if (code == index + 1 && index == t->ordered) { /* nearly always */
        t->ordered++;
        return ST_OK;
    }
    if (known(t, code)) {
        return err_at(e, ERR_FORMAT, t->r.name, t->offset, "abbreviation %llu twice",
                      (unsigned long long)code);
    }
    if (code != index + 1 && !map_put(&t->odd, &code, sizeof code, index, NULL)) {
        return err_nomem(e);
    }
    return ST_OK;
}

static bool is_code_tag(uint16_t tag) {
    return tag == DW_TAG_subprogram || tag == DW_TAG_entry_point ||
           tag == DW_TAG_inlined_subroutine;
}

/* Reads the next declaration. ST_NONE: the table ends. */
static enum st read_next(struct abbrev_table *t, struct err *e) {
    struct cursor c = cursor_init(&t->r);
    uint64_t code = cursor_uleb128(&c);
    if (code == 0 && !c.failed) {
        t->complete = true;
        return ST_NONE;
    }
    uint64_t tag = cursor_uleb128(&c);
    bool children = cursor_u8(&c) != 0;
    if (!c.failed && (tag == 0 || tag > UINT16_MAX)) {
        return err_at(e, ERR_FORMAT, t->r.name, t->offset, "abbreviation %llu with tag 0x%llx",
                      (unsigned long long)code, (unsigned long long)tag);
    }
    struct cursor attributes = c;
    enum st st = pass_specs(t, &c, code, e);
    if (st == ST_OK) {
        cursor_return(&c, &t->r);
        st = reader_check(&t->r, e, "abbreviation");
    }
    if (st == ST_OK && t->entries.len == t->entries.cap && !VEC_RESERVE(&t->entries, 1)) {
        st = err_nomem(e);
    }
    if (st == ST_OK) {
        st = number(t, code, e);
    }
    if (st == ST_OK) {
        struct abbrev *a = &t->entries.data[t->entries.len++];
        a->code = code;
        a->attributes = attributes;
        a->tag = (uint16_t)tag;
        a->children = children;
        a->code_tag = is_code_tag(a->tag);
        a->ready = a->simple = false; /* the rest is not there yet */
    }
    return st;
}

enum st abbrev_read(struct abbrev_cache *c, struct abbrev_table *t, uint64_t code,
                    const struct abbrev **out, struct err *e) {
    for (;;) {
        struct abbrev *a = known(t, code);
        *out = a;
        if (a) {
            return a->ready ? ST_OK : abbrev_plan(t, a, e);
        }
        if (err_is(&t->damage)) {
            return err_set(e, t->damage.code, "%s", t->damage.text);
        }
        size_t before = reader_pos(&t->r);
        enum st st = t->complete ? ST_NONE : read_next(t, &t->damage);
        c->work += reader_pos(&t->r) - before;
        if (st == ST_NONE) {
            return ST_NONE;
        }
        if (st == ST_ERR) {
            t->used =
                false; /* for who holds it; the next unit begins again, as memory may be back */
        }
    }
}
