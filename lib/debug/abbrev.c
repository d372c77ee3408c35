/* Reads abbreviation tables (DWARF5 §7.5.3) and keeps them in a cache. */
#include "debug/abbrev.h"

#include <dwarf.h>

#include "debug/abbrev_plan.h"

/* Limit on abbrev_cache.work, the bytes read for abbreviations of all units of a file: once it is
 * above ABBREV_WORK_FREE + ABBREV_WORK_FACTOR times the size of .debug_abbrev, no further table is
 * begun. A table is read several times if units use more tables in turns than the cache holds, or
 * use a part of another table as their own. */
enum { ABBREV_WORK_FACTOR = 64, ABBREV_WORK_FREE = 1 << 20 };

/* Limit, in sizes of .debug_abbrev, on the bytes read for single declarations (abbrev_lone). Beyond
 * it whole tables are read and kept, because units that use a few tables in turns would read each
 * of them from its start every time. */
enum { LONE_WORK_FACTOR = 4 };

/* ---- the tables used last ---- */

static void table_release(struct abbrev_table *t) {
    VEC_RELEASE(&t->entries);
    VEC_RELEASE(&t->specs);
    VEC_RELEASE(&t->wanted);
    VEC_RELEASE(&t->steps);
    map_release(&t->odd);
}

void abbrev_cache_release(struct abbrev_cache *c) {
    for (size_t i = 0; i < ABBREV_TABLES; i++) {
        table_release(&c->tables[i]);
    }
    table_release(&c->lone);
    *c = (struct abbrev_cache){0};
}

static void begin_table(struct abbrev_table *t, const struct sections *s, uint64_t offset,
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
    t->wanted.len = 0;
    t->steps.len = 0;
    t->ordered = 0;
    map_clear(&t->odd);
    t->r = section_reader(s, SECTION_ABBREV);
    reader_seek(&t->r, offset);
}

static bool is_table_for(const struct abbrev_table *t, uint64_t offset, struct form_sizes sizes) {
    return t->used && t->offset == offset && form_sizes_equal(t->forms.sizes, sizes);
}

static bool read_too_often(const struct abbrev_cache *c, const struct sections *s) {
    return c->work > ABBREV_WORK_FREE + ABBREV_WORK_FACTOR * (uint64_t)s->of[SECTION_ABBREV].len;
}

enum st abbrev_table_of(struct abbrev_cache *c, const struct sections *s, const struct die_unit *u,
                        struct abbrev_table **out, struct err *e) {
    struct form_sizes sizes = form_sizes_of(u);
    struct abbrev_table *oldest = NULL;
    c->clock++;
    for (size_t i = 0; i < ABBREV_TABLES; i++) {
        struct abbrev_table *t = &c->tables[i];
        if (is_table_for(t, u->abbrev_offset, sizes)) {
            t->last_used = c->clock;
            *out = t;
            return ST_OK;
        }
        if (t->pins == 0 && (!oldest || t->last_used < oldest->last_used)) {
            oldest = t;
        }
    }
    if (read_too_often(c, s) || !oldest) {
        return err_at(e, ERR_LIMIT, section_name(SECTION_ABBREV), u->abbrev_offset,
                      "abbreviations read too often");
    }
    begin_table(oldest, s, u->abbrev_offset, sizes);
    oldest->planless = c->planless;
    oldest->last_used = c->clock;
    *out = oldest;
    return ST_OK;
}

/* ---- reading a declaration ---- */

static const struct abbrev *known_abbrev(const struct abbrev_table *t, uint64_t code) {
    if (code - 1 < t->entries.len && t->entries.data[code - 1].code == code) {
        return &t->entries.data[code - 1];
    }
    const struct map_entry *m = t->odd.count > 0 ? map_get(&t->odd, &code, sizeof code) : NULL;
    return m ? &t->entries.data[m->value] : NULL;
}

/* Enters a declaration into the table by its code; two declarations of one code are damage. ST_ERR:
 * that, or out of memory. */
static enum st number_declaration(struct abbrev_table *t, const struct abbrev *a, struct err *e) {
    uint64_t code = a->code;
    size_t index = t->entries.len;
    if (code == index + 1 && index == t->ordered) { /* nearly always */
        t->ordered++;
        return ST_OK;
    }
    if (known_abbrev(t, code)) {
        return err_at(e, ERR_FORMAT, t->r.name, t->offset, "abbreviation %llu twice",
                      (unsigned long long)code);
    }
    if (code != index + 1 && !map_put(&t->odd, &code, sizeof code, index, NULL)) {
        return err_nomem(e);
    }
    return ST_OK;
}

/* Reads the next declaration into the table. ST_NONE: the table ends here. ST_ERR: the declaration
 * is damaged, its code was declared before, or out of memory. */
static enum st read_declaration(struct abbrev_table *t, struct err *e) {
    if (t->entries.len == t->entries.cap && !VEC_RESERVE(&t->entries, 1)) {
        return err_nomem(e);
    }
    struct abbrev *a = &t->entries.data[t->entries.len];
    enum st st = abbrev_declaration(t, a, e);
    if (st == ST_OK) {
        st = number_declaration(t, a, e);
    }
    t->complete = st == ST_NONE;
    t->entries.len += st == ST_OK;
    return st;
}

enum st abbrev_read(struct abbrev_cache *c, struct abbrev_table *t, uint64_t code,
                    const struct abbrev **out, struct err *e) {
    *out = known_abbrev(t, code);
    if (*out) {
        return ST_OK;
    }
    if (err_is(&t->damage)) {
        return err_copy(e, &t->damage);
    }
    size_t before = reader_pos(&t->r);
    enum st st = t->complete ? ST_NONE : ST_OK;
    while (st == ST_OK && !*out) {
        st = read_declaration(t, &t->damage);
        if (st == ST_OK && t->entries.data[t->entries.len - 1].code == code) {
            *out = &t->entries.data[t->entries.len - 1];
        }
    }
    c->work += reader_pos(&t->r) - before;
    if (st == ST_ERR) {
        /* Further reads of *t give the same error, but abbrev_table_of begins the table again for
         * the next unit, because memory may be free by then. */
        t->used = false;
        return err_copy(e, &t->damage);
    }
    return st;
}

/* ---- a declaration alone ---- */

/* Moves the reader to the declaration of `code`. False: the table has no such declaration, or a
 * declaration before it is damaged. */
static bool seek_declaration(struct reader *r, uint64_t code) {
    for (;;) {
        const uint8_t *start = r->at;
        uint64_t own = reader_uleb128(r);
        if (own == 0) {
            return false;
        }
        if (own == code) {
            r->at = start;
            return true;
        }
        uint64_t tag = reader_uleb128(r);
        (void)reader_u8(r);
        if (!abbrev_is_tag(tag) || !abbrev_skip_attributes(r)) {
            return false;
        }
    }
}

enum st abbrev_lone(struct abbrev_cache *c, const struct sections *s, const struct die_unit *u,
                    uint64_t code, struct abbrev_table **out_t, const struct abbrev **out,
                    struct err *e) {
    struct abbrev_table *t = &c->lone;
    uint64_t limit = LONE_WORK_FACTOR * (uint64_t)s->of[SECTION_ABBREV].len;
    if (c->planless || c->lone_work > limit || read_too_often(c, s)) {
        return ST_NONE;
    }
    begin_table(t, s, u->abbrev_offset, form_sizes_of(u));
    if (!VEC_RESERVE(&t->entries, 1)) {
        return err_nomem(e);
    }
    size_t before = reader_pos(&t->r);
    struct err damage = {0}; /* not reported: abbrev_read finds and reports it */
    bool found = seek_declaration(&t->r, code) &&
                 abbrev_declaration(t, &t->entries.data[0], &damage) == ST_OK;
    c->work += reader_pos(&t->r) - before;
    c->lone_work += reader_pos(&t->r) - before;
    if (!found || !t->entries.data[0].planned) {
        return damage.code == ERR_NOMEM ? err_nomem(e) : ST_NONE;
    }
    *out_t = t;
    *out = &t->entries.data[0];
    return ST_OK;
}
