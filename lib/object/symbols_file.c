/* Writes the symbols of an image as a Mach-O file of its own: header, UUID, sections with code but
 * without bytes, as in a dSYM, symbol table, function starts. Source: <mach-o/loader.h>,
 * <mach-o/nlist.h>. */
#include <string.h>

#include "base/leb128.h"
#include "object/dyld_cache_private.h"

enum {
    FILE_DSYM = 10, /* MH_DSYM */
    COMMANDS = 4,
    COMMAND_SEGMENT = 1, /* LC_SEGMENT; the next four: LC_SEGMENT_64, LC_SYMTAB, … */
    COMMAND_SEGMENT_64 = 0x19,
    COMMAND_SYMTAB = 2,
    COMMAND_UUID = 0x1b,
    COMMAND_STARTS = 0x26,
    UUID_COMMAND_SIZE = 24,
    SYMTAB_COMMAND_SIZE = 24,
    STARTS_COMMAND_SIZE = 16,
    NAME_FIELD = 16,
    SECTIONS_MAX = 255,   /* a symbol's entry has one byte for its section */
    ENTRY_SECTION = 0x0e, /* N_SECT; ENTRY_GLOBAL is N_EXT */
    ENTRY_GLOBAL = 0x01,
    PROTECTION_TEXT = 5,
};
static const uint32_t CODE_FLAGS = 0x80000400;

struct symbols_layout {
    const struct symbols_file *file;
    struct strbuf *out;
    bool is_64;
    const struct section *sections[SECTIONS_MAX]; /* sections with code, at or above the base */
    uint32_t section_count;
    uint32_t commands_size, symbols_at, starts_at, names_at;
    uint32_t written; /* number of symbols in entries */
    struct strbuf entries, starts, names;
};

static void add_uint(struct strbuf *b, uint64_t v, unsigned width) {
    char bytes[8];
    for (unsigned i = 0; i < width; i++) {
        bytes[i] = (char)(uint8_t)(v >> 8 * i);
    }
    strbuf_add(b, bytes, width);
}

/* Appends an address or a size in the file's word size. */
static void add_address(struct symbols_layout *l, uint64_t v) {
    add_uint(l->out, v, l->is_64 ? 8 : 4);
}

static void add_name_field(struct strbuf *b, const char *name) {
    char field[NAME_FIELD] = {0};
    size_t len = strlen(name);
    memcpy(field, name, len < NAME_FIELD ? len : NAME_FIELD);
    strbuf_add(b, field, NAME_FIELD);
}

static void add_leb128(struct strbuf *b, uint64_t v) {
    char bytes[LEB128_MAX];
    strbuf_add(b, bytes, (size_t)(leb128_put(bytes, v) - bytes));
}

/* ---- the sections whose sizes the header holds ---- */

static void choose_sections(struct symbols_layout *l) {
    const struct object_slice *s = l->file->slice;
    for (size_t i = 0; i < s->section_count && l->section_count < SECTIONS_MAX; i++) {
        const struct section *sec = &s->sections[i];
        if (sec->code && sec->size > 0 && sec->address >= s->base) {
            l->sections[l->section_count++] = sec;
        }
    }
}

/* Returns the number, from 1 on, of the section that holds the address; 0: none does. */
static uint8_t section_number(const struct symbols_layout *l, uint64_t address) {
    for (uint32_t i = 0; i < l->section_count; i++) {
        const struct section *sec = l->sections[i];
        if (address >= sec->address && address - sec->address < sec->size) {
            return (uint8_t)(i + 1);
        }
    }
    return 0;
}

/* Collects the entries of the symbol table and their names, which begin after an empty name. */
static void collect_symbols(struct symbols_layout *l) {
    const struct symbols_file *f = l->file;
    strbuf_addc(&l->names, '\0');
    for (size_t i = 0; i < f->symbol_count; i++) {
        const struct raw_symbol *s = &f->symbols[i];
        uint8_t section = section_number(l, s->address);
        if (section == 0) {
            continue;
        }
        add_uint(&l->entries, l->names.len, 4);
        strbuf_addc(&l->entries, (char)(ENTRY_SECTION | (s->global ? ENTRY_GLOBAL : 0)));
        strbuf_addc(&l->entries, (char)section);
        add_uint(&l->entries, 0, 2);
        add_uint(&l->entries, s->address - f->slice->base, l->is_64 ? 8 : 4);
        strbuf_addc(&l->names, '_');
        strbuf_add(&l->names, s->name, strlen(s->name) + 1);
        l->written++;
    }
}

/* Collects the function starts inside the text segment, after its first byte, as ULEB128 distances;
 * others are left out. */
static void collect_starts(struct symbols_layout *l) {
    const struct symbols_file *f = l->file;
    uint64_t last = f->slice->base;
    for (size_t i = 0; i < f->start_count; i++) {
        if (f->starts[i] > last && f->starts[i] < f->slice->text_end) {
            add_leb128(&l->starts, f->starts[i] - last);
            last = f->starts[i];
        }
    }
    strbuf_addc(&l->starts, 0);
}

static enum st lay_out_symbols(struct symbols_layout *l, struct err *e) {
    uint32_t segment = l->is_64 ? 72 + 80 * l->section_count : 56 + 68 * l->section_count;
    l->commands_size = UUID_COMMAND_SIZE + segment + SYMTAB_COMMAND_SIZE + STARTS_COMMAND_SIZE;
    uint64_t at = (l->is_64 ? 32 : 28) + l->commands_size;
    l->symbols_at = (uint32_t)at;
    at += l->entries.len;
    l->starts_at = (uint32_t)at;
    at += l->starts.len;
    l->names_at = (uint32_t)at;
    at += l->names.len;
    return at > UINT32_MAX ? err_set(e, ERR_LIMIT, "too many symbols") : ST_OK;
}

/* ---- the file ---- */

static void put_symbols_header(struct symbols_layout *l) {
    const struct symbols_file *f = l->file;
    add_uint(l->out, l->is_64 ? 0xfeedfacf : 0xfeedface, 4);
    add_uint(l->out, f->cpu_type, 4);
    add_uint(l->out, f->cpu_subtype, 4);
    add_uint(l->out, FILE_DSYM, 4);
    add_uint(l->out, COMMANDS, 4);
    add_uint(l->out, l->commands_size, 4);
    add_uint(l->out, 0, l->is_64 ? 8 : 4); /* flags */
    add_uint(l->out, COMMAND_UUID, 4);
    add_uint(l->out, UUID_COMMAND_SIZE, 4);
    strbuf_add(l->out, f->slice->id.bytes, DYLD_UUID_SIZE);
}

static void put_section(struct symbols_layout *l, const struct section *sec) {
    add_name_field(l->out, sec->name);
    add_name_field(l->out, sec->segment);
    add_address(l, sec->address - l->file->slice->base);
    add_address(l, sec->size);
    add_uint(l->out, 0, 8); /* offset, alignment */
    add_uint(l->out, 0, 8); /* relocations */
    add_uint(l->out, CODE_FLAGS, 4);
    add_uint(l->out, 0, 8); /* reserved */
    if (l->is_64) {
        add_uint(l->out, 0, 4);
    }
}

static void put_segment(struct symbols_layout *l) {
    const struct object_slice *s = l->file->slice;
    add_uint(l->out, l->is_64 ? COMMAND_SEGMENT_64 : COMMAND_SEGMENT, 4);
    add_uint(l->out, l->is_64 ? 72 + 80 * l->section_count : 56 + 68 * l->section_count, 4);
    add_name_field(l->out, "__TEXT");
    add_address(l, 0);
    add_address(l, s->text_end - s->base);
    /* File offset and size are 0, because the segment has no bytes in the file. */
    add_address(l, 0);
    add_address(l, 0);
    add_uint(l->out, PROTECTION_TEXT, 4);
    add_uint(l->out, PROTECTION_TEXT, 4);
    add_uint(l->out, l->section_count, 4);
    add_uint(l->out, 0, 4);
    for (uint32_t i = 0; i < l->section_count; i++) {
        put_section(l, l->sections[i]);
    }
}

static void put_tables(struct symbols_layout *l) {
    add_uint(l->out, COMMAND_SYMTAB, 4);
    add_uint(l->out, SYMTAB_COMMAND_SIZE, 4);
    add_uint(l->out, l->symbols_at, 4);
    add_uint(l->out, l->written, 4);
    add_uint(l->out, l->names_at, 4);
    add_uint(l->out, l->names.len, 4);
    add_uint(l->out, COMMAND_STARTS, 4);
    add_uint(l->out, STARTS_COMMAND_SIZE, 4);
    add_uint(l->out, l->starts_at, 4);
    add_uint(l->out, l->starts.len, 4);
    strbuf_add(l->out, strbuf_cstr(&l->entries), l->entries.len);
    strbuf_add(l->out, strbuf_cstr(&l->starts), l->starts.len);
    strbuf_add(l->out, strbuf_cstr(&l->names), l->names.len);
}

enum st symbols_file_write(const struct symbols_file *f, struct strbuf *out, struct err *e) {
    struct symbols_layout l = {.file = f, .out = out, .is_64 = f->slice->address_size == 8};
    choose_sections(&l);
    collect_symbols(&l);
    collect_starts(&l);
    enum st st = lay_out_symbols(&l, e);
    if (st == ST_OK && !l.entries.failed && !l.starts.failed && !l.names.failed) {
        put_symbols_header(&l);
        put_segment(&l);
        put_tables(&l);
        st = strbuf_check(out, e);
    } else if (st == ST_OK) {
        st = err_nomem(e);
    }
    strbuf_release(&l.entries);
    strbuf_release(&l.starts);
    strbuf_release(&l.names);
    return st;
}
