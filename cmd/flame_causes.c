/* Marks for the picture: a frame that tells a cause gives its colour to all that it called. */
#include "flame_causes.h"

#include <string.h>

#include "names/names.h"

/* The colour of each cause, in the order of the legend. */
static const struct {
    enum rule_cause cause;
    const char *colour;
} colours[] = {
    {CAUSE_LOCK, "a1"},  {CAUSE_DEADLOCK, "a3"}, {CAUSE_DISK, "c2"},    {CAUSE_NETWORK, "j2"},
    {CAUSE_IO, "d1"},    {CAUSE_IPC, "k2"},      {CAUSE_RENDER, "g2"},  {CAUSE_COMPUTE, "e3"},
    {CAUSE_SLEEP, "i1"}, {CAUSE_LAUNCH, "l1"},   {CAUSE_STARVED, "b2"}, {CAUSE_IDLE, "x0"},
};
enum { COLOURS = sizeof colours / sizeof *colours };

static enum rule_cause cause_of(struct flame_causes *c, const struct layout_frame *f,
                                const struct frame_name *name) {
    strbuf_clear(&c->function);
    strbuf_clear(&c->image);
    if (f->depth == c->label_depth) {
        for (size_t i = 0; i < COLOURS; i++) {
            const char *text = rule_cause_text(colours[i].cause);
            if (strlen(text) == name->name_len && memcmp(text, name->name, name->name_len) == 0) {
                return colours[i].cause;
            }
        }
        return CAUSE_NONE;
    }
    names_normalise(name->name, name->name_len, &c->function);
    if (name->module) {
        names_image(name->module, name->module_len, &c->image);
    } else {
        strbuf_addc(&c->image, '?');
    }
    struct rule_subject subject = {.function = name->unresolved ? NULL : strbuf_cstr(&c->function),
                                   .function_len = c->function.len,
                                   .image = strbuf_cstr(&c->image),
                                   .image_len = c->image.len};
    const struct rule *rule = rules_match(c->rules, RULE_CAUSE, &subject, NULL);
    return rule ? rule->cause : CAUSE_NONE;
}

/* Frames come in pre-order: the path to the last one holds the callers of the next. */
static void mark(void *ctx, const struct layout_frame *f, const struct frame_name *name,
                 char colour[PALETTE_COLOUR_SIZE], struct strbuf *note) {
    struct flame_causes *c = ctx;
    if (f->kind == LAYOUT_ROOT) {
        return;
    }
    enum rule_cause own = f->kind == LAYOUT_FRAME ? cause_of(c, f, name) : CAUSE_NONE, cause = own;
    strbuf_truncate(&c->path, f->depth - 1);
    if (own == CAUSE_NONE && c->path.len > 0) {
        cause = (enum rule_cause)c->path.data[c->path.len - 1];
    }
    strbuf_addc(&c->path, (char)cause);
    memcpy(colour, "x1", sizeof "x1");
    for (size_t i = 0; i < COLOURS; i++) {
        if (colours[i].cause == cause && f->kind == LAYOUT_FRAME) {
            memcpy(colour, colours[i].colour, PALETTE_COLOUR_SIZE);
        }
    }
    if (own != CAUSE_NONE) {
        strbuf_addf(note, "cause: %s", rule_cause_text(own));
    }
    note->failed |= c->function.failed || c->image.failed || c->path.failed;
}

enum st flame_causes_start(struct flame_causes *c, uint32_t label_depth, struct err *e) {
    enum st st = rules_new(&c->rules, e);
    st = st == ST_OK ? rules_add_builtin(c->rules, e) : st;
    c->label_depth = label_depth;
    for (size_t i = 0; i < COLOURS; i++) {
        c->keys[i] = (struct svg_key){colours[i].colour, rule_cause_text(colours[i].cause)};
    }
    c->marks = (struct svg_marks){.mark = mark, .ctx = c, .keys = c->keys, .key_count = COLOURS};
    return st;
}

void flame_causes_release(struct flame_causes *c) {
    rules_free(c->rules);
    strbuf_release(&c->path);
    strbuf_release(&c->function);
    strbuf_release(&c->image);
}
