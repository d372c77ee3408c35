/* Maps modules to their build-ids. */
#include "flame/image_ids.h"

#include "flame/stacks/frame_name.h"

/* Interns an id as lower-case hex digits without dashes, the form in which pprof writes the UUIDs
 * of Mach-O files, too; an id of zeros as "". SIZE_MAX: out of memory. */
static size_t intern_id(struct map *ids, const struct image_id *id) {
    char text[2 * IMAGE_ID_MAX];
    size_t len = image_id_is_zero(id) ? 0 : id->len;
    for (size_t i = 0; i < len; i++) {
        text[2 * i] = "0123456789abcdef"[id->bytes[i] >> 4];
        text[2 * i + 1] = "0123456789abcdef"[id->bytes[i] & 15];
    }
    return map_intern(ids, text, 2 * len);
}

enum st image_ids_add(struct image_ids *ids, const struct dump *d, struct err *e) {
    struct strbuf name = {0};
    bool ok = map_intern(&ids->ids, "", 0) != SIZE_MAX; /* index 0 stands for an unknown id */
    for (size_t i = 0; i < d->image_count && ok; i++) {
        const char *module = dump_image_name(&d->images[i]);
        if (!module) {
            continue;
        }
        size_t id = intern_id(&ids->ids, &d->images[i].id);
        bool added;
        strbuf_clear(&name);
        frame_name_module(&name, module);
        struct map_entry *m = name.failed || id == SIZE_MAX
                                  ? NULL
                                  : map_put(&ids->names, strbuf_cstr(&name), name.len, id, &added);
        ok = m != NULL;
        if (ok && m->value != id) {
            m->value = 0;
        }
    }
    strbuf_release(&name);
    return ok ? ST_OK : err_nomem(e);
}

const char *image_ids_find(void *ctx, const char *module, size_t len) {
    const struct image_ids *ids = ctx;
    const struct map_entry *m = map_get(&ids->names, module, len);
    return m ? map_string(&ids->ids, m->value) : "";
}

void image_ids_release(struct image_ids *ids) {
    map_release(&ids->names);
    map_release(&ids->ids);
}
