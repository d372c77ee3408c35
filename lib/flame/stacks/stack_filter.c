/* Changes the text of every stack on its way from one tree to another. */
#include "flame/stacks/stack_filter.h"

#include <string.h>

#include "flame/stacks/folded.h"
#include "flame/stacks/frame_name.h"

struct filtering {
    struct stack_tree *out;
    unsigned decimals;
    const struct stack_filter *filter;
    size_t base_len;
    struct strbuf name, line; /* scratch */
};

static bool is_base(struct filtering *f, const char *frame, size_t len) {
    strbuf_clear(&f->name);
    folded_unescape(&f->name, frame, len);
    const char *text = strbuf_cstr(&f->name), *base = f->filter->base;
    struct frame_name n = frame_name_split(text, f->name.len);
    return (f->name.len == f->base_len && memcmp(text, base, f->base_len) == 0) ||
           (n.name_len == f->base_len && memcmp(n.name, base, f->base_len) == 0);
}

/* Returns where the outermost frame with the base's name begins; 0 if there is none. */
static size_t find_base(struct filtering *f, const char *text, size_t len) {
    for (size_t at = 0; at <= len;) {
        size_t frame = stack_frame_len(text + at, len - at);
        if (is_base(f, text + at, frame)) {
            return at;
        }
        at += frame + 1;
    }
    return 0;
}

/* Appends a frame to f->line. A '#' is escaped only where it begins a line (folded.h), so a frame
 * that begins with '#', or with an escape, is escaped again when it moves. */
static void filter_add_frame(struct filtering *f, const char *frame, size_t len, bool was_first) {
    bool first = f->line.len == 0;
    if (first == was_first || len == 0 || (frame[0] != '#' && frame[0] != '\\')) {
        strbuf_add(&f->line, frame, len);
        return;
    }
    strbuf_clear(&f->name);
    folded_unescape(&f->name, frame, len);
    folded_escape(&f->line, strbuf_cstr(&f->name), f->name.len, first);
}

static void filter_add_reversed(struct filtering *f, const char *text, size_t len, bool whole) {
    for (size_t end = len;;) {
        size_t at = end;
        while (at > 0 && text[at - 1] != ';') {
            at--;
        }
        filter_add_frame(f, text + at, end - at, whole && at == 0);
        if (at == 0) {
            return;
        }
        strbuf_addc(&f->line, ';');
        end = at - 1;
    }
}

static enum st filter_stack(void *ctx, const char *text, size_t len, uint64_t weight,
                            struct err *e) {
    struct filtering *f = ctx;
    size_t base = f->filter->base ? find_base(f, text, len) : 0;
    text += base;
    len -= base;
    strbuf_clear(&f->line);
    if (f->filter->reverse) {
        filter_add_reversed(f, text, len, base == 0);
    } else {
        size_t first = stack_frame_len(text, len);
        filter_add_frame(f, text, first, base == 0);
        strbuf_add(&f->line, text + first, len - first);
    }
    if (strbuf_check(&f->name, e) != ST_OK || strbuf_check(&f->line, e) != ST_OK) {
        return ST_ERR;
    }
    return stack_tree_add(f->out, strbuf_cstr(&f->line), f->line.len, weight, f->decimals, e);
}

enum st stack_filter_add(struct stack_tree *out, const struct stack_tree *in,
                         const struct stack_filter *filter, struct err *e) {
    struct filtering f = {.out = out, .decimals = in->decimals, .filter = filter};
    f.base_len = filter->base ? strlen(filter->base) : 0;
    enum st st = stack_tree_each(in, filter_stack, &f, e);
    strbuf_release(&f.name);
    strbuf_release(&f.line);
    return st;
}
