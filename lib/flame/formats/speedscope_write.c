/* Writes a tree as speedscope's JSON. */
#include <string.h>

#include "base/jsonw.h"
#include "base/map.h"
#include "flame/stacks/folded.h"
#include "flame/stacks/frame_name.h"
#include "flame/stacks/frame_place.h"
#include "flame/formats/speedscope.h"

struct speedscope_writer {
    const struct stack_tree *tree;
    struct map frames; /* frame's text -> index */
    struct jsonw json;
    struct strbuf scratch;
};

/* Calls visit with the index of each frame of a stack; false: out of memory. */
static bool each_frame(struct speedscope_writer *w, const char *text, size_t len,
                       void (*visit)(struct speedscope_writer *w, size_t index)) {
    for (size_t at = 0; at <= len;) {
        size_t frame = stack_frame_len(text + at, len - at);
        size_t index = map_intern(&w->frames, text + at, frame);
        if (index == SIZE_MAX) {
            return false;
        }
        visit(w, index);
        at += frame + 1;
    }
    return true;
}

static void speedscope_ignore(struct speedscope_writer *w, size_t index) {
    (void)w;
    (void)index;
}
static void speedscope_put_index(struct speedscope_writer *w, size_t index) {
    jsonw_u64(&w->json, index);
}

static enum st speedscope_collect(void *ctx, const char *text, size_t len, uint64_t weight,
                                  struct err *e) {
    (void)weight;
    return each_frame(ctx, text, len, speedscope_ignore) ? ST_OK : err_nomem(e);
}

static enum st speedscope_put_stack(void *ctx, const char *text, size_t len, uint64_t weight,
                                    struct err *e) {
    struct speedscope_writer *w = ctx;
    (void)weight;
    jsonw_begin_array(&w->json);
    bool ok = each_frame(w, text, len, speedscope_put_index);
    jsonw_end_array(&w->json);
    return ok ? ST_OK : err_nomem(e);
}

/* Writes a weight as an exact decimal number. */
static enum st speedscope_put_weight(void *ctx, const char *text, size_t len, uint64_t weight,
                                     struct err *e) {
    struct speedscope_writer *w = ctx;
    (void)text;
    (void)len;
    strbuf_clear(&w->scratch);
    folded_weight(&w->scratch, weight, w->tree->decimals);
    jsonw_raw(&w->json, strbuf_cstr(&w->scratch), w->scratch.len);
    return strbuf_check(&w->scratch, e);
}

static enum st speedscope_put_frame(struct speedscope_writer *w, const char *text, size_t len,
                                    struct err *e) {
    struct frame_place place = {0};
    strbuf_clear(&w->scratch);
    folded_unescape(&w->scratch, text, len);
    struct frame_name f = frame_name_split(strbuf_cstr(&w->scratch), w->scratch.len);
    bool placed = frame_place_split(f.name, &f.name_len, &place);
    struct strbuf name = {0};
    strbuf_add(&name, f.name, f.name_len);
    if (f.mark) {
        strbuf_addf(&name, "_[%c]", f.mark);
    }
    jsonw_begin_object(&w->json);
    jsonw_key(&w->json, "name");
    jsonw_str(&w->json, strbuf_cstr(&name), name.len);
    if (placed || f.module) {
        jsonw_key(&w->json, "file");
        jsonw_str(&w->json, placed ? place.file : f.module, placed ? place.file_len : f.module_len);
    }
    if (placed) {
        jsonw_member_u64(&w->json, "line", place.line);
    }
    jsonw_end_object(&w->json);
    enum st st = strbuf_check(&name, e);
    strbuf_release(&name);
    return st == ST_OK ? strbuf_check(&w->scratch, e) : st;
}

static enum st speedscope_put_frames(struct speedscope_writer *w, struct err *e) {
    jsonw_member_object(&w->json, "shared");
    jsonw_member_array(&w->json, "frames");
    for (size_t i = 0; i < w->frames.count; i++) {
        const struct map_entry *f = &w->frames.entries[i];
        if (speedscope_put_frame(w, f->key, f->len, e) != ST_OK) {
            return ST_ERR;
        }
    }
    jsonw_end_array(&w->json);
    jsonw_end_object(&w->json);
    return ST_OK;
}

static enum st speedscope_put_profile(struct speedscope_writer *w, const char *title,
                                      const char *unit, struct err *e) {
    struct jsonw *j = &w->json;
    jsonw_begin_object(j);
    jsonw_member_cstr(j, "type", "sampled");
    jsonw_member_cstr(j, "name", title);
    jsonw_member_cstr(j, "unit", unit);
    jsonw_member_u64(j, "startValue", 0);
    jsonw_key(j, "endValue");
    if (speedscope_put_weight(w, "", 0, stack_tree_total(w->tree), e) != ST_OK) {
        return ST_ERR;
    }
    jsonw_member_array(j, "samples");
    if (stack_tree_each(w->tree, speedscope_put_stack, w, e) != ST_OK) {
        return ST_ERR;
    }
    jsonw_end_array(j);
    jsonw_member_array(j, "weights");
    if (stack_tree_each(w->tree, speedscope_put_weight, w, e) != ST_OK) {
        return ST_ERR;
    }
    jsonw_end_array(j);
    jsonw_end_object(j);
    return ST_OK;
}

/* Returns speedscope's name for a unit of weights. */
static const char *speedscope_unit(const char *unit) {
    if (unit && strcmp(unit, "ms") == 0) {
        return "milliseconds";
    }
    return unit && strcmp(unit, "bytes") == 0 ? "bytes" : "none";
}

static enum st speedscope_put_file(struct speedscope_writer *w, const struct speedscope_options *o,
                                   struct err *e) {
    const char *title = o->title ? o->title : "Flame graph";
    struct jsonw *j = &w->json;
    jsonw_begin_object(j);
    jsonw_member_cstr(j, "$schema", "https://www.speedscope.app/file-format-schema.json");
    jsonw_member_cstr(j, "exporter", o->exporter);
    jsonw_member_cstr(j, "name", title);
    jsonw_member_u64(j, "activeProfileIndex", 0);
    if (speedscope_put_frames(w, e) != ST_OK) {
        return ST_ERR;
    }
    jsonw_member_array(j, "profiles");
    if (speedscope_put_profile(w, title, speedscope_unit(o->unit), e) != ST_OK) {
        return ST_ERR;
    }
    jsonw_end_array(j);
    jsonw_end_object(j);
    sink_char(j->sink, '\n');
    return ST_OK;
}

enum st speedscope_write(const struct stack_tree *t, const struct speedscope_options *o,
                         struct sink *out, struct err *e) {
    struct speedscope_writer w = {.tree = t, .json = jsonw_init(out)};
    enum st st = stack_tree_each(t, speedscope_collect, &w, e);
    if (st == ST_OK) {
        st = speedscope_put_file(&w, o, e);
    }
    map_release(&w.frames);
    strbuf_release(&w.scratch);
    return st;
}
