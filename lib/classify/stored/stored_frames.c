/* Stores the texts, frames and stacks of stored dumps, each once. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "classify/stored/stored_dumps.h"
#include "dump/frame_address.h"

enum {
    STORED_LINES = 64 /* maximum number of lines of a location, or of functions inlined in a frame
                         with a name of the dump, that are stored */
};

const char *stored_text(const struct stored_dumps *s, uint32_t text) {
    return text == STORED_NONE ? "" : map_string(&s->texts, text);
}

const uint32_t *stored_stack(const struct stored_dumps *s, uint32_t stack, size_t *count) {
    *count = stack == STORED_NONE ? 0 : s->stacks.entries[stack].len / sizeof(uint32_t);
    return *count ? (const uint32_t *)(const void *)s->stacks.entries[stack].key : NULL;
}

const struct stored_frame *stored_frame_at(const struct stored_dumps *s, uint32_t frame) {
    return (const struct stored_frame *)(const void *)s->frames.entries[frame].key;
}

/* Sets *out to the index of interned bytes. False: out of memory. */
static bool put(struct map *m, const void *bytes, size_t len, uint32_t *out) {
    size_t index = map_intern(m, bytes, len);
    *out = index < STORED_NONE ? (uint32_t)index : STORED_NONE;
    return *out != STORED_NONE;
}

bool stored_put_text(struct stored_dumps *s, const char *text, uint32_t *out) {
    *out = STORED_NONE;
    if (!text || !*text) {
        return true;
    }
    size_t len = strlen(text);
    if (len <= STORED_TEXT) {
        return put(&s->texts, text, len, out);
    }
    len = STORED_TEXT;
    while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80) {
        len--; /* a text must not be cut inside a UTF-8 character */
    }
    char cut[STORED_TEXT + 4];
    memcpy(cut, text, len);
    memcpy(cut + len, "\xe2\x80\xa6", 4);
    return put(&s->texts, cut, len + 3, out);
}

/* ---- stacks ---- */

struct stack_maker {
    struct stored_dumps *s;
    const struct dump *d;
    uint32_t frames[STORED_FRAMES];
    size_t count;
};

/* The image and the offset of a frame. */
struct stored_place {
    const char *image; /* name of the image; NULL = none */
    uint64_t offset;   /* offset in the image in bytes, of the function's start if the frame has a
                          location; without an image, the address */
    bool in_app;
};

static bool push(struct stack_maker *m, const struct stored_place *at, const char *function,
                 const char *file, uint32_t line, uint32_t flags) {
    char unnamed[STORED_TEXT];
    struct stored_frame f;
    memset(&f, 0, sizeof f); /* padding is compared, too */
    if (m->count == STORED_FRAMES) {
        return true;
    }
    if (!function) {
        snprintf(unnamed, sizeof unnamed, "%.800s%s0x%" PRIx64, at->image ? at->image : "",
                 at->image ? "+" : "", at->offset);
        function = unnamed;
        flags |= STORED_NAMELESS;
    }
    f.line = file ? line : 0;
    f.flags = flags | (at->in_app ? STORED_IN_APP : 0u);
    return stored_put_text(m->s, function, &f.function) &&
           stored_put_text(m->s, at->image, &f.image) && stored_put_text(m->s, file, &f.file) &&
           put(&m->s->frames, &f, sizeof f, &m->frames[m->count++]);
}

static bool push_lines(struct stack_maker *m, const struct dump_location *l,
                       const struct stored_place *at) {
    for (size_t i = 0; i < l->line_count && i < STORED_LINES; i++) {
        const struct dump_line *line = &l->lines[i];
        bool inlined = i + 1 < l->line_count;
        const char *name = line->function || !inlined ? line->function : "[unknown]";
        if (!push(m, at, name, line->file, line->line, inlined ? STORED_INLINED : 0u)) {
            return false;
        }
    }
    return l->line_count > 0 || push(m, at, NULL, NULL, 0, 0);
}

static bool push_stored_frame(struct stack_maker *m, const struct address_rules *rules,
                              const struct dump_stack *stack, size_t i) {
    const struct dump *d = m->d;
    const struct dump_location *l =
        stack->locations && d->locations ? &d->locations[stack->locations[i]] : NULL;
    uint64_t address = address_strip(rules, stack->frames[i]);
    int32_t image = l ? l->image : dump_image_at(d, address);
    bool known = image >= 0 && (size_t)image < d->image_count;
    const struct dump_name *name = l ? NULL : dump_name_at(d, stack->frames[i]);
    struct stored_place at = {.offset = address};
    if (known) {
        const struct dump_image *in = &d->images[image];
        at.image = dump_image_name(in);
        at.in_app = in->in_app;
        at.offset = l ? l->start : address - in->load;
    } else if (l || name) {
        at.in_app = l ? l->in_app : name->in_app;
    }
    if (l) {
        return push_lines(m, l, &at);
    }
    for (size_t k = 0; name && k < name->inlined_count && k < STORED_LINES; k++) {
        const struct dump_line *line = &name->inlined[k];
        if (!push(m, &at, line->function, line->file, line->line, STORED_INLINED)) {
            return false;
        }
    }
    return name ? push(m, &at, name->symbol, name->file, name->line, 0)
                : push(m, &at, NULL, NULL, 0, 0);
}

bool stored_put_stack(struct stored_dumps *s, const struct dump *d, const struct dump_stack *stack,
                      uint32_t *out) {
    struct stack_maker m = {.s = s, .d = d};
    const struct address_rules rules = address_rules_of(d);
    *out = STORED_NONE;
    for (size_t i = 0; i < s->recent_count; i++) {
        if (s->recent[i].frames == stack->frames) {
            *out = s->recent[i].stack;
            return true;
        }
    }
    for (size_t i = 0; i < stack->frame_count && m.count < STORED_FRAMES; i++) {
        if (!push_stored_frame(&m, &rules, stack, i)) {
            return false;
        }
    }
    if (m.count == 0) {
        return true;
    }
    if (!put(&s->stacks, m.frames, m.count * sizeof m.frames[0], out)) {
        return false;
    }
    if (s->recent_count < STORED_RECENT) {
        s->recent[s->recent_count++] = (struct stored_recent){stack->frames, *out};
    }
    return true;
}
