/* Takes any bytes as .debug_info, .debug_abbrev and the sections to which forms refer. Every unit
 * is walked three times, stopping at each DIE, at code only, and at each DIE with libdwarf asked
 * where the values lie: the walks must meet the same DIEs, as far as they come, and a DIE that is
 * read by itself must have the values that it had in the walk. */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "debug/die_walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void insist(bool condition) {
    if (!condition) {
        abort();
    }
}

static bool is_code(uint16_t tag) {
    return tag == DW_TAG_subprogram || tag == DW_TAG_entry_point ||
           tag == DW_TAG_inlined_subroutine;
}

static void same(const struct die_attrs *a, const struct die_attrs *b) {
    insist(a->has == b->has && a->low == b->low && a->high == b->high && a->ranges == b->ranges);
    insist(a->name == b->name && a->linkage == b->linkage && a->comp_dir == b->comp_dir);
    insist(a->origin.offset == b->origin.offset && a->decl_line == b->decl_line);
    insist(a->call_line == b->call_line && a->damaged == b->damaged);
}

static void check_strings(const struct die_attrs *a) {
    insist(!a->name || strlen(a->name) > 0);
    insist(!a->linkage || strlen(a->linkage) > 0);
    insist(!a->comp_dir || strlen(a->comp_dir) > 0);
}

/* of[d]: the last DIE that was met at depth d, if it is a function that is not inlined; tag 0: it
 * is another DIE, or none was met */
struct around {
    struct die_entry of[DIE_DEPTH_MAX];
};

/* Should a walk over code stop here? */
static bool has_code(struct around *around, const struct die_entry *entry) {
    bool inlined = entry->tag == DW_TAG_inlined_subroutine;
    around->of[entry->depth] = *entry;
    if (!is_code(entry->tag) || inlined) {
        around->of[entry->depth].tag = 0;
    }
    if (!inlined) {
        return is_code(entry->tag) && !entry->bare;
    }
    unsigned depth = entry->depth;
    while (depth > 0 && around->of[depth].tag == 0) {
        depth--;
    }
    return around->of[depth].tag == 0 || !around->of[depth].bare;
}

/* Gives the next DIE with code of the walk over all DIEs. */
static enum st next_code(struct die_walk *w, struct around *around, struct die_entry *entry,
                         struct die_attrs *attrs, struct err *e) {
    uint64_t last = 0;
    for (;;) {
        enum st st = die_walk_next(w, entry, attrs, e);
        if (st != ST_OK) {
            return st;
        }
        insist(entry->offset > last && entry->depth < DIE_DEPTH_MAX);
        insist(entry->ends_at <= entry->depth);
        insist(entry->offset >= w->unit->die && entry->offset < w->unit->end);
        last = entry->offset;
        check_strings(attrs);
        if (has_code(around, entry)) {
            return ST_OK;
        }
    }
}

static void walk_unit(struct die_reader *d, const struct die_unit *unit) {
    struct die_walk all, code;
    struct around around = {0};
    struct err e = {0};
    if (die_walk_open(&all, d, unit, true, &e) != ST_OK) {
        insist(err_is(&e));
        return;
    }
    if (die_walk_open(&code, d, unit, false, &e) != ST_OK) {
        die_walk_close(&all);
        return;
    }
    for (;;) {
        struct die_entry a, b;
        struct die_attrs x, y, alone;
        enum st one = next_code(&all, &around, &a, &x, &e), two = die_walk_next(&code, &b, &y, &e);
        /* The walk over code skips a number that is too large to be read, where the walk over all
         * DIEs fails. */
        insist(one == two || one == ST_ERR);
        if (one != ST_OK) {
            insist(one == ST_NONE || err_is(&e));
            break;
        }
        insist(a.offset == b.offset && a.tag == b.tag && a.depth == b.depth);
        same(&x, &y);
        insist(die_attrs_at(d, unit, a.offset, &alone, &e) == ST_OK);
        same(&x, &alone);
    }
    die_walk_close(&code);
    die_walk_close(&all);
}

/* Compares the walk with one that asks libdwarf where values lie. libdwarf refuses some DIEs that
 * our reader accepts; the comparison ends at the first of them. */
static void walk_by_libdwarf(struct die_reader *d, struct die_reader *planless,
                             const struct die_unit *unit) {
    struct die_walk ours, theirs;
    struct die_entry a, b;
    struct die_attrs x, y;
    struct err e = {0};
    if (die_walk_open(&ours, d, unit, true, &e) != ST_OK) {
        return;
    }
    if (die_walk_open(&theirs, planless, unit, true, &e) == ST_OK) {
        while (die_walk_next(&ours, &a, &x, &e) == ST_OK &&
               die_walk_next(&theirs, &b, &y, &e) == ST_OK) {
            insist(a.offset == b.offset && a.tag == b.tag && a.depth == b.depth);
            same(&x, &y);
        }
        die_walk_close(&theirs);
    }
    die_walk_close(&ours);
}

/* Takes flags, then for each section its length (16 bits) and bytes, which are copied so that a
 * sanitizer knows where they end. */
static void load(struct sections *s, const uint8_t *data, size_t size) {
    struct reader r = reader_init("fuzz", data, size);
    uint8_t flags = reader_u8(&r);
    *s = (struct sections){
        .file = "fuzz", .big_endian = flags & 1, .address_size = flags & 2 ? 4 : 8};
    for (int i = 0; i < SECTION_COUNT; i++) {
        size_t len = reader_u16(&r);
        len = len < reader_left(&r) ? len : reader_left(&r);
        const uint8_t *bytes = reader_bytes(&r, len);
        uint8_t *copy = len ? malloc(len) : NULL;
        if (copy) {
            memcpy(copy, bytes, len);
            s->of[i] = (struct section_bytes){.data = copy, .len = len};
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct sections s;
    struct die_reader d, planless;
    struct die_units at = {0};
    load(&s, data, size);
    die_reader_init(&d, &s, &s); /* the file serves as its own supplementary file, too */
    die_reader_init(&planless, &s, &s);
    planless.abbrevs.planless = true;
    for (;;) {
        struct die_unit unit;
        struct die_attrs attrs;
        struct err e = {0};
        enum st st = die_units_next(&d, &at, &unit, &attrs, &e);
        if (st == ST_NONE) {
            break;
        }
        if (st == ST_OK) {
            insist(unit.end > unit.die && unit.end <= s.of[SECTION_INFO].len);
            check_strings(&attrs);
            walk_unit(&d, &unit);
            walk_by_libdwarf(&d, &planless, &unit);
        }
    }
    die_reader_release(&planless);
    die_reader_release(&d);
    for (int i = 0; i < SECTION_COUNT; i++) {
        free((void *)(uintptr_t)s.of[i].data);
    }
    return 0;
}
