#include "dump/written_locations_private.h"

#include <string.h>

#include "dump/json/token_private.h"

/* The rest of the array's text. A bracket stands before `end`, so that any number ends there. */
struct written_text {
    const char *p, *end;
    /* The "source" of the last location with its closing quote, kept because most locations have
     * the same; source_len = 0: there was none. */
    const char *source_text;
    size_t source_len;
    enum dump_source source;
};

void written_release(struct written_locations *w) {
    VEC_RELEASE(&w->locations);
    VEC_RELEASE(&w->lines);
    w->text = NULL;
}

size_t written_size(const struct written_locations *w) {
    return w->locations.cap * sizeof *w->locations.data + w->lines.cap * sizeof *w->lines.data;
}

/* Takes these bytes if the text continues with them. */
static inline bool written_take_bytes(struct written_text *t, const char *bytes, size_t len) {
    if ((size_t)(t->end - t->p) < len || memcmp(t->p, bytes, len) != 0) {
        return false;
    }
    t->p += len;
    return true;
}
#define TAKE(t, literal) written_take_bytes(t, "" literal, sizeof(literal) - 1)

/* Takes a number of at most digits_max digits. */
static inline bool written_take_number(struct written_text *t, ptrdiff_t digits_max,
                                       uint64_t *out) {
    const char *p = t->p;
    uint64_t n = 0; /* wraps around if there are too many digits */
    if (p == t->end) {
        return false;
    }
    while (token_is_digit(*p)) {
        n = n * 10 + (uint64_t)(*p++ - '0');
    }
    ptrdiff_t digits = p - t->p;
    bool taken = digits == 1 || (digits > 1 && digits <= digits_max && *t->p != '0');
    t->p = p;
    *out = n;
    return taken;
}

static inline bool written_take_u32(struct written_text *t, uint32_t *out) {
    enum { DIGITS_MAX = 9 };
    uint64_t n;
    bool taken = written_take_number(t, DIGITS_MAX, &n);
    *out = (uint32_t)n;
    return taken;
}

/* Takes an index, or -1. */
static inline bool written_take_index(struct written_text *t, int32_t *out) {
    uint32_t n;
    if (TAKE(t, "-1")) {
        *out = -1;
        return true;
    }
    bool taken = written_take_u32(t, &n);
    *out = (int32_t)n;
    return taken;
}

static bool written_take_line(struct written_text *t, struct written_line *line) {
    for (size_t i = 0; i < WRITTEN_NAMES; i++) {
        if (!written_take_index(t, &line->names[i]) || !TAKE(t, ",")) {
            return false;
        }
    }
    return written_take_u32(t, &line->line) && TAKE(t, ",") && written_take_u32(t, &line->column) &&
           TAKE(t, "]");
}

static bool written_take_lines(struct written_locations *w, struct written_text *t,
                               struct written_location *location) {
    size_t before = w->lines.len;
    if (TAKE(t, "]")) {
        return true;
    }
    do {
        struct written_line line;
        if (!TAKE(t, "[") || !written_take_line(t, &line) || !VEC_PUSH(&w->lines, line)) {
            return false;
        }
    } while (TAKE(t, ","));
    location->line_count = (uint32_t)(w->lines.len - before);
    return TAKE(t, "]");
}

static bool written_take_source(struct written_text *t, enum dump_source *source) {
    const char *first = t->p;
    if (t->source_len == 0 || !written_take_bytes(t, t->source_text, t->source_len)) {
        while (t->p < t->end && *t->p >= 'a' && *t->p <= 'z') {
            t->p++;
        }
        if (!dump_source_parse(first, (size_t)(t->p - first), &t->source) || !TAKE(t, "\"")) {
            return false;
        }
        t->source_text = first;
        t->source_len = (size_t)(t->p - first);
    }
    *source = t->source;
    return true;
}

static bool written_take_location(struct written_locations *w, struct written_text *t,
                                  struct written_location *location, uint32_t *values) {
    enum { LOCATION_VALUES = 6, LINE_VALUES = 6 }; /* with the object or the array itself */
    *location = (struct written_location){0};
    if (!TAKE(t, "{\"image\":") || !written_take_index(t, &location->image) ||
        !TAKE(t, ",\"offset\":") || !written_take_number(t, TOKEN_DIGITS_MAX, &location->offset) ||
        !TAKE(t, ",\"start\":") || !written_take_number(t, TOKEN_DIGITS_MAX, &location->start) ||
        !TAKE(t, ",\"lines\":[") || !written_take_lines(w, t, location) ||
        !TAKE(t, ",\"source\":\"") || !written_take_source(t, &location->source)) {
        return false;
    }
    location->in_app = TAKE(t, ",\"in_app\":true");
    *values += LOCATION_VALUES + location->in_app + location->line_count * LINE_VALUES;
    return TAKE(t, "}");
}

const char *written_read(void *ctx, const char *p, const char *end, uint32_t *values) {
    struct written_locations *w = ctx;
    struct written_text t = {.p = p, .end = end};
    uint32_t count = 0;
    w->text = NULL;
    w->locations.len = w->lines.len = 0;
    if (!TAKE(&t, "[")) {
        return NULL;
    }
    do {
        struct written_location location;
        if (!written_take_location(w, &t, &location, &count) ||
            !VEC_PUSH(&w->locations, location)) {
            return NULL;
        }
    } while (TAKE(&t, ","));
    if (!TAKE(&t, "]")) {
        return NULL;
    }
    w->text = p;
    *values += count;
    return t.p;
}
