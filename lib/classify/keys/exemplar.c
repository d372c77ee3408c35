/* A dump cut down to one stack. */
#include "classify/keys/exemplar.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/jsonw.h"
#include "dump/frame_address.h"

/* Renumbers what the stack refers to: index + 1 for used items, 0 for the rest, until `number`
 * gives the used ones their numbers in the cut-down dump, in the same order. */
struct cut {
    const struct dump *d;
    const struct dump_stack *stack;
    uint32_t *images, *locations;   /* new number + 1; 0 = left out */
    struct address_rules addresses; /* the cut-down dump names no device: its frames are stripped */
    struct jsonw w;
};

static void exemplar_number(uint32_t *used, size_t count) {
    uint32_t next = 0;
    for (size_t i = 0; i < count; i++) {
        used[i] = used[i] ? ++next : 0;
    }
}

static void use_image(struct cut *c, int32_t image) {
    if (image >= 0 && (size_t)image < c->d->image_count) {
        c->images[image] = 1;
    }
}

static bool exemplar_find_used(struct cut *c) {
    const struct dump_stack *s = c->stack;
    c->images = calloc(c->d->image_count + 1, sizeof *c->images);
    c->locations = calloc(c->d->location_count + 1, sizeof *c->locations);
    if (!c->images || !c->locations) {
        return false;
    }
    for (size_t i = 0; i < s->frame_count; i++) {
        use_image(c, dump_image_at(c->d, address_of_frame(&c->addresses, s, i)));
        if (s->locations) {
            c->locations[s->locations[i]] = 1;
            use_image(c, c->d->locations[s->locations[i]].image);
        }
    }
    exemplar_number(c->images, c->d->image_count);
    exemplar_number(c->locations, c->d->location_count);
    return true;
}

static void exemplar_write_images(struct cut *c) {
    struct jsonw *w = &c->w;
    char id[IMAGE_ID_TEXT];
    jsonw_member_array(w, "images");
    for (size_t i = 0; i < c->d->image_count; i++) {
        const struct dump_image *image = &c->d->images[i];
        if (!c->images[i]) {
            continue;
        }
        jsonw_begin_object(w);
        if (image->id.kind != IMAGE_ID_NONE) {
            jsonw_member_cstr(w, image->id.kind == IMAGE_ID_UUID ? "uuid" : "build_id",
                              image_id_text(&image->id, id));
        }
        jsonw_member_cstr(w, "name", image->name);
        jsonw_member_cstr(w, "path", image->path);
        jsonw_member_cstr(w, "arch", image->arch);
        jsonw_member_u64(w, "load", image->load);
        jsonw_member_u64(w, "size", image->size);
        jsonw_member_bool(w, "in_app", image->in_app);
        jsonw_end_object(w);
    }
    jsonw_end_array(w);
}

static void exemplar_write_thread(struct cut *c) {
    struct jsonw *w = &c->w;
    const struct dump_stack *s = c->stack;
    jsonw_member_array(w, "threads");
    jsonw_begin_object(w);
    jsonw_member_bool(w, "main", true);
    if (dump_is_about_threads(c->d)) {
        jsonw_member_u64(w, "cpu_permille", 1000);
    }
    jsonw_member_array(w, "frames");
    for (size_t i = 0; i < s->frame_count; i++) {
        jsonw_u64(w, address_strip(&c->addresses, s->frames[i]));
    }
    jsonw_end_array(w);
    if (s->exact) {
        jsonw_member_array(w, "exact");
        for (size_t i = 0; i < s->exact_count; i++) {
            jsonw_u64(w, s->exact[i]);
        }
        jsonw_end_array(w);
    }
    if (s->locations) {
        jsonw_member_array(w, "locations");
        for (size_t i = 0; i < s->frame_count; i++) {
            jsonw_u64(w, c->locations[s->locations[i]] - 1);
        }
        jsonw_end_array(w);
    }
    jsonw_end_object(w);
    jsonw_end_array(w);
}

static bool in_stack(const struct dump_stack *s, uint64_t address) {
    for (size_t i = 0; i < s->frame_count; i++) {
        if (s->frames[i] == address) {
            return true;
        }
    }
    return false;
}

static void exemplar_write_names(struct cut *c) {
    struct jsonw *w = &c->w;
    jsonw_member_object(w, "names");
    for (size_t i = 0; i < c->d->name_count; i++) {
        const struct dump_name *name = &c->d->names[i];
        char address[24];
        if (!name->symbol || !in_stack(c->stack, name->address)) {
            continue;
        }
        snprintf(address, sizeof address, "%" PRIu64, address_strip(&c->addresses, name->address));
        jsonw_member_array(w, address);
        jsonw_cstr(w, name->symbol);
        jsonw_u64(w, name->offset);
        jsonw_end_array(w);
    }
    jsonw_end_object(w);
}

enum { LINE_TEXTS = 3 };

static void line_texts(const struct dump_line *line, const char *texts[LINE_TEXTS]) {
    texts[0] = line->function;
    texts[1] = line->linkage;
    texts[2] = line->file;
}

/* The texts of all lines in their order: equal ones are few in one stack. */
static void exemplar_write_strings(struct cut *c) {
    struct jsonw *w = &c->w;
    jsonw_member_array(w, "strings");
    for (size_t i = 0; i < c->d->location_count; i++) {
        const struct dump_location *l = &c->d->locations[i];
        for (size_t k = 0; c->locations[i] && k < l->line_count; k++) {
            const char *texts[LINE_TEXTS];
            line_texts(&l->lines[k], texts);
            for (size_t n = 0; n < LINE_TEXTS; n++) {
                if (texts[n]) {
                    jsonw_cstr(w, texts[n]);
                }
            }
        }
    }
    jsonw_end_array(w);
}

static void write_lines(struct cut *c, const struct dump_location *l, uint64_t *next_string) {
    struct jsonw *w = &c->w;
    jsonw_member_array(w, "lines");
    for (size_t k = 0; k < l->line_count; k++) {
        const char *texts[LINE_TEXTS];
        line_texts(&l->lines[k], texts);
        jsonw_begin_array(w);
        for (size_t n = 0; n < LINE_TEXTS; n++) {
            jsonw_i64(w, texts[n] ? (int64_t)(*next_string)++ : -1);
        }
        jsonw_u64(w, l->lines[k].line);
        jsonw_u64(w, l->lines[k].column);
        jsonw_end_array(w);
    }
    jsonw_end_array(w);
}

static void exemplar_write_locations(struct cut *c) {
    struct jsonw *w = &c->w;
    uint64_t next_string = 0;
    jsonw_member_array(w, "locations");
    for (size_t i = 0; i < c->d->location_count; i++) {
        const struct dump_location *l = &c->d->locations[i];
        if (!c->locations[i]) {
            continue;
        }
        jsonw_begin_object(w);
        jsonw_member_i64(w, "image", l->image < 0 ? -1 : (int64_t)c->images[l->image] - 1);
        jsonw_member_u64(w, "offset", l->offset);
        jsonw_member_u64(w, "start", l->start);
        write_lines(c, l, &next_string);
        jsonw_member_cstr(w, "source", dump_source_text(l->source));
        jsonw_end_object(w);
    }
    jsonw_end_array(w);
}

/* What is known besides the stack and part of the key, or decides which stack is. */
static void exemplar_write_stall(struct cut *c) {
    struct jsonw *w = &c->w;
    jsonw_member_object(w, "stall");
    jsonw_member_cstr(w, "kind", c->d->stall.kind);
    jsonw_member_cstr(w, "action", c->d->stall.action);
    if (c->d->stall.top_thread_name) {
        jsonw_member_object(w, "top_thread");
        jsonw_member_cstr(w, "name", c->d->stall.top_thread_name);
        jsonw_end_object(w);
    }
    jsonw_end_object(w);
}

bool exemplar_write(const struct dump *d, const struct dump_stack *stack, struct strbuf *out) {
    struct sink sink = sink_to_strbuf(out);
    struct cut c = {
        .d = d, .stack = stack, .addresses = address_rules_of(d), .w = jsonw_init(&sink)};
    bool ok = exemplar_find_used(&c);
    if (ok) {
        jsonw_begin_object(&c.w);
        jsonw_member_cstr(&c.w, "format", "stall-dump/1");
        jsonw_member_cstr(&c.w, "id", d->id);
        exemplar_write_stall(&c);
        exemplar_write_images(&c);
        exemplar_write_thread(&c);
        exemplar_write_names(&c);
        if (stack->locations) {
            exemplar_write_strings(&c);
            exemplar_write_locations(&c);
        }
        jsonw_end_object(&c.w);
    }
    free(c.images);
    free(c.locations);
    return sink_close(&sink, NULL) == ST_OK && ok;
}
