/* Reads the header of a line table, with the lists of its folders and files. */
#include <dwarf.h>
#include <string.h>

#include "debug/forms.h"
#include "debug/line_table.h"

/* Limit on the bytes of composed paths: PATH_BYTES_FREE + PATH_BYTES_PER_BYTE for each byte of the
 * header's lists, because a few bytes of a damaged file could make paths that take much memory. */
enum { PATH_BYTES_PER_BYTE = 256, PATH_BYTES_FREE = 1 << 20 };

/* A line table whose header is being read. */
struct table {
    const struct line_source *source;
    const struct line_header *header;
    struct reader r;
};

/* Skips a string, and returns its offset in .debug_line; LINE_NO_TEXT: the string has no end. */
static uint64_t read_line_text(struct table *t) {
    const uint8_t *text = t->r.at;
    (void)reader_cstr(&t->r, NULL);
    if (reader_failed(&t->r)) {
        return LINE_NO_TEXT;
    }
    return (uint64_t)(text - t->source->sections->of[SECTION_LINE].data);
}

/* ---- DWARF 2 to 4: lists that end with an empty name ---- */

static enum st read_list_v2(struct table *t, bool files, struct line_names *list, struct err *e) {
    /* Element 0 is left empty: folder 0 is the unit's own, and files count from 1. */
    struct line_name n = {.text = LINE_NO_TEXT};
    do {
        if (!VEC_PUSH(list, n)) {
            return err_nomem(e);
        }
        const uint8_t *text = t->r.at;
        n.text = read_line_text(t);
        if (t->r.failed || *text == 0) {
            return ST_OK;
        }
        if (files) {
            n.folder = reader_uleb128(&t->r);
            (void)reader_uleb128(&t->r); /* time */
            (void)reader_uleb128(&t->r); /* size */
        }
    } while (!t->r.failed);
    return ST_OK;
}

/* ---- DWARF 5: self-describing lists (§6.2.4.1) ---- */

struct entry_value {
    uint64_t form; /* 0: a form that no list may have */
    /* The value is a name, or the number of a folder; neither: it is skipped. */
    bool is_text, is_folder;
};

struct entry_format {
    unsigned count;
    struct entry_value values[UINT8_MAX]; /* the first `count` values are filled */
};

/* May a list have the form (§6.2.4.1)? A value of each of these forms takes at least a byte, so a
 * damaged count cannot make a list longer than its section. */
static bool is_list_form(uint64_t form) {
    static const uint8_t forms[] = {
        DW_FORM_string, DW_FORM_line_strp, DW_FORM_strp,  DW_FORM_strp_sup, DW_FORM_udata,
        DW_FORM_data1,  DW_FORM_data2,     DW_FORM_data4, DW_FORM_data8,    DW_FORM_data16,
        DW_FORM_strx,   DW_FORM_strx1,     DW_FORM_strx2, DW_FORM_strx3,    DW_FORM_strx4,
        DW_FORM_block,  DW_FORM_block1};
    return form <= UINT8_MAX && memchr(forms, (int)form, sizeof forms);
}

/* Returns the section with the strings of a form; SECTION_COUNT: the form is no string, or a string
 * by an index (DW_FORM_strx) or in another file (DW_FORM_strp_sup), which no producer writes here
 * and which is skipped. */
static enum section_id strings_of(uint64_t form) {
    switch (form) {
    case DW_FORM_string:
        return SECTION_LINE;
    case DW_FORM_line_strp:
        return SECTION_LINE_STR;
    case DW_FORM_strp:
        return SECTION_STR;
    default:
        return SECTION_COUNT;
    }
}

/* Reads the format of a list's entries. If an entry has several names, the last one and its section
 * count. */
static void read_format(struct table *t, struct entry_format *f, enum section_id *section) {
    f->count = reader_u8(&t->r);
    for (unsigned i = 0; i < f->count; i++) {
        uint64_t content = reader_uleb128(&t->r), form = reader_uleb128(&t->r);
        enum section_id strings = strings_of(form);
        struct entry_value *v = &f->values[i];
        v->form = is_list_form(form) ? form : 0;
        v->is_text = content == DW_LNCT_path && strings != SECTION_COUNT;
        v->is_folder = content == DW_LNCT_directory_index && strings == SECTION_COUNT;
        *section = v->is_text ? strings : *section;
    }
}

/* Reads a number, or the offset of a string; returns 0 for a skipped value. A form of unknown size
 * fails the reader. */
static uint64_t read_value(struct table *t, uint64_t form) {
    struct form_sizes sizes = {.address_size = t->header->address_size,
                               .offset_size = t->header->offset_size};
    uint32_t size;
    if (form == DW_FORM_string) {
        return read_line_text(t);
    }
    if (form == DW_FORM_udata) {
        return reader_uleb128(&t->r);
    }
    if (form_fixed_size(sizes, form, &size) && size > 0 && size <= 8) {
        return reader_uint(&t->r, size);
    }
    form_skip(&t->r, sizes, form);
    return 0;
}

static enum st read_file_entries(struct table *t, const struct entry_format *f, uint64_t count,
                                 struct line_names *list, struct err *e) {
    for (uint64_t i = 0; i < count; i++) {
        struct line_name n = {.text = LINE_NO_TEXT};
        for (unsigned k = 0; k < f->count; k++) {
            uint64_t v = read_value(t, f->values[k].form);
            n.text = f->values[k].is_text ? v : n.text;
            n.folder = f->values[k].is_folder ? v : n.folder;
        }
        if (t->r.failed) {
            break;
        }
        if (!VEC_PUSH(list, n)) {
            return err_nomem(e);
        }
    }
    return ST_OK;
}

static enum st read_list_v5(struct table *t, struct line_names *list, struct err *e) {
    struct entry_format f; /* not cleared, as read_format fills the members that are used */
    read_format(t, &f, &list->section);
    uint64_t count = reader_uleb128(&t->r);
    if (t->r.failed) {
        return ST_OK;
    }
    if (f.count == 0 && count > 0) {
        return err_at(e, ERR_FORMAT, section_name(SECTION_LINE), t->source->offset,
                      "line table entries without a format");
    }
    return read_file_entries(t, &f, count, list, e);
}

/* Reads the list of folders or files that t->r is at, and moves t->r past it. ST_ERR: the list is
 * damaged, or out of memory; *list has the elements before. */
static enum st read_line_list(struct table *t, bool files, struct line_names *list, struct err *e) {
    list->section = SECTION_LINE;
    enum st st =
        t->header->version >= 5 ? read_list_v5(t, list, e) : read_list_v2(t, files, list, e);
    if (st != ST_OK) {
        return st;
    }
    return reader_check(&t->r, e, files ? "files of the line table" : "folders of the line table");
}

/* ---- header ---- */

/* Reads the header's fixed part. On return r is at the lists and ends with the header. ST_ERR: the
 * table is damaged, of an unsupported version, or could not be relocated. */
static enum st read_line_fixed(struct reader *r, const struct line_source *source,
                               struct line_header *h, struct err *e) {
    *r = section_reader(source->sections, SECTION_LINE);
    reader_seek(r, source->offset);
    uint64_t length = section_initial_length(r, &h->offset_size);
    struct reader unit = reader_sub(r, length, NULL);
    if (!section_is_relocated(source->sections, SECTION_LINE, source->offset, reader_pos(r))) {
        return err_at(e, ERR_UNSUPPORTED, section_name(SECTION_LINE), source->offset,
                      "line table that could not be relocated");
    }
    h->version = reader_u16(&unit);
    h->address_size = source->address_size;
    if (!reader_failed(&unit) && (h->version < 2 || h->version > 5)) {
        return err_at(e, ERR_UNSUPPORTED, section_name(SECTION_LINE), source->offset,
                      "line table of version %u", h->version);
    }
    if (h->version >= 5) {
        h->address_size = reader_u8(&unit);
        reader_skip(&unit, 1); /* segment selector size */
    }
    *r = reader_sub(&unit, section_offset(&unit, h->offset_size), NULL);
    h->program = unit;
    h->min_instruction = reader_u8(r);
    h->max_operations = h->version >= 4 ? reader_u8(r) : 1;
    reader_skip(r, 1); /* default_is_stmt */
    h->line_base = (int8_t)reader_u8(r);
    h->line_range = reader_u8(r);
    h->opcode_base = reader_u8(r);
    for (unsigned i = 1; i < h->opcode_base; i++) {
        h->operand_counts[i] = reader_u8(r);
    }
    if (reader_failed(&unit) || reader_failed(r)) {
        return err_at(e, ERR_TRUNCATED, section_name(SECTION_LINE), source->offset,
                      "line table header past its end");
    }
    if (h->line_range == 0 || (h->address_size != 4 && h->address_size != 8)) {
        return err_at(e, ERR_FORMAT, section_name(SECTION_LINE), source->offset,
                      "line table header with line range %u and addresses of %u bytes",
                      h->line_range, h->address_size);
    }
    if (h->max_operations == 0) {
        h->max_operations = 1; /* some assemblers write 0 for "no VLIW" */
    }
    return ST_OK;
}

static void begin_files(struct line_files *f, const struct line_source *source) {
    f->paths.len = f->folders.len = f->files.len = 0;
    f->sections = source->sections;
    f->comp_dir = source->comp_dir;
}

enum st line_header_read(const struct line_source *source, struct line_header *header,
                         struct line_files *files, struct err *e) {
    struct table t = {.source = source, .header = header};
    begin_files(files, source);
    *header = (struct line_header){0};
    enum st st = read_line_fixed(&t.r, source, header, e);
    if (st != ST_OK) {
        return st;
    }
    files->path_budget = PATH_BYTES_FREE + PATH_BYTES_PER_BYTE * (uint64_t)reader_left(&t.r);
    st = read_line_list(&t, false, &files->folders, e);
    if (st == ST_OK) {
        st = read_line_list(&t, true, &files->files, e);
    }
    if (!VEC_RESERVE(&files->paths, files->files.len)) {
        files->files.len = 0;
        return err_nomem(e);
    }
    for (size_t i = 0; i < files->files.len; i++) {
        files->paths.data[files->paths.len++] = NULL;
    }
    return st;
}
