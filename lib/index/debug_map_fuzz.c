/* Takes any bytes as a linked Mach-O file, and others as the object file of its debug map; a length
 * of four bytes comes first. Every kind of address is looked up, and answers must keep the promises
 * of lookup.h. */
#include <stdlib.h>
#include <string.h>

#include "debug/debug.h"
#include "index/lookup.h"
#include "index/lookup_support_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum st no_package(void *ctx, const struct object_slice *s, const struct object_slice **out,
                          struct err *e) {
    (void)ctx, (void)s, (void)out, (void)e;
    return ST_NONE;
}

static enum st no_file(void *ctx, const struct object_slice *s, const char *name,
                       const char *comp_dir, const struct object_slice **out, struct err *e) {
    (void)ctx, (void)s, (void)name, (void)comp_dir, (void)out, (void)e;
    return ST_NONE;
}

/* Gives the one object file, whatever the debug map names. */
static enum st the_object(void *ctx, const struct object_slice *s,
                          const struct debug_object_name *name, const struct object_slice **out,
                          struct err *e) {
    (void)name, (void)e;
    *out = object_slice_by_arch(ctx, object_slice_arch(s));
    return *out ? ST_OK : ST_NONE;
}

static enum st always_found(void *ctx, const struct object_slice *s,
                            const struct debug_object_name *name, enum debug_object_state *state,
                            struct err *e) {
    (void)ctx, (void)s, (void)e;
    (void)touch(name->path);
    *state = DEBUG_OBJECT_FOUND;
    return ST_OK;
}

static void ask_map(const struct object_slice *s, struct object *file) {
    const struct debug_split_finder finder = {file, no_package, no_file, the_object, always_found};
    const struct debug_others others = {.split = &finder};
    struct lookup_source *source;
    struct err e = {0};
    if (lookup_open_live(&source, s, NULL, &others, NULL, NULL, &e) != ST_OK) {
        return;
    }
    ask_everywhere(source, s);
    lookup_close(source);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct object *linked = NULL, *file = NULL;
    uint32_t len;
    if (size < sizeof len) {
        return 0;
    }
    memcpy(&len, data, sizeof len);
    data += sizeof len;
    size -= sizeof len;
    size_t first = len < size ? len : size;
    if (object_open_bytes(&linked, "linked", data, first, NULL) == ST_OK &&
        object_open_bytes(&file, "object", data + first, size - first, NULL) == ST_OK) {
        for (size_t i = 0; i < object_slice_count(linked); i++) {
            ask_map(object_slice(linked, i), file);
        }
    }
    object_close(file);
    object_close(linked);
    return 0;
}
