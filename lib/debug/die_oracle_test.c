/* Compares the walk over DIEs, with plans and without, with libdwarf, on undamaged files only
 * (libdwarf 20210528 returns late from damaged ones, or never): every DIE of every unit of every
 * file at hand. Without plans it asks libdwarf where values lie. */
#include "debug/every_slice_test.h"

#include "debug/die_walk.h"
#include "debug/libdwarf_file.h"

/* ---- a DIE as libdwarf sees it ---- */

/* An attribute on its way from libdwarf into *out. */
struct take {
    const struct sections *sections;
    const struct die_unit *unit;
    Dwarf_Attribute attr;
    Dwarf_Half form;
    struct die_attrs *out;
};

static void take_u64(const struct take *t, uint64_t *out) {
    Dwarf_Error why = NULL;
    if (t->form == DW_FORM_sdata || t->form == DW_FORM_implicit_const) {
        Dwarf_Signed v = 0;
        assert_int_equal(dwarf_formsdata(t->attr, &v, &why), DW_DLV_OK);
        assert_true(v >= 0);
        *out = (uint64_t)v;
        return;
    }
    if (t->form == DW_FORM_sec_offset) {
        Dwarf_Off v = 0;
        assert_int_equal(dwarf_global_formref(t->attr, &v, &why), DW_DLV_OK);
        *out = v;
        return;
    }
    Dwarf_Unsigned v = 0;
    assert_int_equal(dwarf_formudata(t->attr, &v, &why), DW_DLV_OK);
    *out = v;
}

static void take_u32(const struct take *t, uint32_t *out) {
    uint64_t v = 0;
    take_u64(t, &v);
    *out = v <= UINT32_MAX ? (uint32_t)v : 0;
}

static void take_line(const struct take *t, uint64_t *out) {
    uint32_t v;
    take_u32(t, &v);
    *out = v;
}

static bool is_class(const struct take *t, enum Dwarf_Form_Class wanted) {
    enum Dwarf_Form_Class class =
        dwarf_get_form_class(t->unit->version, DW_AT_low_pc, t->unit->offset_size, t->form);
    return class == wanted;
}

static bool take_address(const struct take *t, uint64_t *out) {
    Dwarf_Error why = NULL;
    Dwarf_Addr v = 0;
    if (!is_class(t, DW_FORM_CLASS_ADDRESS)) {
        take_u64(t, out);
        return false;
    }
    assert_int_equal(dwarf_formaddr(t->attr, &v, &why), DW_DLV_OK);
    *out = v;
    return true;
}

/* libdwarf 20210528 does not check what it reads of .debug_str_offsets, but the files here are
 * sound. */
static void take_string(const struct take *t, const char **out) {
    Dwarf_Error why = NULL;
    char *text = NULL;
    assert_int_equal(dwarf_formstring(t->attr, &text, &why), DW_DLV_OK);
    *out = text[0] ? text : NULL;
}

static void take_ref(const struct take *t, struct die_ref *out) {
    Dwarf_Error why = NULL;
    Dwarf_Off offset = 0;
    assert_int_equal(dwarf_global_formref(t->attr, &offset, &why), DW_DLV_OK);
    *out = (struct die_ref){offset, t->form == DW_FORM_GNU_ref_alt || t->form == DW_FORM_ref_sup4 ||
                                        t->form == DW_FORM_ref_sup8};
}

static void take_code_attr(const struct take *t, Dwarf_Half which) {
    struct die_attrs *out = t->out;
    switch (which) {
    case DW_AT_low_pc:
        out->has |= DIE_LOW;
        assert_true(take_address(t, &out->low));
        break;
    case DW_AT_high_pc:
        out->has |= DIE_HIGH;
        out->has |= take_address(t, &out->high) ? 0 : DIE_HIGH_IS_SIZE;
        break;
    case DW_AT_ranges:
        out->has |= DIE_RANGES;
        out->has |= t->form == DW_FORM_rnglistx ? DIE_RANGES_IS_INDEX : 0;
        take_u64(t, &out->ranges);
        break;
    case DW_AT_entry_pc:
        out->has |= DIE_ENTRY;
        out->has |= take_address(t, &out->entry) ? 0 : DIE_ENTRY_IS_SIZE;
        break;
    case DW_AT_call_file:
        out->has |= DIE_CALL_FILE;
        take_u64(t, &out->call_file);
        break;
    case DW_AT_call_line:
        take_line(t, &out->call_line);
        break;
    case DW_AT_call_column:
        take_line(t, &out->call_column);
        break;
    case DW_AT_GNU_discriminator:
        take_line(t, &out->call_discriminator);
        break;
    default:
        break;
    }
}

static void take_unit_attr(const struct take *t, Dwarf_Half which) {
    struct die_attrs *out = t->out;
    switch (which) {
    case DW_AT_comp_dir:
        take_string(t, &out->comp_dir);
        break;
    case DW_AT_language:
        take_u32(t, &out->language);
        break;
    case DW_AT_stmt_list:
        out->has |= DIE_STMT_LIST;
        take_u64(t, &out->stmt_list);
        break;
    case DW_AT_addr_base:
    case DW_AT_GNU_addr_base:
        out->has |= DIE_ADDR_BASE;
        take_u64(t, &out->addr_base);
        break;
    case DW_AT_rnglists_base:
        out->has |= DIE_RNGLISTS_BASE;
        take_u64(t, &out->rnglists_base);
        break;
    case DW_AT_str_offsets_base:
        out->has |= DIE_STR_OFFSETS_BASE;
        take_u64(t, &out->str_offsets_base);
        break;
    case DW_AT_dwo_name:
    case DW_AT_GNU_dwo_name:
        out->has |= DIE_SPLIT;
        take_string(t, &out->split_name);
        break;
    case DW_AT_GNU_dwo_id:
        out->has |= DIE_SPLIT_ID;
        take_u64(t, &out->split_id);
        break;
    case DW_AT_GNU_ranges_base:
        take_u64(t, &out->ranges_base);
        break;
    default:
        take_code_attr(t, which);
        break;
    }
}

static void take_attr(const struct take *t, Dwarf_Half which) {
    struct die_attrs *out = t->out;
    switch (which) {
    case DW_AT_name:
        take_string(t, &out->name);
        break;
    case DW_AT_linkage_name:
    case DW_AT_MIPS_linkage_name:
        take_string(t, &out->linkage);
        break;
    case DW_AT_abstract_origin:
        out->has |= DIE_ORIGIN;
        take_ref(t, &out->origin);
        break;
    case DW_AT_specification:
        out->has |= DIE_SPECIFICATION;
        take_ref(t, &out->specification);
        break;
    case DW_AT_decl_file:
        out->has |= DIE_DECL_FILE;
        take_u64(t, &out->decl_file);
        break;
    case DW_AT_decl_line:
        take_line(t, &out->decl_line);
        break;
    default:
        take_unit_attr(t, which);
        break;
    }
}

static void read_die(const struct sections *s, const struct die_unit *unit, Dwarf_Debug dbg,
                     Dwarf_Die die, struct die_attrs *out) {
    Dwarf_Error why = NULL;
    Dwarf_Attribute *list = NULL;
    Dwarf_Signed count = 0;
    *out = (struct die_attrs){0};
    int res = dwarf_attrlist(die, &list, &count, &why);
    if (res == DW_DLV_NO_ENTRY) {
        return;
    }
    assert_int_equal(res, DW_DLV_OK);
    for (Dwarf_Signed i = 0; i < count; i++) {
        struct take t = {.sections = s, .unit = unit, .attr = list[i], .out = out};
        Dwarf_Half which = 0;
        assert_int_equal(dwarf_whatattr(list[i], &which, &why), DW_DLV_OK);
        assert_int_equal(dwarf_whatform(list[i], &t.form, &why), DW_DLV_OK);
        take_attr(&t, which);
        dwarf_dealloc_attribute(list[i]);
    }
    dwarf_dealloc(dbg, list, DW_DLA_LIST);
}

/* ---- side by side ---- */

struct pair {
    const struct sections *sections;
    struct die_reader *reader;
    const struct die_unit *unit;
    struct die_walk walk;
    struct die_reader *planless;
    struct die_walk planless_walk;
    struct libdwarf_file oracle;
    uint64_t dies;
};

static void same_text(const char *a, const char *b) {
    assert_true((a == NULL) == (b == NULL));
    if (a) {
        assert_string_equal(a, b);
    }
}

static void same_attrs(const struct die_attrs *a, const struct die_attrs *b) {
    assert_false(a->damaged);
    assert_int_equal(a->has, b->has);
    assert_int_equal(a->low, b->low);
    assert_int_equal(a->high, b->high);
    assert_int_equal(a->ranges, b->ranges);
    assert_int_equal(a->entry, b->entry);
    assert_int_equal(a->origin.offset, b->origin.offset);
    assert_int_equal(a->origin.alt, b->origin.alt);
    assert_int_equal(a->specification.offset, b->specification.offset);
    assert_int_equal(a->specification.alt, b->specification.alt);
    same_text(a->name, b->name);
    same_text(a->linkage, b->linkage);
    same_text(a->comp_dir, b->comp_dir);
    assert_int_equal(a->decl_file, b->decl_file);
    assert_int_equal(a->decl_line, b->decl_line);
    assert_int_equal(a->call_file, b->call_file);
    assert_int_equal(a->call_line, b->call_line);
    assert_int_equal(a->call_column, b->call_column);
    assert_int_equal(a->call_discriminator, b->call_discriminator);
    assert_int_equal(a->language, b->language);
    assert_int_equal(a->stmt_list, b->stmt_list);
    assert_int_equal(a->addr_base, b->addr_base);
    assert_int_equal(a->ranges_base, b->ranges_base);
    assert_int_equal(a->split_id, b->split_id);
    same_text(a->split_name, b->split_name);
    assert_int_equal(a->rnglists_base, b->rnglists_base);
    assert_int_equal(a->str_offsets_base, b->str_offsets_base);
}

static void compare_die(struct pair *p, Dwarf_Die die, unsigned depth) {
    struct err e = {0};
    Dwarf_Error why = NULL;
    Dwarf_Off offset = 0;
    Dwarf_Half tag = 0;
    struct die_entry entry;
    struct die_attrs ours, theirs, alone;
    assert_int_equal(dwarf_dieoffset(die, &offset, &why), DW_DLV_OK);
    assert_int_equal(dwarf_tag(die, &tag, &why), DW_DLV_OK);
    assert_int_equal(die_walk_next(&p->walk, &entry, &ours, &e), ST_OK);
    assert_int_equal(entry.offset, offset);
    assert_int_equal(entry.tag, tag);
    assert_int_equal(entry.depth, depth);
    read_die(p->sections, p->unit, p->oracle.dbg, die, &theirs);
    same_attrs(&ours, &theirs);
    assert_int_equal(die_attrs_at(p->reader, p->unit, offset, &alone, &e), ST_OK);
    same_attrs(&alone, &theirs);
    assert_int_equal(die_walk_next(&p->planless_walk, &entry, &ours, &e), ST_OK);
    assert_int_equal(entry.offset, offset);
    assert_int_equal(entry.tag, tag);
    assert_int_equal(entry.depth, depth);
    same_attrs(&ours, &theirs);
    p->dies++;
}

/* Compares the DIE, its siblings and all below them, and frees the DIE. */
static void compare_tree(struct pair *p, Dwarf_Die die, unsigned depth) {
    while (die) {
        Dwarf_Error why = NULL;
        Dwarf_Die child = NULL, next = NULL;
        compare_die(p, die, depth);
        if (dwarf_child(die, &child, &why) == DW_DLV_OK) {
            compare_tree(p, child, depth + 1);
        }
        if (depth > 0 && dwarf_siblingof_b(p->oracle.dbg, die, 1, &next, &why) != DW_DLV_OK) {
            next = NULL;
        }
        dwarf_dealloc_die(die);
        die = next;
    }
}

/* Goes on to the next unit; *die becomes its DIE, which the caller frees by dwarf_dealloc_die. */
static bool next_unit(struct libdwarf_file *f, Dwarf_Die *die) {
    Dwarf_Error why = NULL;
    return libdwarf_file_next_unit(f) && dwarf_siblingof_b(f->dbg, NULL, 1, die, &why) == DW_DLV_OK;
}

static uint64_t compare_sections(const struct sections *s) {
    static struct pair p;
    struct die_reader reader, planless;
    struct die_units at = {0};
    struct err e = {0};
    struct die_unit unit;
    struct die_attrs attrs;
    Dwarf_Die die = NULL;
    p = (struct pair){.sections = s, .reader = &reader, .unit = &unit, .planless = &planless};
    die_reader_init(&reader, s, NULL);
    die_reader_init(&planless, s, NULL);
    planless.abbrevs.planless = true;
    assert_int_equal(libdwarf_file_open(&p.oracle, s, &e), ST_OK);
    while (next_unit(&p.oracle, &die)) {
        struct die_entry entry;
        assert_int_equal(die_units_next(&reader, &at, &unit, &attrs, &e), ST_OK);
        assert_int_equal(die_walk_open(&p.walk, &reader, &unit, true, &e), ST_OK);
        assert_int_equal(die_walk_open(&p.planless_walk, &planless, &unit, true, &e), ST_OK);
        compare_tree(&p, die, 0);
        assert_int_equal(die_walk_next(&p.walk, &entry, &attrs, &e), ST_NONE);
        assert_int_equal(die_walk_next(&p.planless_walk, &entry, &attrs, &e), ST_NONE);
        die_walk_close(&p.walk);
        die_walk_close(&p.planless_walk);
    }
    enum st st;
    while ((st = die_units_next(&reader, &at, &unit, &attrs, &e)) == ST_ERR) {
        assert_int_equal(e.code, ERR_UNREAD); /* a unit without a DIE, at which libdwarf ends */
        err_clear(&e);
    }
    assert_int_equal(st, ST_NONE);
    libdwarf_file_close(&p.oracle);
    die_reader_release(&planless);
    die_reader_release(&reader);
    return p.dies;
}

/* ---- every form, hand-made ---- */

/* Kinds of values without a fixed size, for `width`. */
enum { AS_ULEB = 100, AS_SLEB, AS_TEXT, AS_OFFSET, AS_ADDRESS, AS_BLOCK, AS_REF_ADDR };
struct sample {
    uint16_t attribute, form;
    /* First: DWARF version that introduced the form; width: size in bytes, or AS_…. */
    unsigned first, width;
    uint64_t value;
};
enum { NOBODYS = 0x2fff }; /* an attribute that the reader skips */

static const struct sample samples[] = {
#if LIBDWARF_NEW_API /* 20210528 reads strx3 as strx4 */
    {DW_AT_linkage_name, DW_FORM_strx3, 5, 3, 1},
    {DW_AT_high_pc, DW_FORM_addrx3, 5, 3, 1},
#endif
    {DW_AT_name, DW_FORM_string, 2, AS_TEXT, 0},
    {DW_AT_name, DW_FORM_strp, 2, AS_OFFSET, 4},
    {DW_AT_name, DW_FORM_line_strp, 5, AS_OFFSET, 2},
    {DW_AT_name, DW_FORM_strx, 5, AS_ULEB, 1},
    {DW_AT_name, DW_FORM_strx1, 5, 1, 1},
    {DW_AT_name, DW_FORM_strx2, 5, 2, 0},
    {DW_AT_linkage_name, DW_FORM_strx4, 5, 4, 0},
    {DW_AT_low_pc, DW_FORM_addr, 2, AS_ADDRESS, 0x1234},
    {DW_AT_low_pc, DW_FORM_addrx, 5, AS_ULEB, 1},
    {DW_AT_low_pc, DW_FORM_addrx1, 5, 1, 1},
    {DW_AT_low_pc, DW_FORM_addrx2, 5, 2, 0},
    {DW_AT_high_pc, DW_FORM_addrx4, 5, 4, 1},
    {DW_AT_high_pc, DW_FORM_addr, 2, AS_ADDRESS, 0x2345},
    {DW_AT_high_pc, DW_FORM_data1, 4, 1, 0x80},
    {DW_AT_high_pc, DW_FORM_data2, 4, 2, 0x8001},
    {DW_AT_high_pc, DW_FORM_data4, 4, 4, 0x80000001},
    {DW_AT_high_pc, DW_FORM_data8, 4, 8, 0x8000000000000001},
    {DW_AT_high_pc, DW_FORM_udata, 4, AS_ULEB, 300},
    {DW_AT_high_pc, DW_FORM_sdata, 4, AS_SLEB, 300},
    {DW_AT_entry_pc, DW_FORM_data2, 5, 2, 16},
    {DW_AT_entry_pc, DW_FORM_addr, 3, AS_ADDRESS, 0x1240},
    {DW_AT_ranges, DW_FORM_sec_offset, 4, AS_OFFSET, 8},
    {DW_AT_ranges, DW_FORM_rnglistx, 5, AS_ULEB, 3},
    {DW_AT_decl_file, DW_FORM_implicit_const, 5, 0, 0},
    {DW_AT_decl_line, DW_FORM_data2, 2, 2, 777},
    {DW_AT_call_line, DW_FORM_udata, 2, AS_ULEB, 0x1ffffffff},
    {DW_AT_call_file, DW_FORM_data1, 2, 1, 255},
    {DW_AT_call_column, DW_FORM_data8, 2, 8, 9},
    {DW_AT_abstract_origin, DW_FORM_ref1, 2, 1, 30},
    {DW_AT_abstract_origin, DW_FORM_ref2, 2, 2, 31},
    {DW_AT_abstract_origin, DW_FORM_ref4, 2, 4, 32},
    {DW_AT_specification, DW_FORM_ref8, 2, 8, 33},
    {DW_AT_specification, DW_FORM_ref_udata, 2, AS_ULEB, 34},
    {DW_AT_specification, DW_FORM_ref_addr, 2, AS_REF_ADDR, 35},
    {DW_AT_name, DW_FORM_indirect, 2, AS_TEXT, DW_FORM_string},
    {DW_AT_decl_line, DW_FORM_indirect, 2, 2, DW_FORM_data2},
    {NOBODYS, DW_FORM_flag, 2, 1, 1},
    {NOBODYS, DW_FORM_flag_present, 4, 0, 0},
    {NOBODYS, DW_FORM_block1, 2, 1, 0},
    {NOBODYS, DW_FORM_block2, 2, 2, 0},
    {NOBODYS, DW_FORM_block4, 2, 4, 0},
    {NOBODYS, DW_FORM_block, 2, AS_BLOCK, 3},
    {NOBODYS, DW_FORM_exprloc, 4, AS_BLOCK, 5},
    {NOBODYS, DW_FORM_data16, 5, 16, 0},
    {NOBODYS, DW_FORM_loclistx, 5, AS_ULEB, 1000},
    {NOBODYS, DW_FORM_ref_sig8, 4, 8, 1},
    {NOBODYS, DW_FORM_sdata, 2, AS_SLEB, (uint64_t)-5},
};
enum { SAMPLE_COUNT = sizeof samples / sizeof samples[0] };

static void put_offset(struct dwarf_build *b, bool wide, uint64_t v) {
    put(b, v, wide ? 8 : 4);
}

static void put_sample(struct dwarf_build *b, const struct sample *s, bool wide) {
    uint64_t v = s->value;
    if (s->form == DW_FORM_indirect) {
        put_uleb(b, s->value);
        v = 3;
    }
    switch (s->width) {
    case AS_ULEB:
        put_uleb(b, v);
        break;
    case AS_SLEB:
        put_sleb(b, (int64_t)v);
        break;
    case AS_TEXT:
        put_text(b, "text");
        break;
    case AS_OFFSET:
        put_offset(b, wide, v);
        break;
    case AS_ADDRESS:
        put_address(b, v);
        break;
    case AS_BLOCK:
        put_uleb(b, v);
        for (uint64_t i = 0; i < v; i++) {
            put(b, 0xff, 1);
        }
        break;
    case AS_REF_ADDR:
        put(b, v, b->version == 2 ? b->address_size : wide ? 8 : 4);
        break;
    default:
        for (unsigned done = 0; done < s->width; done += 8) {
            put(b, v, s->width < 8 ? s->width : 8);
        }
        break;
    }
}

/* Writes abbreviations: number i + 2 has sample i, a name, and no child. */
static void put_sample_abbrevs(struct dwarf_build *b) {
    abbrev(b, 1, DW_TAG_compile_unit, true, DW_AT_name, DW_FORM_string, 0);
    b->in = SECTION_ABBREV;
    for (unsigned i = 0; i < SAMPLE_COUNT; i++) {
        put_uleb(b, i + 2), put_uleb(b, i % 2 ? DW_TAG_subprogram : DW_TAG_variable);
        put(b, 0, 1);
        put_uleb(b, samples[i].attribute), put_uleb(b, samples[i].form);
        if (samples[i].form == DW_FORM_implicit_const) {
            put_sleb(b, 99);
        }
        put_uleb(b, DW_AT_comp_dir), put_uleb(b, DW_FORM_string), put(b, 0, 2);
    }
    abbrev(b, SAMPLE_COUNT + 2, DW_TAG_compile_unit, true, DW_AT_str_offsets_base,
           DW_FORM_sec_offset, DW_AT_addr_base, DW_FORM_sec_offset, 0);
    end_abbrevs(b);
}

/* Writes the strings, and the tables of string offsets and of addresses for the forms strx and
 * addrx. Lists have no tables, as only their indexes are compared. */
static void put_tables(struct dwarf_build *b, bool wide) {
    b->in = SECTION_STR;
    put_text(b, "one"), put_text(b, "two"), put_text(b, "three");
    b->in = SECTION_LINE_STR;
    put_text(b, "x"), put_text(b, "line");
    b->in = SECTION_STR_OFFSETS;
    if (wide) {
        put(b, UINT32_MAX, 4);
    }
    put_offset(b, wide, 4 + 2 * (wide ? 8 : 4)), put(b, 5, 2), put(b, 0, 2);
    put_offset(b, wide, 0), put_offset(b, wide, 4);
    b->in = SECTION_ADDR;
    put(b, 4 + 2u * b->address_size, 4), put(b, 5, 2), put(b, b->address_size, 1), put(b, 0, 1);
    put_address(b, 0x4000), put_address(b, 0x5000);
}

static void put_sample_unit(struct dwarf_build *b, unsigned version, bool wide) {
    b->in = SECTION_INFO;
    b->version = version;
    size_t unit = here(b);
    if (wide) {
        put(b, UINT32_MAX, 4);
    }
    size_t length = here(b);
    put_offset(b, wide, 0);
    size_t start = here(b);
    put(b, version, 2);
    if (version >= 5) {
        put(b, DW_UT_compile, 1), put(b, b->address_size, 1), put_offset(b, wide, 0);
    } else {
        put_offset(b, wide, 0), put(b, b->address_size, 1);
    }
    b->unit = unit;
    if (version >= 5) {
        put_uleb(b, SAMPLE_COUNT + 2);
        put_offset(b, wide, wide ? 16 : 8), put_offset(b, wide, 8);
    } else {
        put_uleb(b, 1), put_text(b, "u.c");
    }
    for (unsigned i = 0; i < SAMPLE_COUNT; i++) {
        if (samples[i].first <= version) {
            put_uleb(b, i + 2);
            put_sample(b, &samples[i], wide);
            put_text(b, "behind");
        }
    }
    put(b, 0, 1);
    put_at(b, length, here(b) - start, wide ? 8 : 4);
}

static void every_form_is_read_as_libdwarf_reads_it(void **state) {
    static struct dwarf_build b;
    (void)state;
    for (unsigned kind = 0; kind < 8; kind++) {
        bool wide = kind & 1;
        b = (struct dwarf_build){.big_endian = kind & 2, .address_size = kind & 4 ? 4 : 8};
        struct sections s;
        put_sample_abbrevs(&b);
        put_tables(&b, wide);
        for (unsigned version = 2; version <= 5; version++) {
            put_sample_unit(&b, version, wide);
        }
        built_sections(&b, &s);
        assert_true(compare_sections(&s) > 3 * SAMPLE_COUNT / 2);
    }
}

static void what_libdwarf_20210528_cannot_tell_is_read(void **state) {
    static struct dwarf_build b;
    (void)state;
    for (unsigned big = 0; big < 2; big++) {
        struct sections s;
        struct die_reader reader;
        struct die_units at = {0};
        struct die_unit unit;
        struct die_attrs attrs;
        struct err e = {0};
        b = (struct dwarf_build){.big_endian = big, .address_size = 8};
        abbrev(&b, 1, DW_TAG_compile_unit, false, DW_AT_name, DW_FORM_strx3, DW_AT_low_pc,
               DW_FORM_addrx3, DW_AT_entry_pc, FORM_LLVM_ADDRX_OFFSET, DW_AT_str_offsets_base,
               DW_FORM_sec_offset, DW_AT_addr_base, DW_FORM_sec_offset, DW_AT_comp_dir,
               DW_FORM_string, 0);
        end_abbrevs(&b);
        put_tables(&b, false);
        begin_unit(&b, 5, 0);
        put_uleb(&b, 1), put(&b, 1, 3), put(&b, 1, 3), put_uleb(&b, 0), put(&b, 0x70, 4);
        put(&b, 8, 4), put(&b, 8, 4);
        put_text(&b, "behind");
        end_unit(&b);
        built_sections(&b, &s);
        die_reader_init(&reader, &s, NULL);
        assert_int_equal(die_units_next(&reader, &at, &unit, &attrs, &e), ST_OK);
        assert_false(attrs.damaged);
        assert_string_equal(attrs.name, "two");
        assert_int_equal(attrs.low, 0x5000);
        assert_int_equal(attrs.entry, 0x4070);
        assert_string_equal(attrs.comp_dir, "behind");
        die_reader_release(&reader);
    }
}

/* ---- every file at hand ---- */

static void compare_slice(const char *path, const struct sections *s) {
    uint64_t dies = compare_sections(s);
    assert_true(dies > 0);
    print_message("# %s: %llu DIEs\n", path, (unsigned long long)dies);
}

static void every_die_of_the_fixtures_is_libdwarfs_too(void **state) {
    (void)state;
    assert_true(every_slice_below("testdata/objects", compare_slice) >= 12);
}

static void every_die_of_real_files_is_libdwarfs_too(void **state) {
    (void)state;
    assert_true(every_real_slice(compare_slice) > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_is_read_as_libdwarf_reads_it),
        cmocka_unit_test(what_libdwarf_20210528_cannot_tell_is_read),
        cmocka_unit_test(every_die_of_the_fixtures_is_libdwarfs_too),
        cmocka_unit_test(every_die_of_real_files_is_libdwarfs_too),
    };
    dwarf_set_de_alloc_flag(0); /* the caller then frees what libdwarf returns, in half the time */
    return cmocka_run_group_tests_name("DIEs against libdwarf", tests, NULL, NULL);
}
