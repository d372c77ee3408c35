/* Gives addresses to the sections of an ELF file that is not linked (ET_REL), which all begin at 0.
 *
 *     base  .text .text.unlikely .exit.text …   code in the order of the file
 *           .init.text …                        code that Linux frees once a module runs
 *           .data .rodata …                     all other sections that are loaded
 *
 * Linux's module loader uses this order (kernel/module/main.c, layout_sections), each section at
 * the next multiple of its alignment. The base is not 0: debug information gives address 0 to code
 * that the linker dropped. Debug sections of one name, which COMDAT groups make, are parts of one.
 */
#include <elf.h>
#include <string.h>

#include "base/checked.h"
#include "base/map.h"
#include "object/elffile_private.h"

enum { FIRST_ADDRESS = 4096, ALIGNMENT_MAX = 1 << 20 };

enum layout_part { LAYOUT_CODE, LAYOUT_START_CODE, LAYOUT_DATA, LAYOUT_PARTS };

static bool has_prefix(const char *name, const char *with) {
    return strncmp(name, with, strlen(with)) == 0;
}

static enum layout_part layout_part_of(const struct section *sec) {
    if (!sec->code) {
        return LAYOUT_DATA;
    }
    return has_prefix(sec->name, ".init") ? LAYOUT_START_CODE : LAYOUT_CODE;
}

/* Do the sections have addresses already, given by a linker script or objcopy(1)? */
static bool has_addresses(const struct object_slice *s) {
    for (size_t i = 0; i < s->section_count; i++) {
        if (s->sections[i].loaded && s->sections[i].address != 0) {
            return true;
        }
    }
    return false;
}

/* Puts a section at the next free address that its alignment allows, and moves *next past it. An
 * alignment that is no power of two, or above ALIGNMENT_MAX, counts as 1. */
static enum st place_section(const struct object_slice *s, struct section *sec, uint64_t *next,
                             struct err *e) {
    uint64_t to = sec->alignment;
    uint64_t below = to > 1 && to <= ALIGNMENT_MAX && (to & (to - 1)) == 0 ? to - 1 : 0;
    uint64_t at, end;
    if (!checked_add_u64(*next, below, &at) || !checked_add_u64(at & ~below, sec->size, &end) ||
        (s->address_size == 4 && end > UINT32_MAX)) {
        return err_set(e, ERR_FORMAT, "sections of '%s' are larger than its address space",
                       s->object->path);
    }
    sec->address = at & ~below;
    *next = end;
    return ST_OK;
}

static enum st place_all(struct object_slice *s, struct err *e) {
    uint64_t next = FIRST_ADDRESS;
    for (int part = 0; part < LAYOUT_PARTS; part++) {
        for (size_t i = 0; i < s->section_count; i++) {
            struct section *sec = &s->sections[i];
            if (sec->loaded && layout_part_of(sec) == (enum layout_part)part &&
                place_section(s, sec, &next, e) != ST_OK) {
                return ST_ERR;
            }
        }
    }
    return ST_OK;
}

static void find_bounds(struct object_slice *s) {
    bool found = false;
    for (size_t i = 0; i < s->section_count; i++) {
        const struct section *sec = &s->sections[i];
        uint64_t end;
        if (!sec->code || !checked_add_u64(sec->address, sec->size, &end)) {
            continue;
        }
        s->base = !found || sec->address < s->base ? sec->address : s->base;
        s->text_end = end > s->text_end ? end : s->text_end;
        found = true;
    }
}

/* Gives debug sections of one name consecutive addresses, as parts of one section, and sets
 * `joined` in all but the last. */
static enum st join_sections(struct object_slice *s, struct err *e) {
    struct map first = {0};
    enum st st = ST_OK;
    for (size_t i = 0; i < s->section_count && st == ST_OK; i++) {
        struct section *sec = &s->sections[i];
        bool added = true;
        if (sec->loaded || !sec->has_bytes || sec->size == 0 ||
            !has_prefix(sec->canonical, "debug_")) {
            continue;
        }
        struct map_entry *last = map_put(&first, sec->canonical, strlen(sec->canonical), i, &added);
        if (!last) {
            st = err_nomem(e);
        } else if (!added) {
            struct section *before = &s->sections[last->value];
            last->value = i;
            before->joined = true;
            if (!checked_add_u64(before->address, section_size(s, before), &sec->address)) {
                st = err_set(e, ERR_FORMAT, "sections %s of '%s' are larger than it", sec->name,
                             s->object->path);
            } else if ((st = section_will_be_made(s->object, before, e)) == ST_OK) {
                st = section_will_be_made(s->object, sec, e);
            }
        }
    }
    map_release(&first);
    return st;
}

/* Puts table number `table` at the head of the chain of tables (next_table) of section `to`. */
static void tie_table(struct object_slice *s, size_t table, uint32_t to) {
    s->sections[table].next_table = s->sections[to].next_table;
    s->sections[to].next_table = (uint32_t)table + 1;
}

/* Are relocations applied to the section? Not to code: nothing here needs code relocated, and its
 * relocations have many types. */
static bool is_target(const struct section *sec) {
    bool table = sec->type == SHT_SYMTAB || sec->type == SHT_SYMTAB_SHNDX;
    return !sec->code && sec->has_bytes && !table && !elffile_is_relocation_table(sec);
}

/* Ties the tables of relocations and of wide section indexes to the sections that they are for; a
 * section's tables are a chain in the order of the file. */
static enum st find_tables(struct object_slice *s, struct err *e) {
    for (size_t i = s->section_count; i-- > 0;) {
        const struct section *table = &s->sections[i];
        bool wide = table->type == SHT_SYMTAB_SHNDX;
        uint32_t to = wide ? table->link : table->info;
        if (i >= UINT32_MAX || to >= s->section_count) {
            continue;
        }
        struct section *of = &s->sections[to];
        bool relocates = elffile_is_relocation_table(table) && is_target(of);
        if (relocates || (wide && of->type == SHT_SYMTAB)) {
            tie_table(s, i, to);
        }
        if (relocates && section_will_be_made(s->object, of, e) != ST_OK) {
            return ST_ERR;
        }
    }
    return ST_OK;
}

enum st elffile_lay_out(struct object_slice *s, struct err *e) {
    enum st st = ST_OK;
    s->laid_out = !has_addresses(s);
    if (s->laid_out) {
        st = place_all(s, e);
    }
    find_bounds(s);
    if (st == ST_OK) {
        st = join_sections(s, e);
    }
    return st == ST_OK ? find_tables(s, e) : st;
}
