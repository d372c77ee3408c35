/* The header of a line table, and its files. */
#include <dwarf.h>
#include <string.h>

#include "base/checked.h"
#include "debug/line_table.h"

/* A composed path costs memory that its few bytes in the file do not: no more than this for each
 * byte of the header. */
enum { PATH_BYTES_PER_BYTE = 256, PATH_BYTES_FREE = 1 << 20 };

struct name {
    const char *text; /* NULL = none */
    uint64_t folder;
};

struct tables {
    const struct line_source *source;
    struct reader r;
    const struct line_header *header;
    VEC(struct name) folders;
    VEC(struct name) files;
    size_t path_budget;
};

static void tables_release(struct tables *t) {
    VEC_RELEASE(&t->folders);
    VEC_RELEASE(&t->files);
}

static enum st damaged(const struct tables *t, const char *what, struct err *e) {
    return err_at(e, ERR_FORMAT, section_name(SECTION_LINE), t->source->offset, "%s", what);
}

/* ---- DWARF 2 to 4: lists that end with an empty name ---- */

static enum st read_folders_v2(struct tables *t, struct err *e) {
    struct name none = {0}; /* number 0 is the unit's own folder */
    if (!VEC_PUSH(&t->folders, none)) {
        return err_nomem(e);
    }
    for (;;) {
        struct name folder = {.text = reader_cstr(&t->r, NULL)};
        if (reader_failed(&t->r) || !folder.text[0]) {
            return reader_check(&t->r, e, "folders of the line table");
        }
        if (!VEC_PUSH(&t->folders, folder)) {
            return err_nomem(e);
        }
    }
}

static enum st read_files_v2(struct tables *t, struct err *e) {
    struct name none = {0}; /* files count from 1 */
    if (!VEC_PUSH(&t->files, none)) {
        return err_nomem(e);
    }
    for (;;) {
        struct name file = {.text = reader_cstr(&t->r, NULL)};
        if (reader_failed(&t->r) || !file.text[0]) {
            return reader_check(&t->r, e, "files of the line table");
        }
        file.folder = reader_uleb128(&t->r);
        (void)reader_uleb128(&t->r); /* time */
        (void)reader_uleb128(&t->r); /* size */
        if (reader_failed(&t->r)) {
            return reader_check(&t->r, e, "files of the line table");
        }
        if (!VEC_PUSH(&t->files, file)) {
            return err_nomem(e);
        }
    }
}

/* ---- DWARF 5: self-describing lists (§6.2.4.1) ---- */

struct entry_format {
    uint64_t content[256], form[256];
    unsigned count;
};

static void read_format(struct reader *r, struct entry_format *f) {
    f->count = reader_u8(r);
    for (unsigned i = 0; i < f->count; i++) {
        f->content[i] = reader_uleb128(r);
        f->form[i] = reader_uleb128(r);
    }
}

static const char *read_string(struct tables *t, uint64_t form) {
    const struct sections *s = t->source->sections;
    uint8_t size = t->header->offset_size;
    switch (form) {
    case DW_FORM_string:
        return reader_cstr(&t->r, NULL);
    case DW_FORM_line_strp:
        return section_string(s, SECTION_LINE_STR, section_offset(&t->r, size));
    case DW_FORM_strp:
        return section_string(s, SECTION_STR, section_offset(&t->r, size));
    default:
        return NULL;
    }
}

/* A constant, or a value that is passed over. Unknown forms fail the reader: their size is unknown.
 */
static uint64_t read_value(struct tables *t, uint64_t form) {
    struct reader *r = &t->r;
    switch (form) {
    case DW_FORM_udata:
    case DW_FORM_strx:
        return reader_uleb128(r);
    case DW_FORM_data1:
    case DW_FORM_strx1:
        return reader_u8(r);
    case DW_FORM_data2:
    case DW_FORM_strx2:
        return reader_u16(r);
    case DW_FORM_data4:
    case DW_FORM_strx4:
        return reader_u32(r);
    case DW_FORM_data8:
        return reader_u64(r);
    case DW_FORM_data16:
        reader_skip(r, 16);
        return 0;
    case DW_FORM_strx3:
        reader_skip(r, 3);
        return 0;
    case DW_FORM_block:
        reader_skip(r, reader_uleb128(r));
        return 0;
    case DW_FORM_block1:
        reader_skip(r, reader_u8(r));
        return 0;
    case DW_FORM_strp_sup:
        return section_offset(r, t->header->offset_size);
    default:
        reader_skip(r, UINT64_MAX);
        return 0;
    }
}

static bool is_string_form(uint64_t form) {
    return form == DW_FORM_string || form == DW_FORM_line_strp || form == DW_FORM_strp;
}

static struct name read_entry(struct tables *t, const struct entry_format *f) {
    struct name n = {0};
    for (unsigned i = 0; i < f->count; i++) {
        if (is_string_form(f->form[i])) {
            const char *text = read_string(t, f->form[i]);
            if (f->content[i] == DW_LNCT_path) {
                n.text = text;
            }
            continue;
        }
        uint64_t v = read_value(t, f->form[i]);
        if (f->content[i] == DW_LNCT_directory_index) {
            n.folder = v;
        }
    }
    return n;
}

/* A list into `which` = folders or files. */
static enum st read_list_v5(struct tables *t, bool files, struct err *e) {
    struct entry_format f;
    read_format(&t->r, &f);
    uint64_t count = reader_uleb128(&t->r);
    if (!reader_failed(&t->r) && f.count == 0 && count > 0) {
        return damaged(t, "line table entries without a format", e);
    }
    for (uint64_t i = 0; i < count && !reader_failed(&t->r); i++) {
        struct name n = read_entry(t, &f);
        if (reader_failed(&t->r)) {
            break;
        }
        bool kept = files ? VEC_PUSH(&t->files, n) : VEC_PUSH(&t->folders, n);
        if (!kept) {
            return err_nomem(e);
        }
    }
    return reader_check(&t->r, e, files ? "files of the line table" : "folders of the line table");
}

/* ---- paths ---- */

static bool is_absolute(const char *path) {
    return path[0] == '/' || (path[0] && path[1] == ':' && (path[2] == '\\' || path[2] == '/'));
}

/* "a/b", or b alone if it is absolute or a is none; NULL: no memory. Costs the budget. */
static const char *join(struct tables *t, struct arena *arena, const char *a, const char *b) {
    if (!a || !a[0] || is_absolute(b)) {
        return b;
    }
    size_t a_len = strnlen(a, SECTION_STRING_MAX), b_len = strnlen(b, SECTION_STRING_MAX);
    bool slash = a[a_len - 1] != '/';
    size_t len = a_len + slash + b_len;
    if (len > t->path_budget) {
        return NULL;
    }
    t->path_budget -= len;
    char *path = arena_alloc(arena, len + 1);
    if (path) {
        memcpy(path, a, a_len);
        if (slash) {
            path[a_len] = '/';
        }
        memcpy(path + a_len + slash, b, b_len);
    }
    return path;
}

/* Folder 0 is the unit's own: before DWARF 5 it is not in the list; there it stands as it is, not
 * below itself (§6.2.4), which shows where builds call it ".". */
static const char *compose_folder(struct tables *t, struct arena *arena, size_t i) {
    const char *text = t->folders.data[i].text, *own = t->source->comp_dir;
    if (i == 0) {
        return text ? text : own;
    }
    return text ? join(t, arena, own, text) : NULL;
}

/* Folders first, made absolute once, and not once per file. */
static enum st compose(struct tables *t, struct arena *arena, struct line_files *out,
                       struct err *e) {
    for (size_t i = 0; i < t->folders.len; i++) {
        t->folders.data[i].text = compose_folder(t, arena, i);
    }
    out->paths = arena_array(arena, t->files.len, sizeof *out->paths);
    if (!out->paths) {
        return err_nomem(e);
    }
    for (size_t i = 0; i < t->files.len; i++) {
        const struct name *file = &t->files.data[i];
        const char *folder =
            file->folder < t->folders.len ? t->folders.data[file->folder].text : NULL;
        out->paths[i] = file->text && file->text[0] ? join(t, arena, folder, file->text) : NULL;
        out->count = i + 1;
        if (file->text && file->text[0] && !out->paths[i]) {
            return err_set(e, ERR_LIMIT, "paths of the line table need too much memory");
        }
    }
    return ST_OK;
}

/* ---- header ---- */

/* The fixed part, up to the lists. On return r stands behind it and ends with the header. */
static enum st read_fixed(struct reader *r, const struct line_source *source, struct line_header *h,
                          struct err *e) {
    *r = section_reader(source->sections, SECTION_LINE);
    reader_seek(r, source->offset);
    uint64_t length = section_initial_length(r, &h->offset_size);
    struct reader unit = reader_sub(r, length, NULL);
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

enum st line_header_read(const struct line_source *source, struct arena *arena,
                         struct line_header *header, struct line_files *files, struct err *e) {
    struct tables t = {.source = source, .header = header};
    *files = (struct line_files){0};
    *header = (struct line_header){0};
    enum st st = read_fixed(&t.r, source, header, e);
    if (st != ST_OK) {
        return st;
    }
    t.path_budget = PATH_BYTES_FREE + PATH_BYTES_PER_BYTE * reader_left(&t.r);
    if (header->version >= 5) {
        st = read_list_v5(&t, false, e);
        st = st == ST_OK ? read_list_v5(&t, true, e) : st;
    } else {
        st = read_folders_v2(&t, e);
        st = st == ST_OK ? read_files_v2(&t, e) : st;
    }
    enum st composed = compose(&t, arena, files, e);
    tables_release(&t);
    return st != ST_OK ? st : composed;
}
