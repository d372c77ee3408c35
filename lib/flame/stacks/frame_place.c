/* Splits and joins the source place at the end of a name. */
#include "flame/stacks/frame_place.h"

#include "base/parse.h"
#include "base/path.h"

bool frame_place_split(const char *name, size_t *len, struct frame_place *out) {
    size_t end = *len;
    if (end < 6 || name[end - 1] != ')') { /* the shortest place, " (a:1)", has 6 bytes */
        return false;
    }
    size_t open = end - 1;
    while (open > 0 && name[open] != '(') {
        open--;
    }
    const char *file = name + open + 1;
    size_t colon = end - 1;
    while (colon > open && name[colon] != ':') {
        colon--;
    }
    uint64_t line;
    if (open < 2 || name[open - 1] != ' ' || colon <= open + 1 ||
        !parse_u64(name + colon + 1, end - colon - 2, UINT32_MAX, &line) || line == 0) {
        return false;
    }
    *out = (struct frame_place){file, colon - open - 1, (uint32_t)line};
    *len = open - 1;
    return true;
}

void frame_place_join(struct strbuf *out, const char *name, const char *file, uint32_t line) {
    strbuf_addstr(out, name);
    if (file && *file && line > 0) {
        strbuf_addf(out, " (%s:%u)", path_base(file), line);
    }
}
