/* Cuts a stack into pieces, so that equal code gives equal pieces. */
#include "classify/keys/exemplar.h"

#include "base/jsonw.h"
#include "dump/frame_address.h"

enum { NO_IMAGE = -1, IMAGE_UNSET = -2 };

/* No code lies above this address. exemplar_join may add 1 to an address, and JSON readers hold
 * integers up to INT64_MAX. */
static const uint64_t ADDRESS_MAX = INT64_MAX - 1;

struct stack_cut {
    const struct dump *d;
    const struct stall_key *key;
    struct address_rules addresses;
    int32_t image; /* index of the image of the frame before */
    exemplar_take take;
    void *ctx;
    struct strbuf text; /* text of the current piece */
    struct sink sink;
    struct jsonw w;
};

static struct jsonw *begin_piece(struct stack_cut *c) {
    strbuf_clear(&c->text);
    c->sink = sink_to_strbuf(&c->text);
    c->w = jsonw_init(&c->sink);
    jsonw_begin_object(&c->w);
    return &c->w;
}

static bool end_piece(struct stack_cut *c) {
    jsonw_end_object(&c->w);
    return sink_close(&c->sink, NULL) == ST_OK && c->take(c->ctx, c->text.data, c->text.len);
}

/* The facts about a frame of a dump that are written in its piece. */
struct frame_cut {
    const struct dump_location *location; /* NULL = the dump has none */
    const struct dump_name *name;         /* NULL = none came with the dump */
    uint64_t at;   /* offset in the image, or the address of code in no image */
    int32_t image; /* NO_IMAGE: the code is in no image */
    bool exact;
};

static struct frame_cut frame_cut_of(const struct stack_cut *c, const struct dump_stack *s,
                                     size_t i) {
    const struct dump *d = c->d;
    const struct dump_location *l =
        s->locations && s->locations[i] < d->location_count ? &d->locations[s->locations[i]] : NULL;
    uint64_t address = address_of_frame(&c->addresses, s, i), at = address;
    int32_t image = l ? l->image : dump_image_at(d, address);
    bool known = image >= 0 && (size_t)image < d->image_count;
    if (l) {
        at = l->offset;
    } else if (known) {
        at = address - d->images[image].load;
    }
    return (struct frame_cut){.location = l,
                              .name = dump_name_at(d, s->frames[i]),
                              .at = at < ADDRESS_MAX ? at : ADDRESS_MAX,
                              .image = known ? image : NO_IMAGE,
                              .exact = dump_frame_exact(s, i)};
}

/* Writes the member "image" of a piece. */
static void cut_image_member(const struct stack_cut *c, struct jsonw *w, int32_t index) {
    char id[IMAGE_ID_TEXT];
    jsonw_member_object(w, "image");
    if (index != NO_IMAGE) {
        const struct dump_image *image = &c->d->images[index];
        if (image->id.kind != IMAGE_ID_NONE) {
            jsonw_member_cstr(w, image->id.kind == IMAGE_ID_UUID ? "uuid" : "build_id",
                              image_id_text(&image->id, id));
        }
        jsonw_member_cstr(w, "name", image->name);
        jsonw_member_cstr(w, "path", image->path);
        jsonw_member_cstr(w, "arch", image->arch);
        jsonw_member_bool(w, "in_app", image->in_app);
    }
    jsonw_end_object(w);
}

/* Writes a name that came with the dump, in the form that dumps have. */
static void cut_name(struct jsonw *w, const struct dump_name *name) {
    jsonw_member_array(w, "name");
    jsonw_cstr(w, name->symbol);
    jsonw_u64(w, name->offset);
    if (name->file) {
        jsonw_cstr(w, name->file);
        jsonw_u64(w, name->line);
        jsonw_bool(w, name->in_app);
    }
    jsonw_end_array(w);
}

/* Writes a location in the form of dumps, but with texts in place of indexes. The source of the
 * location is written only if it is a report, because a report's names are not believed far from
 * their functions. */
static void cut_location(struct jsonw *w, const struct dump_location *l) {
    jsonw_member_u64(w, "start", l->start);
    if (l->in_app) {
        jsonw_member_bool(w, "in_app", true);
    }
    if (l->source == DUMP_SOURCE_REPORT) {
        jsonw_member_bool(w, "report", true);
    }
    jsonw_member_array(w, "lines");
    for (size_t i = 0; i < l->line_count; i++) {
        const struct dump_line *line = &l->lines[i];
        const char *const texts[] = {line->function, line->linkage, line->file};
        jsonw_begin_array(w);
        for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
            if (texts[k]) {
                jsonw_cstr(w, texts[k]);
            } else {
                jsonw_i64(w, -1);
            }
        }
        jsonw_u64(w, line->line);
        jsonw_end_array(w);
    }
    jsonw_end_array(w);
}

/* Writes the members of a frame's piece. */
static void cut_frame_members(struct jsonw *w, const struct frame_cut *f) {
    jsonw_member_u64(w, "at", f->at);
    if (f->exact) {
        jsonw_member_bool(w, "exact", true);
    }
    if (f->name) {
        cut_name(w, f->name);
    }
    if (f->location) {
        cut_location(w, f->location);
    }
}

/* Writes what is known of a sample besides the stack: how many outer frames it has in common with
 * the stack, and the sample's next frame further in. The image of this frame is told if it is not
 * that of the stack's next frame. */
static void cut_other(const struct stack_cut *c, struct jsonw *w, const struct key_other *o) {
    const struct dump_stack *stack = c->key->stack;
    int32_t image = IMAGE_UNSET;
    jsonw_begin_object(w);
    jsonw_member_u64(w, "shared", o->shared);
    if (o->shared < stack->frame_count) {
        image = frame_cut_of(c, stack, stack->frame_count - 1 - o->shared).image;
    }
    if (o->own < o->stack->frame_count) {
        struct frame_cut f = frame_cut_of(c, o->stack, o->stack->frame_count - 1 - o->own);
        if (f.image != image) {
            cut_image_member(c, w, f.image);
        }
        jsonw_member_object(w, "frame");
        cut_frame_members(w, &f);
        jsonw_end_object(w);
    }
    jsonw_end_object(w);
}

/* Writes the piece that describes the stall: facts besides the stack that are part of the key, or
 * that decide which stack is chosen and which of its frames make up the key. False: out of
 * memory. */
static bool cut_stall(struct stack_cut *c) {
    const struct stall_key *key = c->key;
    struct jsonw *w = begin_piece(c);
    if (key->owner) {
        jsonw_member_object(w, "app");
        jsonw_key(w, "id");
        jsonw_str(w, key->owner, key->owner_len);
        jsonw_end_object(w);
    }
    jsonw_member_object(w, "stall");
    jsonw_member_cstr(w, "kind", c->d->stall.kind);
    jsonw_member_cstr(w, "loop_at", key->loop_at);
    jsonw_member_cstr(w, "action", c->d->stall.action);
    if (c->d->stall.top_thread_name) {
        jsonw_member_object(w, "top_thread");
        jsonw_member_cstr(w, "name", c->d->stall.top_thread_name);
        jsonw_end_object(w);
    }
    jsonw_end_object(w);
    jsonw_member_object(w, "thread");
    jsonw_member_bool(w, "main", true);
    if (dump_is_about_threads(c->d) || dump_nothing_worked(c->d)) {
        jsonw_member_u64(w, "cpu_permille", dump_nothing_worked(c->d) ? 0 : 1000);
    }
    if (key->other_count || key->loop_ran) {
        jsonw_member_cstr(w, "state", "running");
    }
    jsonw_end_object(w);
    if (key->other_count) {
        jsonw_member_array(w, "others");
        for (size_t i = 0; i < key->other_count; i++) {
            cut_other(c, w, &key->others[i]);
        }
        jsonw_end_array(w);
    }
    return end_piece(c);
}

/* Writes the piece of an image, unless the frame before was in the same image. False: out of
 * memory. */
static bool cut_image(struct stack_cut *c, int32_t index) {
    if (index == c->image) {
        return true;
    }
    c->image = index;
    cut_image_member(c, begin_piece(c), index);
    return end_piece(c);
}

static bool cut_frame(struct stack_cut *c, size_t i) {
    struct frame_cut f = frame_cut_of(c, c->key->stack, i);
    if (!cut_image(c, f.image)) {
        return false;
    }
    cut_frame_members(begin_piece(c), &f);
    return end_piece(c);
}

bool exemplar_cut(const struct dump *d, const struct stall_key *key, exemplar_take take,
                  void *ctx) {
    struct stack_cut c = {.d = d,
                          .key = key,
                          .addresses = address_rules_of(d),
                          .image = IMAGE_UNSET,
                          .take = take,
                          .ctx = ctx};
    bool ok = cut_stall(&c);
    for (size_t i = 0; ok && i < key->stack->frame_count; i++) {
        ok = cut_frame(&c, i);
    }
    strbuf_release(&c.text);
    return ok;
}
