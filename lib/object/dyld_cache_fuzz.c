/* The input is the files of a dyld cache, as scripts/gen/dyld-cache --seeds puts them into one: for
 * each a byte with the length of its suffix, the suffix, its size as u32, its bytes. Opens the
 * cache and all images; a promise of dyld_cache.h or object.h that is not kept ends in abort. */
#include <stdlib.h>
#include <string.h>

#include "base/reader.h"
#include "object/dyld_cache.h"
#include "object/object.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char CACHE[] = "cache";

struct fuzz_files {
    const uint8_t *data;
    size_t size;
};

static void assure(bool kept) {
    if (!kept) {
        abort();
    }
}

static enum st read_from_input(void *ctx, const char *path, struct filemap *out, struct err *e) {
    const struct fuzz_files *f = ctx;
    struct reader r = reader_init("input", f->data, f->size);
    const char *suffix = path + sizeof CACHE - 1;
    while (reader_left(&r) > 0) {
        size_t suffix_len = reader_u8(&r);
        const uint8_t *own = reader_bytes(&r, suffix_len);
        uint32_t size = reader_u32(&r);
        if (size > reader_left(&r)) {
            size = (uint32_t)reader_left(&r); /* the last file may be cut */
        }
        const uint8_t *bytes = reader_bytes(&r, size);
        if (reader_failed(&r) || strlen(suffix) != suffix_len ||
            memcmp(own, suffix, suffix_len) != 0) {
            continue;
        }
        uint8_t *copy = malloc(size + 1u);
        if (!copy) {
            return err_nomem(e);
        }
        memcpy(copy, bytes, size);
        *out = (struct filemap){.data = copy, .size = size};
        return ST_OK;
    }
    return ST_NONE;
}

static void hear(void *ctx, const char *path, const struct err *why) {
    (void)ctx;
    assure(path && err_is(why));
}

static void ask_image(const struct dyld_cache *c, size_t i) {
    const struct dyld_cache_image *image = dyld_cache_image(c, i);
    struct object *o = NULL;
    struct err e = {0};
    enum st st = dyld_cache_open_image(c, i, &o, &e);
    assure(st != ST_NONE && err_is(&e) == (st == ST_ERR));
    if (st == ST_ERR) {
        return;
    }
    const struct object_slice *s = object_slice(o, 0);
    const struct object_symbol *symbols = NULL;
    size_t count = 0;
    assure(object_slice_count(o) == 1 && object_slice_base(s) == 0);
    assure(strcmp(object_slice_arch(s), image->arch) == 0);
    st = object_symbols(s, &symbols, &count, &e);
    for (size_t k = 0; st == ST_OK && k < count; k++) {
        assure(symbols[k].size > 0 && symbols[k].address < object_slice_text_end(s));
        assure(strcmp(symbols[k].name, "<redacted>") != 0);
    }
    object_close(o);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct fuzz_files files = {data, size};
    struct dyld_cache *c = NULL;
    struct err e = {0};
    enum st st = dyld_cache_open_from(&c, CACHE, read_from_input, hear, &files, &e);
    assure(st != ST_NONE && err_is(&e) == (st == ST_ERR));
    for (size_t i = 0; st == ST_OK && i < dyld_cache_image_count(c); i++) {
        assure(dyld_cache_image(c, i)->path && dyld_cache_image(c, i)->arch);
        ask_image(c, i);
    }
    dyld_cache_close(c);
    return 0;
}
