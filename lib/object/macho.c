/* Reads Mach-O headers: magic, load commands, segments and sections of one slice.
 *
 * Sources: <mach-o/loader.h> and <mach/machine.h> of Apple's xnu and cctools. Every load command is
 * read through a reader of its own cmdsize, so no record can reach into the next. */
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "object/object_private.h"

enum {
    LC_SEGMENT = 0x1,
    LC_SYMTAB = 0x2,
    LC_SEGMENT_64 = 0x19,
    LC_UUID = 0x1b,
    LC_DYLD_INFO = 0x22,
    LC_FUNCTION_STARTS = 0x26,

    FILE_OBJECT = 1, /* mach_header.filetype: MH_OBJECT, MH_CORE */
    FILE_CORE = 4,

    SECTION_TYPE_MASK = 0xff,
    S_ZEROFILL = 0x1,
    S_GB_ZEROFILL = 0xc,
    S_THREAD_LOCAL_ZEROFILL = 0x12,
    S_ATTR_SOME_INSTRUCTIONS = 0x400,

    COMMAND_MIN = 8, /* cmd, cmdsize */
    SEGMENT_NAME = 16,
    SECTION_SIZE_32 = 68,
    SECTION_SIZE_64 = 80,
    UUID_SIZE = 16,
    /* bytes of an LC_DYLD_INFO, after cmdsize, in front of the exports' offset */
    BEFORE_EXPORTS = 32,

    CPU_ARCH_ABI64 = 0x01000000,
    CPU_ARM = 12,
    CPU_SUBTYPE_MASK = 0x00ffffff, /* the other bits are capabilities */
};
static const uint32_t S_ATTR_PURE_INSTRUCTIONS = 0x80000000;
static const uint32_t LC_DYLD_INFO_ONLY = 0x80000022;
static const uint32_t LC_DYLD_EXPORTS_TRIE = 0x80000033;
static const uint32_t MAGIC_32 = 0xfeedface;
static const uint32_t MAGIC_64 = 0xfeedfacf;

/* Facts that walk_commands gathers for finish_slice. */
struct macho_scan {
    struct object_slice *slice;
    bool is_64;
    VEC(struct section) sections;
    bool has_text; /* a segment named __TEXT was seen */
    uint64_t text_address, text_size;
    uint64_t code_low, code_high; /* address range of the code sections; code_high 0 = none */
};

static uint32_t magic_of(const uint8_t *bytes, size_t len, bool big_endian) {
    struct reader r = reader_init("", bytes, len);
    r.big_endian = big_endian;
    return reader_u32(&r);
}

bool macho_is_thin(const uint8_t *bytes, size_t len) {
    uint32_t little = magic_of(bytes, len, false), big = magic_of(bytes, len, true);
    return little == MAGIC_32 || little == MAGIC_64 || big == MAGIC_32 || big == MAGIC_64;
}

void macho_arch_name(uint32_t cpu_type, uint32_t cpu_subtype, char out[OBJECT_ARCH_TEXT]) {
    enum { ANY = 0xffffffff };
    static const struct {
        uint32_t type, subtype; /* the first row that fits counts */
        const char *name;
    } cpus[] = {
        {7, ANY, "i386"},
        {CPU_ARCH_ABI64 | 7, 8, "x86_64h"},
        {CPU_ARCH_ABI64 | 7, ANY, "x86_64"},
        {CPU_ARM, 5, "armv4t"},
        {CPU_ARM, 6, "armv6"},
        {CPU_ARM, 7, "armv5"},
        {CPU_ARM, 9, "armv7"},
        {CPU_ARM, 10, "armv7f"},
        {CPU_ARM, 11, "armv7s"},
        {CPU_ARM, 12, "armv7k"},
        {CPU_ARM, 13, "armv8"},
        {CPU_ARM, 14, "armv6m"},
        {CPU_ARM, 15, "armv7m"},
        {CPU_ARM, 16, "armv7em"},
        {CPU_ARM, ANY, "arm"},
        {CPU_ARCH_ABI64 | CPU_ARM, 2, "arm64e"},
        {CPU_ARCH_ABI64 | CPU_ARM, ANY, "arm64"},
        {0x02000000 | CPU_ARM, ANY, "arm64_32"},
        {18, ANY, "ppc"},
        {CPU_ARCH_ABI64 | 18, ANY, "ppc64"},
    };
    uint32_t subtype = cpu_subtype & CPU_SUBTYPE_MASK;
    for (size_t i = 0; i < sizeof cpus / sizeof cpus[0]; i++) {
        if (cpus[i].type == cpu_type && (cpus[i].subtype == ANY || cpus[i].subtype == subtype)) {
            snprintf(out, OBJECT_ARCH_TEXT, "%s", cpus[i].name);
            return;
        }
    }
    snprintf(out, OBJECT_ARCH_TEXT, "cpu-%x-%x", cpu_type, subtype);
}

static bool is_zero_fill(uint32_t flags) {
    uint32_t type = flags & SECTION_TYPE_MASK;
    return type == S_ZEROFILL || type == S_GB_ZEROFILL || type == S_THREAD_LOCAL_ZEROFILL;
}

/* Reads a section's header and adds the section. In a dSYM, segments other than __DWARF keep their
 * addresses but have no bytes: file size 0, and section offsets 0. */
static enum st add_section(struct macho_scan *m, struct reader *cmd, bool segment_has_bytes,
                           struct err *e) {
    struct object *o = m->slice->object;
    struct section sec = {0};
    char name[SEGMENT_NAME + 1];
    reader_fixed_str(cmd, SEGMENT_NAME, name);
    reader_fixed_str(cmd, SEGMENT_NAME, sec.segment);
    sec.address = m->is_64 ? reader_u64(cmd) : reader_u32(cmd);
    sec.size = m->is_64 ? reader_u64(cmd) : reader_u32(cmd);
    sec.offset = reader_u32(cmd);
    reader_skip(cmd, 4); /* align */
    sec.relocation_offset = reader_u32(cmd);
    sec.relocation_count = reader_u32(cmd);
    uint32_t flags = reader_u32(cmd);
    reader_skip(cmd, m->is_64 ? 12 : 8); /* reserved */
    enum st st = reader_check(cmd, e, "section header");
    if (st != ST_OK) {
        return st;
    }
    sec.has_bytes = segment_has_bytes && sec.offset != 0 && !is_zero_fill(flags);
    sec.code = (flags & (S_ATTR_PURE_INSTRUCTIONS | S_ATTR_SOME_INSTRUCTIONS)) != 0;
    sec.name = arena_strdup(&o->arena, name, strlen(name));
    if (!sec.name || !VEC_PUSH(&m->sections, sec)) {
        return err_nomem(e);
    }
    uint64_t end;
    if (sec.code && checked_add_u64(sec.address, sec.size, &end) && sec.size > 0) {
        m->code_low = m->code_high == 0 || sec.address < m->code_low ? sec.address : m->code_low;
        m->code_high = end > m->code_high ? end : m->code_high;
    }
    struct section *added = &m->sections.data[m->sections.len - 1];
    st = section_classify(o, added, false, e);
    bool relocated = m->slice->unlinked && !sec.code && sec.has_bytes && sec.relocation_count > 0;
    return st == ST_OK && relocated ? section_will_be_made(o, added, e) : st;
}

static enum st read_segment(struct macho_scan *m, struct reader *cmd, struct err *e) {
    char name[SEGMENT_NAME + 1];
    reader_fixed_str(cmd, SEGMENT_NAME, name);
    uint64_t address = m->is_64 ? reader_u64(cmd) : reader_u32(cmd);
    uint64_t size = m->is_64 ? reader_u64(cmd) : reader_u32(cmd);
    uint64_t file_offset = m->is_64 ? reader_u64(cmd) : reader_u32(cmd);
    uint64_t file_size = m->is_64 ? reader_u64(cmd) : reader_u32(cmd);
    reader_skip(cmd, 8); /* maxprot, initprot */
    uint32_t count = reader_u32(cmd);
    reader_skip(cmd, 4); /* flags */
    enum st st = reader_check(cmd, e, "segment command");
    if (st != ST_OK) {
        return st;
    }
    if (count > reader_left(cmd) / (m->is_64 ? SECTION_SIZE_64 : SECTION_SIZE_32)) {
        return err_at(e, ERR_TRUNCATED, cmd->name, cmd->origin,
                      "segment %s has more sections (%u) than its load command holds", name, count);
    }
    if (strcmp(name, "__TEXT") == 0 && !m->has_text) {
        uint64_t end;
        if (!checked_add_u64(address, size, &end)) {
            return err_at(e, ERR_FORMAT, cmd->name, cmd->origin,
                          "segment __TEXT wraps around the address space");
        }
        m->has_text = true;
        m->text_address = address;
        m->text_size = size;
    }
    if (strcmp(name, "__LINKEDIT") == 0) {
        struct macho_tables *t = &m->slice->macho;
        t->has_linkedit = true;
        t->linkedit_address = address;
        t->linkedit_offset = file_offset;
    }
    for (uint32_t i = 0; i < count && st == ST_OK; i++) {
        st = add_section(m, cmd, file_size != 0, e);
    }
    return st;
}

static enum st read_symtab(struct object_slice *s, struct reader *cmd, struct err *e) {
    struct macho_tables *t = &s->macho;
    t->symbol_offset = reader_u32(cmd);
    t->symbol_count = reader_u32(cmd);
    t->string_offset = reader_u32(cmd);
    t->string_size = reader_u32(cmd);
    s->has_symbols = t->symbol_count > 0;
    return reader_check(cmd, e, "symbol table command");
}

static enum st read_uuid(struct object_slice *s, struct reader *cmd, struct err *e) {
    const uint8_t *bytes = reader_bytes(cmd, UUID_SIZE);
    enum st st = reader_check(cmd, e, "UUID command");
    if (st == ST_OK && s->id.kind == IMAGE_ID_NONE) {
        s->id.kind = IMAGE_ID_UUID;
        s->id.len = UUID_SIZE;
        memcpy(s->id.bytes, bytes, UUID_SIZE);
    }
    return st;
}

static enum st read_function_starts(struct object_slice *s, struct reader *cmd, struct err *e) {
    s->macho.starts_offset = reader_u32(cmd);
    s->macho.starts_size = reader_u32(cmd);
    return reader_check(cmd, e, "function starts command");
}

/* Reads offset and size of the trie of exports, which only dyld caches need; a command that is too
 * short for them is no error. */
static void read_exports(struct object_slice *s, struct reader *cmd) {
    s->macho.exports_offset = reader_u32(cmd);
    s->macho.exports_size = reader_u32(cmd);
}

/* Reads one load command; its reader begins after cmd and cmdsize and ends where the command does.
 * A segment command of the other word size is skipped, as dyld does. */
static enum st read_command(struct macho_scan *m, uint32_t type, struct reader *cmd,
                            struct err *e) {
    if (type == LC_DYLD_INFO || type == LC_DYLD_INFO_ONLY) {
        reader_skip(cmd, BEFORE_EXPORTS);
    }
    if (type == LC_DYLD_INFO || type == LC_DYLD_INFO_ONLY || type == LC_DYLD_EXPORTS_TRIE) {
        read_exports(m->slice, cmd);
    }
    switch (type) {
    case LC_SEGMENT:
        return m->is_64 ? ST_OK : read_segment(m, cmd, e);
    case LC_SEGMENT_64:
        return m->is_64 ? read_segment(m, cmd, e) : ST_OK;
    case LC_SYMTAB:
        return read_symtab(m->slice, cmd, e);
    case LC_UUID:
        return read_uuid(m->slice, cmd, e);
    case LC_FUNCTION_STARTS:
        return read_function_starts(m->slice, cmd, e);
    default:
        return ST_OK;
    }
}

static enum st walk_commands(struct macho_scan *m, struct reader *cmds, uint32_t count,
                             struct err *e) {
    for (uint32_t i = 0; i < count; i++) {
        uint64_t at = cmds->origin + reader_pos(cmds);
        uint32_t type = reader_u32(cmds);
        uint32_t size = reader_u32(cmds);
        enum st st = reader_check(cmds, e, "load command");
        if (st != ST_OK) {
            return st;
        }
        if (size < COMMAND_MIN || size - COMMAND_MIN > reader_left(cmds)) {
            return err_at(e, ERR_FORMAT, cmds->name, at,
                          "load command %u (type 0x%x) has impossible size %u", i, type, size);
        }
        struct reader cmd = reader_sub(cmds, size - COMMAND_MIN, NULL);
        if ((st = read_command(m, type, &cmd, e)) != ST_OK) {
            return st;
        }
    }
    return ST_OK;
}

/* Copies the sections to the object's arena, and sets the slice's base and text_end. */
static enum st finish_slice(struct macho_scan *m, struct err *e) {
    struct object_slice *s = m->slice;
    size_t count = m->sections.len;
    s->sections = arena_array(&s->object->arena, count, sizeof *s->sections);
    if (!s->sections) {
        return err_nomem(e);
    }
    if (count > 0) {
        memcpy(s->sections, m->sections.data, count * sizeof *s->sections);
    }
    s->section_count = count;
    /* An unlinked object has one nameless segment. An app may move code to segments of its own
     * after __TEXT (-rename_section), to get around the App Store's limit on __TEXT. */
    s->base = m->has_text ? m->text_address : m->code_low;
    s->text_end = m->has_text ? m->text_address + m->text_size : 0;
    if (m->code_high > s->text_end) {
        s->text_end = m->code_high;
    }
    return ST_OK;
}

enum st macho_read_slice(struct object_slice *s, struct err *e) {
    uint32_t big = magic_of(s->bytes, s->size, true);
    s->format = OBJECT_MACHO;
    s->big_endian = big == MAGIC_32 || big == MAGIC_64;
    struct reader r = slice_reader(s);
    uint32_t magic = reader_u32(&r);
    uint32_t cpu_type = reader_u32(&r);
    uint32_t cpu_subtype = reader_u32(&r);
    uint32_t file_type = reader_u32(&r);
    uint32_t command_count = reader_u32(&r);
    uint32_t commands_size = reader_u32(&r);
    struct macho_scan m = {.slice = s, .is_64 = magic == MAGIC_64};
    reader_skip(&r, m.is_64 ? 8 : 4); /* flags, reserved */
    enum st st = reader_check(&r, e, "Mach-O header");
    if (st != ST_OK) {
        return st;
    }
    if (magic != MAGIC_32 && magic != MAGIC_64) {
        return err_at(e, ERR_FORMAT, r.name, s->origin, "no Mach-O header");
    }
    if (file_type == FILE_CORE) {
        return ST_NONE;
    }
    macho_arch_name(cpu_type, cpu_subtype, s->arch);
    s->address_size = m.is_64 ? 8 : 4;
    s->arm32 = cpu_type == CPU_ARM;
    s->machine = cpu_type;
    s->unlinked = file_type == FILE_OBJECT;
    struct reader cmds = reader_sub(&r, commands_size, NULL);
    if ((st = reader_check(&r, e, "table of load commands")) != ST_OK) {
        return st;
    }
    st = walk_commands(&m, &cmds, command_count, e);
    if (st == ST_OK) {
        st = finish_slice(&m, e);
    }
    VEC_RELEASE(&m.sections);
    return st;
}
