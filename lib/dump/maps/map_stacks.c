/* Reads images, threads and frames by the paths of a map. */
#include "dump/maps/map_stacks.h"

#include <string.h>

#include "base/parse.h"
#include "base/path.h"

void map_stacks_release(struct map_stacks *s) {
    map_release(&s->by_key);
    map_release(&s->by_name);
    number_map_release(&s->nodes);
    VEC_RELEASE(&s->images);
    VEC_RELEASE(&s->frames);
    VEC_RELEASE(&s->threads);
}

/* ---- images ---- */

/* Adds a key by which an image is found: 'u' and its id, 'n' and its name, 'l' and its load
 * address, 'i' and its number in the document's lists, 'm' and the name of a made-up image, or 'o'
 * and the index of another image for the image that holds that one's addresses. If an earlier image
 * has the key, the earlier one keeps it. */
static bool put_key(struct map_stacks *s, char kind, const void *bytes, size_t len, size_t image) {
    struct strbuf key = {0};
    strbuf_addc(&key, kind);
    strbuf_add(&key, bytes, len);
    bool ok = !key.failed && map_put(&s->by_key, key.data, key.len, image, NULL) != NULL;
    strbuf_release(&key);
    s->r->no_memory = s->r->no_memory || !ok;
    return ok;
}

size_t map_stacks_find(struct map_stacks *s, char kind, const void *bytes, size_t len) {
    struct strbuf key = {0};
    strbuf_addc(&key, kind);
    strbuf_add(&key, bytes, len);
    s->r->no_memory = s->r->no_memory || key.failed;
    const struct map_entry *entry = key.failed ? NULL : map_get(&s->by_key, key.data, key.len);
    strbuf_release(&key);
    return entry ? entry->value : SIZE_MAX;
}

/* Adds the keys of an image other than 'i'; an unplaced image has only 'o', a made-up one only 'm'.
 * False: out of memory. */
static bool note_keys(struct map_stacks *s, size_t at) {
    const struct map_image *image = &s->images.data[at];
    char id[IMAGE_ID_TEXT];
    bool ok = true;
    if (image->image.unplaced) {
        return put_key(s, 'o', &image->origin, sizeof image->origin, at);
    }
    if (image->made_up) {
        return put_key(s, 'm', image->image.name, strlen(image->image.name), at);
    }
    if (!image_id_is_zero(&image->image.id)) {
        image_id_text(&image->image.id, id);
        ok = put_key(s, 'u', id, strlen(id), at);
    }
    if (image->image.name) {
        ok = ok && put_key(s, 'n', image->image.name, strlen(image->image.name), at);
    }
    if (image->placed) {
        ok = ok && put_key(s, 'l', &image->image.load, sizeof image->image.load, at);
    }
    return ok;
}

/* Adds an image and returns its index; SIZE_MAX: out of memory, or too many images. */
size_t map_stacks_new_image(struct map_stacks *s, const struct map_image *image) {
    if (s->images.len >= DUMP_IMAGES_MAX) {
        err_set(s->r->e, ERR_LIMIT, "more than %d images", DUMP_IMAGES_MAX);
        return SIZE_MAX;
    }
    if (!VEC_PUSH(&s->images, *image)) {
        err_nomem(s->r->e);
        return SIZE_MAX;
    }
    return note_keys(s, s->images.len - 1) ? s->images.len - 1 : SIZE_MAX;
}

static void map_read_id(struct map_stacks *s, enum map_field_id uuid, enum map_field_id build,
                        const json_t *object, struct image_id *out) {
    enum { UUID_TEXT = 36 };
    struct value_text text;
    if (map_field_text(s->r, s->map, uuid, object, &text)) {
        /* Breakpad appends the age to the UUID: "-0", or a digit. */
        size_t len = text.len > UUID_TEXT && text.s[UUID_TEXT] == '-' ? UUID_TEXT : text.len;
        (void)parse_uuid(text.s, len, out);
    } else if (map_field_text(s->r, s->map, build, object, &text)) {
        (void)parse_build_id(text.s, text.len, out);
    }
}

/* Does the object have a value for this flag, which says whether an image or frame belongs to the
 * app? *flag is set to the value, or to false if there is none. */
static bool flag_told(struct map_stacks *s, enum map_field_id id, const json_t *object,
                      bool *flag) {
    struct value_text text;
    bool told = map_field_text(s->r, s->map, id, object, &text);
    *flag = told && map_field_true(s->r, s->map, id, object);
    s->app_told = s->app_told || told;
    return told;
}

enum st map_stacks_add_image(struct map_stacks *s, const json_t *object, uint64_t index) {
    struct map_image image = {0};
    struct report_image *i = &image.image;
    map_read_id(s, FIELD_IMAGE_UUID, FIELD_IMAGE_BUILD_ID, object, &i->id);
    i->path = map_field_string(s->r, s->map, FIELD_IMAGE_PATH, object);
    i->name = map_field_string(s->r, s->map, FIELD_IMAGE_NAME, object);
    i->name = path_name(i->name ? i->name : i->path);
    i->arch = map_field_string(s->r, s->map, FIELD_IMAGE_ARCH, object);
    image.placed = map_field_address(s->r, s->map, FIELD_IMAGE_LOAD, object, &i->load);
    i->load = image.placed ? report_strip(s->r, i->load) : 0;
    image.told = image.placed;
    if (!map_field_address(s->r, s->map, FIELD_IMAGE_SIZE, object, &i->size)) {
        i->size = 0;
    }
    (void)flag_told(s, FIELD_IMAGE_IN_APP, object, &i->in_app);
    if (!i->name && image_id_is_zero(&i->id)) {
        return ST_OK;
    }
    size_t at = image.placed ? map_stacks_find(s, 'l', &i->load, sizeof i->load) : SIZE_MAX;
    at = at == SIZE_MAX ? map_stacks_new_image(s, &image) : at;
    return at != SIZE_MAX && put_key(s, 'i', &index, sizeof index, at) ? ST_OK : ST_ERR;
}

/* Returns the index of the image that a frame names, adding it if it is new; SIZE_MAX: the frame
 * names none, or *failed. */
static size_t frame_image(struct map_stacks *s, const json_t *frame, bool *failed) {
    struct map_image image = {0};
    struct report_image *i = &image.image;
    char id[IMAGE_ID_TEXT];
    uint64_t index;
    size_t at = SIZE_MAX;
    if (map_field_address(s->r, s->map, FIELD_FRAME_IMAGE_INDEX, frame, &index)) {
        at = map_stacks_find(s, 'i', &index, sizeof index);
    }
    if (at != SIZE_MAX) {
        return at;
    }
    i->path = map_field_string(s->r, s->map, FIELD_FRAME_IMAGE, frame);
    i->name = path_name(i->path);
    i->path = i->path && strchr(i->path, '/') ? i->path : NULL;
    map_read_id(s, FIELD_FRAME_UUID, FIELD_FRAME_BUILD_ID, frame, &i->id);
    image.placed = map_field_address(s->r, s->map, FIELD_FRAME_LOAD, frame, &i->load);
    /* Some tools write "0x0" for a load address that they do not know. */
    image.told = image.placed = image.placed && i->load != 0;
    if (image.placed) {
        i->load = report_strip(s->r, i->load);
        at = map_stacks_find(s, 'l', &i->load, sizeof i->load);
    } else if (!image_id_is_zero(&i->id)) {
        image_id_text(&i->id, id);
        at = map_stacks_find(s, 'u', id, strlen(id));
    } else if (i->name) {
        at = map_stacks_find(s, 'n', i->name, strlen(i->name));
    }
    bool nameless = !i->name && image_id_is_zero(&i->id) && !image.placed;
    if (at == SIZE_MAX && !nameless) {
        at = map_stacks_new_image(s, &image);
        *failed = at == SIZE_MAX;
    }
    return at;
}

/* ---- frames ---- */

/* Reads the symbol, file and line of a frame, and the address's offset in the symbol. */
static void map_read_symbol(struct map_stacks *s, const json_t *frame, bool has_address,
                            struct map_frame *f) {
    uint64_t number;
    f->symbol = map_field_string(s->r, s->map, FIELD_FRAME_SYMBOL, frame);
    if (f->symbol && parse_address(f->symbol, strlen(f->symbol), &number)) {
        /* The symbol is only an address, which tools write for an unknown function. */
        f->symbol = NULL;
    }
    f->file = map_field_string(s->r, s->map, FIELD_FRAME_FILE, frame);
    if (map_field_address(s->r, s->map, FIELD_FRAME_LINE, frame, &number) && number > 0 &&
        number <= UINT32_MAX) {
        f->line = (uint32_t)number;
    }
    f->file = f->line > 0 ? f->file : NULL;
    if (map_field_address(s->r, s->map, FIELD_FRAME_SYMBOL_OFFSET, frame, &number)) {
        f->symbol_offset = number;
    } else if (has_address &&
               map_field_address(s->r, s->map, FIELD_FRAME_SYMBOL_ADDRESS, frame, &number)) {
        number = report_strip(s->r, number);
        f->symbol_offset = number > 0 && number <= f->address ? f->address - number : 0;
    }
}

/* Computes an image's load address from a frame that gives both an address and an offset. The image
 * becomes unsure if its frames disagree, or if the load address is negative or no multiple of
 * 4096. */
static void map_note_load(struct map_image *image, const struct map_frame *f) {
    uint64_t load = f->address - f->offset;
    if (f->address < f->offset || load % 4096 != 0) {
        image->unsure = true;
    } else if (!image->placed) {
        image->image.load = load;
        image->placed = true;
    } else {
        image->unsure = image->unsure || image->image.load != load;
    }
}

enum st map_stacks_read_frame(struct map_stacks *s, const json_t *object) {
    struct map_frame f = {.image = SIZE_MAX};
    bool failed = false;
    bool has_address = map_field_address(s->r, s->map, FIELD_FRAME_ADDRESS, object, &f.address);
    bool has_offset = map_field_address(s->r, s->map, FIELD_FRAME_OFFSET, object, &f.offset) &&
                      f.offset < MAP_OFFSET_END;
    f.offset = has_offset ? f.offset : 0;
    f.address = has_address ? report_strip(s->r, f.address) : 0;
    has_address = has_address && f.address > 0;
    map_read_symbol(s, object, has_address, &f);
    bool told = flag_told(s, FIELD_FRAME_IN_APP, object, &f.in_app);
    f.image = frame_image(s, object, &failed);
    if (failed) {
        return ST_ERR;
    }
    struct map_image *image = f.image == SIZE_MAX ? NULL : &s->images.data[f.image];
    if (has_address) {
        f.kind = FRAME_ABSOLUTE;
        if (image && has_offset && !image->told) {
            map_note_load(image, &f);
        }
    } else if (image && has_offset) {
        f.kind = FRAME_RELATIVE;
    } else if (f.symbol || f.file) {
        f.symbol = f.symbol ? f.symbol : "<anonymous>"; /* the frame's source file is known */
        f.kind = FRAME_NAMED;
    }
    if (image && told) {
        image->image.in_app = image->image.in_app || f.in_app;
    }
    return VEC_PUSH(&s->frames, f) ? ST_OK : err_nomem(s->r->e);
}
