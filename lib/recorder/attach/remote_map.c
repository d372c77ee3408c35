/* Reads lines of /proc/PID/maps. */
#include "attach/remote_map.h"

#include <string.h>

#include "support/rec_text.h"

struct map_text {
    const char *at, *end;
    bool failed;
};

static void skip_char(struct map_text *t, char c) {
    if (t->at < t->end && *t->at == c) {
        t->at++;
    } else {
        t->failed = true;
    }
}

static uint64_t map_number(struct map_text *t, unsigned base) {
    uint64_t value = 0;
    const char *from = t->at;
    for (int digit; t->at < t->end && (digit = rec_hex_digit(*t->at)) >= 0 && digit < (int)base;
         t->at++) {
        if (value > (UINT64_MAX - (uint64_t)digit) / base) {
            t->failed = true;
            return 0;
        }
        value = value * base + (uint64_t)digit;
    }
    t->failed |= t->at == from;
    return value;
}

/* Reads the rights of a mapping, such as "r-xp". */
static void take_rights(struct map_text *t, struct remote_map *map) {
    if (t->end - t->at < 4) {
        t->failed = true;
        return;
    }
    map->read = t->at[0] == 'r';
    map->execute = t->at[2] == 'x';
    t->at += 4;
}

static void take_path(struct map_text *t, struct remote_map *map) {
    static const char deleted[] = " (deleted)";
    while (t->at < t->end && *t->at == ' ') {
        t->at++;
    }
    size_t size = (size_t)(t->end - t->at), mark = sizeof deleted - 1;
    if (size > 0 && t->at[size - 1] == '\n') {
        size--;
    }
    if (size > mark && memcmp(t->at + size - mark, deleted, mark) == 0) {
        map->deleted = true;
        size -= mark;
    }
    if (size >= sizeof map->path || memchr(t->at, '\0', size)) {
        t->failed = true;
        return;
    }
    memcpy(map->path, t->at, size);
    map->path[size] = '\0';
}

bool remote_map_read(const char *line, size_t size, struct remote_map *out) {
    struct map_text t = {line, line + size, false};
    *out = (struct remote_map){0};
    out->lo = map_number(&t, 16);
    skip_char(&t, '-');
    out->hi = map_number(&t, 16);
    skip_char(&t, ' ');
    take_rights(&t, out);
    skip_char(&t, ' ');
    out->offset = map_number(&t, 16);
    skip_char(&t, ' ');
    uint64_t major = map_number(&t, 16);
    skip_char(&t, ':');
    out->device = major << 32 | map_number(&t, 16);
    skip_char(&t, ' ');
    out->inode = map_number(&t, 10);
    take_path(&t, out);
    return !t.failed && out->lo < out->hi;
}
