/* Opens the input as a binary and calls all functions of object.h. The results must be as object.h
 * promises; if not, the fuzzer aborts. */
#include <stdlib.h>
#include <string.h>

#include "object/object.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool kept) {
    if (!kept) {
        abort();
    }
}

/* Reads every byte, so that a sanitizer reports memory that does not belong to the object. */
static unsigned touch(const uint8_t *bytes, size_t len) {
    unsigned sum = 0;
    for (size_t i = 0; i < len; i++) {
        sum += bytes[i];
    }
    return sum;
}

static void ask_section(const struct object_slice *s, const char *name) {
    const uint8_t *bytes = NULL;
    size_t len = 0;
    uint64_t address;
    struct err e = {0};
    enum st st = object_section(s, name, &bytes, &len, &address, &e);
    require(err_is(&e) == (st == ST_ERR));
    if (st == ST_OK) {
        require(bytes && len > 0);
        (void)touch(bytes, len);
    }
    const uint64_t *failures = NULL;
    size_t count = 0;
    const char *why = NULL;
    if (object_relocation_failures(s, name, &failures, &count, &why) == ST_OK) {
        require(count > 0 && strlen(why) > 0);
        for (size_t i = 0; i < count; i++) {
            require(failures[i] < len || failures[i] == UINT64_MAX);
            require(i == 0 || failures[i - 1] <= failures[i]);
        }
    }
}

static void ask_sections(const struct object_slice *s) {
    static const char *const names[] = {"debug_info", "debug_abbrev", "debug_line", "debug_str",
                                        "eh_frame"};
    struct object_section_info info;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        ask_section(s, names[i]);
    }
    size_t count = object_section_count(s);
    require(!object_section_info(s, count, &info));
    for (size_t i = 0; i < count && i < 64; i++) {
        require(object_section_info(s, i, &info));
        size_t prefix = strspn(info.name, "._");
        ask_section(s, info.name + prefix);
        ask_section(s, info.name + prefix + (info.name[prefix] == 'z'));
    }
}

static void ask_symbols(const struct object_slice *s) {
    const struct object_symbol *symbols = NULL;
    const uint64_t *starts = NULL;
    size_t count = 0;
    struct err e = {0};
    enum st st = object_symbols(s, &symbols, &count, &e);
    require(err_is(&e) == (st == ST_ERR));
    for (size_t i = 0; st == ST_OK && i < count; i++) {
        require(symbols[i].size > 0 && symbols[i].size <= UINT64_MAX - symbols[i].address);
        require(i == 0 || symbols[i - 1].address < symbols[i].address);
        require(symbols[i].name[0] != '\0' || object_slice_format(s) == OBJECT_MACHO);
    }
    if (st == ST_OK) {
        require(count > 0);
        (void)strlen(symbols[0].name);
        (void)strlen(symbols[count - 1].name);
    }
    err_clear(&e);
    st = object_function_starts(s, &starts, &count, &e);
    require(err_is(&e) == (st == ST_ERR));
    for (size_t i = 1; st == ST_OK && i < count; i++) {
        require(starts[i - 1] < starts[i]);
    }
}

static void ask_extents(const struct object_slice *s) {
    const struct object_extent *extents = NULL;
    size_t count = 0;
    struct err e = {0};
    enum st st = object_function_extents(s, &extents, &count, &e);
    require(err_is(&e) == (st == ST_ERR));
    for (size_t i = 0; st == ST_OK && i < count; i++) {
        require(extents[i].low < extents[i].high);
        require(i == 0 || extents[i - 1].high <= extents[i].low);
    }
}

static void ask_slice(const struct object *o, const struct object_slice *s) {
    const char *name;
    uint32_t crc;
    struct image_id id;
    require(object_slice_by_arch(o, object_slice_arch(s)) != NULL);
    bool found = object_slice_by_id(o, object_slice_id(s)) != NULL;
    require(found != image_id_is_zero(object_slice_id(s)));
    require(object_slice_address_size(s) == 4 || object_slice_address_size(s) == 8);
    (void)object_has_dwarf(s);
    (void)object_has_symbols(s);
    ask_sections(s);
    ask_symbols(s);
    ask_extents(s);
    if (object_debuglink(s, &name, &crc, NULL) == ST_OK) {
        require(strlen(name) > 0);
    }
    if (object_debugaltlink(s, &name, &id, NULL) == ST_OK) {
        require(strlen(name) > 0 && id.len > 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct object *o = NULL;
    struct err e = {0};
    enum st st = object_open_bytes(&o, "input", data, size, &e);
    require(err_is(&e) == (st == ST_ERR));
    if (st == ST_OK) {
        require(object_slice_count(o) > 0);
        for (size_t i = 0; i < object_slice_count(o); i++) {
            ask_slice(o, object_slice(o, i));
        }
    }
    object_close(o);
    return 0;
}
