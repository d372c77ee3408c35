/* Makes a dump of the pieces of a stack. */
#include <jansson.h>
#include <string.h>

#include "base/jsonw.h"
#include "base/vec.h"
#include "classify/keys/exemplar.h"
#include "dump/document.h"

static const size_t NO_FRAME = SIZE_MAX;

enum { FIRST_LOAD = 1 << 16, LOAD_STEP = 1 << 12, NEAR_PASSES = 64 };

/* A frame, and an address at which the process might have had it. */
struct joined_frame {
    json_t *piece; /* borrowed piece of the frame */
    uint64_t at;   /* the frame's address to look up, relative to its image if it has one */
    uint64_t address;
    int64_t image; /* index in joining.images; -1 = none */
    bool exact;
};

struct joined_image {
    json_t *piece;         /* member "image" of the image's piece; borrowed */
    uint64_t extent, load; /* extent: number of bytes of the image up to and with its last frame,
                              0 = no frame is known yet; join_place adds at least one byte, up to
                              whole pages, and sets `load`, the address of the image */
    bool lines;            /* a frame has a line, so there was debug information */
};

/* A sample besides the stack: the stack's `shared` outer frames, and one more further in. */
struct joined_other {
    size_t shared, frame; /* frame: index in joining.frames; NO_FRAME = there is none */
};

struct joining {
    VEC(json_t *) pieces;
    VEC(struct joined_image) images;
    VEC(struct joined_frame) frames; /* frames of the stack, then frames of other samples */
    size_t own;                      /* number of the stack's frames */
    struct joined_other others[KEY_OTHERS_MAX];
    size_t other_count;
    int64_t image; /* image of the frames that follow */
    uint64_t next_string;
    struct jsonw w;
};

static enum st join_wrong(struct err *e) {
    return err_set(e, ERR_FORMAT, "a piece of a stack is malformed");
}

/* Sets j->image to the index of the image in j->images, where a new one is appended; -1: the piece
 * is of code in no image. */
static enum st join_image(struct joining *j, json_t *image, struct err *e) {
    j->image = -1;
    if (!json_is_object(image)) {
        return join_wrong(e);
    }
    if (json_object_size(image) == 0) {
        return ST_OK;
    }
    for (size_t i = 0; i < j->images.len; i++) {
        if (json_equal(j->images.data[i].piece, image)) {
            j->image = (int64_t)i;
            return ST_OK;
        }
    }
    j->image = (int64_t)j->images.len;
    struct joined_image made = {.piece = image};
    return VEC_PUSH(&j->images, made) ? ST_OK : err_nomem(e);
}

/* Does the piece of a frame have a line of a source file? */
static bool joined_has_line(const json_t *piece) {
    const json_t *lines = json_object_get(piece, "lines");
    for (size_t i = 0; i < json_array_size(lines); i++) {
        if (json_is_string(json_array_get(json_array_get(lines, i), 2))) {
            return true;
        }
    }
    return false;
}

static enum st join_frame(struct joining *j, json_t *piece, struct err *e) {
    json_t *at = json_object_get(piece, "at");
    struct joined_frame frame = {.piece = piece,
                                 .at = (uint64_t)json_integer_value(at), /* checked below */
                                 .image = j->image,
                                 .exact = json_is_true(json_object_get(piece, "exact"))};
    if (!json_is_integer(at) || json_integer_value(at) < 0) {
        return join_wrong(e);
    }
    if (frame.image >= 0 && j->images.data[frame.image].extent <= frame.at) {
        j->images.data[frame.image].extent = frame.at + 1;
    }
    if (frame.image >= 0 && joined_has_line(piece)) {
        j->images.data[frame.image].lines = true;
    }
    return VEC_PUSH(&j->frames, frame) ? ST_OK : err_nomem(e);
}

/* Returns the first load address from `load` on at which an image of this size covers no frame of
 * code outside of images. After NEAR_PASSES passes the search gives up, and the last address is
 * returned. */
static uint64_t free_load(const struct joining *j, uint64_t load, uint64_t extent) {
    bool moved = true;
    for (int pass = 0; moved && pass < NEAR_PASSES; pass++) {
        moved = false;
        for (size_t i = 0; i < j->frames.len; i++) {
            const struct joined_frame *f = &j->frames.data[i];
            if (f->image < 0 && f->at >= load && f->at - load <= extent) {
                load = (f->at / LOAD_STEP + 1) * LOAD_STEP;
                moved = true;
            }
        }
    }
    return load;
}

/* Places the images one after the other, and computes the frames' addresses. Sums of very large
 * offsets wrap around; a stack with such offsets may get other keys than its dump. */
static void join_place(struct joining *j) {
    uint64_t load = FIRST_LOAD;
    for (size_t i = 0; i < j->images.len; i++) {
        struct joined_image *image = &j->images.data[i];
        image->extent = (image->extent / LOAD_STEP + 1) * LOAD_STEP;
        image->load = load = free_load(j, load, image->extent);
        load += image->extent;
    }
    for (size_t i = 0; i < j->frames.len; i++) {
        struct joined_frame *f = &j->frames.data[i];
        uint64_t base = f->image < 0 ? 0 : j->images.data[f->image].load;
        f->address = base + f->at + !f->exact;
    }
}

/* ---- writing ---- */

static int join_bytes(const char *bytes, size_t len, void *ctx) {
    sink_write(ctx, bytes, len);
    return 0;
}

static enum st join_value(struct joining *j, const char *key, json_t *value, struct err *e) {
    if (key) {
        jsonw_key(&j->w, key);
    }
    jsonw_raw(&j->w, "", 0); /* writes the comma in front of the value, if one is needed */
    return json_dump_callback(value, join_bytes, j->w.sink, JSON_COMPACT | JSON_ENCODE_ANY) == 0
               ? ST_OK
               : err_nomem(e);
}

/* Writes all members of an object. */
static enum st join_members(struct joining *j, json_t *object, struct err *e) {
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value) {
        if (join_value(j, key, value, e) != ST_OK) {
            return ST_ERR;
        }
    }
    return ST_OK;
}

static enum st join_images(struct joining *j, struct err *e) {
    jsonw_member_array(&j->w, "images");
    for (size_t i = 0; i < j->images.len; i++) {
        jsonw_begin_object(&j->w);
        if (join_members(j, j->images.data[i].piece, e) != ST_OK) {
            return ST_ERR;
        }
        jsonw_member_u64(&j->w, "load", j->images.data[i].load);
        jsonw_member_u64(&j->w, "size", j->images.data[i].extent);
        if (j->images.data[i].lines) {
            jsonw_member_cstr(&j->w, "symbols", "ok");
        }
        jsonw_end_object(&j->w);
    }
    jsonw_end_array(&j->w);
    return ST_OK;
}

/* Writes the frames of a stack: first frame `inner`, unless that is NO_FRAME, then those of the
 * stack from `from` on. */
static void exemplar_join_stack(struct joining *j, size_t inner, size_t from, bool located) {
    static const char *const names[] = {"frames", "exact", "locations"};
    struct jsonw *w = &j->w;
    bool first = inner != NO_FRAME;
    for (int what = 0; what < (located ? 3 : 2); what++) {
        jsonw_member_array(w, names[what]);
        for (size_t k = 0; k < first + j->own - from; k++) {
            size_t at = first && k == 0 ? inner : from + k - first;
            const struct joined_frame *f = &j->frames.data[at];
            if (what == 0) {
                jsonw_u64(w, f->address);
            } else if (what == 2) {
                jsonw_u64(w, at);
            } else if (f->exact) {
                jsonw_u64(w, k);
            }
        }
        jsonw_end_array(w);
    }
}

static enum st join_thread(struct joining *j, bool located, struct err *e) {
    struct jsonw *w = &j->w;
    jsonw_member_array(w, "threads");
    jsonw_begin_object(w);
    if (join_members(j, json_object_get(j->pieces.data[0], "thread"), e) != ST_OK) {
        return ST_ERR;
    }
    exemplar_join_stack(j, NO_FRAME, 0, located);
    jsonw_end_object(w);
    jsonw_end_array(w);
    return ST_OK;
}

/* Writes the samples, if there are others than the stack, which comes last as the newest one. */
static void join_samples(struct joining *j, bool located) {
    struct jsonw *w = &j->w;
    if (j->other_count == 0) {
        return;
    }
    jsonw_member_object(w, "samples");
    jsonw_member_array(w, "stacks");
    for (size_t i = 0; i <= j->other_count; i++) {
        jsonw_begin_object(w);
        jsonw_member_u64(w, "count", 0);
        if (i < j->other_count) {
            exemplar_join_stack(j, j->others[i].frame, j->own - j->others[i].shared, located);
        } else {
            exemplar_join_stack(j, NO_FRAME, 0, located);
        }
        jsonw_end_object(w);
    }
    jsonw_end_array(w);
    jsonw_end_object(w);
}

static enum st join_names(struct joining *j, struct err *e) {
    jsonw_member_object(&j->w, "names");
    for (size_t i = 0; i < j->frames.len; i++) {
        json_t *name = json_object_get(j->frames.data[i].piece, "name");
        char address[DECIMAL_MAX + 1] = "";
        if (name) {
            address[decimal_put(address, j->frames.data[i].address)] = '\0';
            if (join_value(j, address, name, e) != ST_OK) {
                return ST_ERR;
            }
        }
    }
    jsonw_end_object(&j->w);
    return ST_OK;
}

/* Writes the strings to which the lines of the frames refer, in their order. */
static enum st join_strings(struct joining *j, struct err *e) {
    jsonw_member_array(&j->w, "strings");
    for (size_t i = 0; i < j->frames.len; i++) {
        json_t *lines = json_object_get(j->frames.data[i].piece, "lines");
        for (size_t k = 0; k < json_array_size(lines); k++) {
            json_t *line = json_array_get(lines, k);
            for (size_t n = 0; n < json_array_size(line); n++) {
                json_t *text = json_array_get(line, n);
                if (json_is_string(text) && join_value(j, NULL, text, e) != ST_OK) {
                    return ST_ERR;
                }
            }
        }
    }
    jsonw_end_array(&j->w);
    return ST_OK;
}

static void join_lines(struct joining *j, json_t *lines) {
    jsonw_member_array(&j->w, "lines");
    for (size_t k = 0; k < json_array_size(lines); k++) {
        json_t *line = json_array_get(lines, k);
        jsonw_begin_array(&j->w);
        for (size_t n = 0; n < json_array_size(line); n++) {
            json_t *value = json_array_get(line, n);
            jsonw_i64(&j->w, json_is_string(value) ? (int64_t)j->next_string++
                                                   : json_integer_value(value));
        }
        jsonw_u64(&j->w, 0); /* the column, which no key uses */
        jsonw_end_array(&j->w);
    }
    jsonw_end_array(&j->w);
}

/* Writes the source of a location's names: "report" if the piece says so, else "learned", whatever
 * the source was in the dump; nothing if the location has no names. A symbol file or a better name
 * can replace either later, unless a line of the image has a file, because join_images then writes
 * "symbols":"ok". */
static void join_source(struct jsonw *w, const json_t *piece) {
    if (json_is_true(json_object_get(piece, "report"))) {
        jsonw_member_cstr(w, "source", "report");
    } else if (json_array_size(json_object_get(piece, "lines")) > 0) {
        jsonw_member_cstr(w, "source", "learned");
    }
}

static enum st join_locations(struct joining *j, struct err *e) {
    jsonw_member_array(&j->w, "locations");
    for (size_t i = 0; i < j->frames.len; i++) {
        const struct joined_frame *f = &j->frames.data[i];
        json_t *start = json_object_get(f->piece, "start");
        jsonw_begin_object(&j->w);
        jsonw_member_i64(&j->w, "image", f->image);
        jsonw_member_u64(&j->w, "offset", f->at);
        if (start && join_value(j, "start", start, e) != ST_OK) {
            return ST_ERR;
        }
        jsonw_member_bool(&j->w, "in_app", json_is_true(json_object_get(f->piece, "in_app")));
        join_lines(j, json_object_get(f->piece, "lines"));
        join_source(&j->w, f->piece);
        jsonw_end_object(&j->w);
    }
    jsonw_end_array(&j->w);
    return ST_OK;
}

static enum st join_document(struct joining *j, struct err *e) {
    bool located = j->frames.len > 0;
    for (size_t i = 0; i < j->frames.len; i++) {
        located = located && json_object_get(j->frames.data[i].piece, "lines") != NULL;
    }
    join_place(j);
    jsonw_begin_object(&j->w);
    jsonw_member_cstr(&j->w, "format", "stall-dump/1");
    json_t *app = json_object_get(j->pieces.data[0], "app");
    if (app && join_value(j, "app", app, e) != ST_OK) {
        return ST_ERR;
    }
    enum st st = join_value(j, "stall", json_object_get(j->pieces.data[0], "stall"), e);
    st = st == ST_OK ? join_images(j, e) : st;
    st = st == ST_OK ? join_thread(j, located, e) : st;
    if (st == ST_OK) {
        join_samples(j, located);
    }
    st = st == ST_OK ? join_names(j, e) : st;
    if (located) {
        st = st == ST_OK ? join_strings(j, e) : st;
        st = st == ST_OK ? join_locations(j, e) : st;
    }
    if (st == ST_OK) {
        jsonw_end_object(&j->w);
    }
    return st;
}

/* ---- pieces ---- */

static enum st join_read(struct joining *j, const char *text, struct err *e) {
    const struct document_options strict = {.long_numbers = true};
    json_t *piece = NULL;
    enum st st = document_load(&piece, text, strlen(text), &strict, e);
    if (st != ST_OK) {
        return st == ST_NONE ? join_wrong(e) : st;
    }
    if (!VEC_PUSH(&j->pieces, piece)) {
        json_decref(piece);
        return err_nomem(e);
    }
    if (j->pieces.len == 1) {
        return json_is_object(json_object_get(piece, "stall")) &&
                       json_is_object(json_object_get(piece, "thread"))
                   ? ST_OK
                   : join_wrong(e);
    }
    json_t *image = json_object_get(piece, "image");
    return image ? join_image(j, image, e) : join_frame(j, piece, e);
}

/* Reads a sample besides the stack; the stack's frames were read before. */
static enum st join_other(struct joining *j, json_t *piece, struct err *e) {
    json_t *shared = json_object_get(piece, "shared"), *image = json_object_get(piece, "image");
    json_t *frame = json_object_get(piece, "frame");
    struct joined_other *o = &j->others[j->other_count];
    if (!json_is_integer(shared) || json_integer_value(shared) < 0 ||
        (uint64_t)json_integer_value(shared) > j->own) {
        return join_wrong(e);
    }
    o->shared = (size_t)json_integer_value(shared);
    o->frame = frame ? j->frames.len : NO_FRAME;
    j->image = o->shared < j->own ? j->frames.data[j->own - 1 - o->shared].image : -1;
    j->other_count++;
    if (image && join_image(j, image, e) != ST_OK) {
        return ST_ERR;
    }
    if (!frame) {
        return ST_OK;
    }
    return j->own ? join_frame(j, frame, e) : join_wrong(e);
}

static enum st join_others(struct joining *j, struct err *e) {
    json_t *others = json_object_get(j->pieces.data[0], "others");
    enum st st = ST_OK;
    j->own = j->frames.len;
    if (json_array_size(others) > KEY_OTHERS_MAX) {
        return join_wrong(e);
    }
    for (size_t i = 0; st == ST_OK && i < json_array_size(others); i++) {
        st = join_other(j, json_array_get(others, i), e);
    }
    return st;
}

enum st exemplar_join(const char *const *pieces, size_t count, struct strbuf *out, struct err *e) {
    struct sink sink = sink_to_strbuf(out);
    struct joining j = {.image = -1, .w = jsonw_init(&sink)};
    enum st st = count ? ST_OK : join_wrong(e);
    for (size_t i = 0; st == ST_OK && i < count; i++) {
        st = join_read(&j, pieces[i], e);
    }
    st = st == ST_OK ? join_others(&j, e) : st;
    st = st == ST_OK ? join_document(&j, e) : st;
    for (size_t i = 0; i < j.pieces.len; i++) {
        json_decref(j.pieces.data[i]);
    }
    VEC_RELEASE(&j.pieces);
    VEC_RELEASE(&j.images);
    VEC_RELEASE(&j.frames);
    return sink_close(&sink, e) == ST_OK ? st : ST_ERR;
}
