/* Takes any bytes as an object file, or else as bare DWARF sections: every unit is read, and
 * addresses are looked up. What a unit returns must be in order, as debug.h promises. */
#include <stdlib.h>
#include <string.h>

#include "debug/find_units_test.h"
#include "debug/debug_private.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void insist(bool condition) {
    if (!condition) {
        abort();
    }
}

static void check_function(const struct debug_unit *u, const struct debug_function *f,
                           unsigned depth) {
    insist(depth < DIE_DEPTH_MAX && f->range_count > 0);
    insist(f->decl_file < u->path_count || f->decl_file == DEBUG_NO_FILE);
    for (size_t i = 0; i < f->range_count; i++) {
        insist(f->ranges[i].low < f->ranges[i].high);
        insist(i == 0 || f->ranges[i].low > f->ranges[i - 1].high);
    }
    for (size_t i = 0; i < f->child_count; i++) {
        insist(i == 0 || f->children[i].ranges[0].low >= f->children[i - 1].ranges[0].low);
        check_function(u, &f->children[i], depth + 1);
    }
}

static void check_paths(const struct debug_unit *u) {
    insist(u->file_count <= u->path_count);
    for (size_t i = 0; i < u->path_count; i++) {
        insist(!u->files[i] || strlen(u->files[i]) > 0);
        insist(u->files[i] || i < u->file_count);
    }
}

static void check_rows(const struct debug_unit *u) {
    for (size_t i = 0; i < u->sequence_count; i++) {
        const struct debug_sequence *s = &u->sequences[i];
        insist(s->last > s->first && s->last < u->row_count);
        insist(s->low == u->rows[s->first].address && s->high == u->rows[s->last].address);
        insist(s->low < s->high && u->rows[s->last].end_sequence);
        insist(i == 0 || s[-1].low <= s->low);
        for (size_t k = s->first; k < s->last; k++) {
            insist(!u->rows[k].end_sequence && u->rows[k + 1].address >= u->rows[k].address);
        }
    }
}

static void read_all(struct debug *d) {
    for (size_t i = 0; i < debug_unit_count(d); i++) {
        struct debug_unit u = {0};
        struct err e = {0};
        if (debug_read_unit(d, i, &u, &e) != ST_OK) {
            insist(err_is(&e));
            continue;
        }
        for (size_t k = 0; k < u.function_count; k++) {
            check_function(&u, &u.functions[k], 0);
        }
        check_paths(&u);
        check_rows(&u);
        size_t found;
        if (u.function_count > 0) {
            (void)!debug_find_unit(d, u.functions[0].entry, &found, &e);
        }
        debug_unit_release(&u);
    }
}

static void try_object(const uint8_t *data, size_t size) {
    struct object *o;
    struct err e = {0};
    if (object_open_bytes(&o, "fuzz", data, size, &e) != ST_OK) {
        return;
    }
    for (size_t i = 0; i < object_slice_count(o); i++) {
        struct debug *d;
        err_clear(&e);
        if (debug_open(&d, object_slice(o, i), NULL, NULL, NULL, &e) == ST_OK) {
            read_all(d);
            debug_close(d);
        }
    }
    object_close(o);
}

/* Takes flags, then for each section its length (16 bits) and bytes, which are copied so that a
 * sanitizer knows where they end. */
static void try_sections(const uint8_t *data, size_t size) {
    struct reader r = reader_init("fuzz", data, size);
    struct sections s = {.file = "fuzz"};
    struct debug *d;
    struct err e = {0};
    uint8_t flags = reader_u8(&r);
    s.big_endian = flags & 1;
    s.address_size = flags & 2 ? 4 : 8;
    for (int i = 0; i < SECTION_COUNT; i++) {
        size_t len = reader_u16(&r);
        len = len < reader_left(&r) ? len : reader_left(&r);
        const uint8_t *bytes = reader_bytes(&r, len);
        uint8_t *copy = len ? malloc(len) : NULL;
        for (size_t k = 0; copy && k < len; k++) {
            copy[k] = bytes[k];
        }
        s.of[i] = (struct section_bytes){.data = copy, .len = copy ? len : 0};
    }
    struct debug_setup setup = {.sections = &s, .planless = (flags & 4) != 0};
    if (s.of[SECTION_INFO].len > 0 && debug_open_sections(&d, &setup, &e) == ST_OK) {
        read_all(d);
        debug_close(d);
    }
    for (int i = 0; i < SECTION_COUNT; i++) {
        free((void *)(uintptr_t)s.of[i].data);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    try_object(data, size);
    try_sections(data, size);
    return 0;
}
