/* Colours frames of the picture. A frame with a cause gives its colour to all frames above it, and
 * so does a mark of --by=holder. */
#include "flame_causes.h"

#include <string.h>

#include "flame_labels.h"
#include "names/names.h"

static const char no_cause[PALETTE_COLOUR_SIZE] = "x1"; /* colour of frames without a cause */

static enum rule_cause cause_of(struct flame_causes *c, const struct layout_frame *f,
                                const struct frame_name *name) {
    strbuf_clear(&c->function);
    strbuf_clear(&c->image);
    if (f->depth == c->label_depth) {
        enum rule_cause labelled = CAUSE_NONE;
        (void)rule_cause_parse(name->name, name->name_len,
                               &labelled); /* other labels leave CAUSE_NONE */
        return *rule_cause_colour(labelled) ? labelled : CAUSE_NONE;
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

/* Sets the colour and the note of a frame by its cause; a frame without one has the colour of its
 * nearest caller with one. Frames come in pre-order, so c->path holds the causes of the next
 * frame's callers. */
static void causes_mark(void *ctx, const struct layout_frame *f, const struct frame_name *name,
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
    const char *own_colour = f->kind == LAYOUT_FRAME ? rule_cause_colour(cause) : "";
    memcpy(colour, *own_colour ? own_colour : no_cause, PALETTE_COLOUR_SIZE);
    if (own != CAUSE_NONE) {
        strbuf_addf(note, "cause: %s", rule_cause_text(own));
    }
    note->failed |= c->function.failed || c->image.failed || c->path.failed;
}

void flame_causes_start(struct flame_causes *c, const struct rules *rules, uint32_t label_depth) {
    size_t count = 0;
    for (enum rule_cause cause; (cause = rule_cause_of_legend(count)) != CAUSE_NONE; count++) {
        c->keys[count] = (struct svg_key){rule_cause_colour(cause), rule_cause_text(cause)};
    }
    c->label_depth = label_depth;
    c->marks =
        (struct svg_marks){.mark = causes_mark, .ctx = c, .keys = c->keys, .key_count = count};
    c->rules = rules;
}

void flame_causes_release(struct flame_causes *c) {
    strbuf_release(&c->path);
    strbuf_release(&c->function);
    strbuf_release(&c->image);
}

/* ---- holders ---- */

static const char holder_mark_colour[PALETTE_COLOUR_SIZE] = "r3",
                  holder_colour[PALETTE_COLOUR_SIZE] = "r1";

/* Sets the colour of a frame if it is a mark of --by=holder, and its colour and note if it is above
 * one. Frames come in pre-order. */
static void mark_holder(void *ctx, const struct layout_frame *f, const struct frame_name *name,
                        char colour[PALETTE_COLOUR_SIZE], struct strbuf *note) {
    struct flame_holder_marks *h = ctx;
    if (h->depth && f->depth <= h->depth) {
        h->depth = 0;
    }
    if (f->kind != LAYOUT_FRAME) {
        return;
    }
    bool mark = flame_is_holder_mark(name->name, name->name_len);
    if (mark && !h->depth) {
        h->depth = f->depth;
    }
    if (mark) {
        memcpy(colour, holder_mark_colour, PALETTE_COLOUR_SIZE);
    } else if (h->depth) {
        memcpy(colour, holder_colour, PALETTE_COLOUR_SIZE);
        strbuf_addstr(note, "of who holds the lock");
    }
}

void flame_holder_marks_start(struct flame_holder_marks *h) {
    *h = (struct flame_holder_marks){
        .keys = {{holder_mark_colour, "what is waited for"}, {holder_colour, "who holds it"}}};
    h->marks = (struct svg_marks){.mark = mark_holder,
                                  .ctx = h,
                                  .keys = h->keys,
                                  .key_count = sizeof h->keys / sizeof *h->keys};
}
