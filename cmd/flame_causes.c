/* Marks for the picture: a frame that tells a cause gives its colour to all that it called. */
#include "flame_causes.h"

#include <string.h>

#include "names/names.h"

/* Parallel. */
static const struct svg_key keys[] = {
    {"a3", "lock"},   {"c2", "disk"},  {"j2", "network"}, {"d1", "io"},   {"k2", "ipc"},
    {"f2", "render"}, {"h2", "sleep"}, {"l2", "launch"},  {"x0", "idle"},
};
static const enum rule_cause causes[] = {CAUSE_LOCK,  CAUSE_DISK,   CAUSE_NETWORK,
                                         CAUSE_IO,    CAUSE_IPC,    CAUSE_RENDER,
                                         CAUSE_SLEEP, CAUSE_LAUNCH, CAUSE_IDLE};
enum { KEYS = sizeof keys / sizeof *keys };

static enum rule_cause cause_of(struct flame_causes *c, const struct layout_frame *f,
                                const struct frame_name *name) {
    strbuf_clear(&c->function);
    strbuf_clear(&c->image);
    if (f->depth == c->label_depth) {
        for (size_t i = 0; i < KEYS; i++) {
            if (strlen(keys[i].text) == name->name_len &&
                memcmp(keys[i].text, name->name, name->name_len) == 0) {
                return causes[i];
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
    const struct rule *rule = rules_match(c->rules, RULE_CAUSE, &subject);
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
    for (size_t i = 0; i < KEYS; i++) {
        if (causes[i] == cause && f->kind == LAYOUT_FRAME) {
            memcpy(colour, keys[i].colour, PALETTE_COLOUR_SIZE);
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
    c->marks = (struct svg_marks){.mark = mark, .ctx = c, .keys = keys, .key_count = KEYS};
    return st;
}

void flame_causes_release(struct flame_causes *c) {
    rules_free(c->rules);
    strbuf_release(&c->path);
    strbuf_release(&c->function);
    strbuf_release(&c->image);
}
