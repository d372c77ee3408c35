/* Reads the lines of a perf map that name given addresses. */
#include "linux/perf_map.h"

#include <string.h>

#include "support/rec_text.h"

static uint64_t place_of_async(const struct rec_code_name *name) {
    return name->address - (name->exact ? 0 : 1);
}

uint32_t perf_map_first_async(const struct rec_code_name *names, uint32_t count, uint64_t address) {
    uint32_t lo = 0, hi = count;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (place_of_async(&names[mid]) < address) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo;
}

/* Reads a hexadecimal number and the space after it. Returns the text that follows, NULL if there
 * is no such number. Some writers put "0x" before it. */
static const char *take_hex_async(const char *at, const char *end, uint64_t *value) {
    const char *begin;
    if (end - at > 2 && at[0] == '0' && (at[1] | 0x20) == 'x') {
        at += 2;
    }
    *value = 0;
    for (begin = at; at < end && rec_any_hex_digit_async(*at) >= 0; at++) {
        if (at - begin == 16) {
            return NULL;
        }
        *value = *value << 4 | (uint64_t)rec_any_hex_digit_async(*at);
    }
    return at > begin && at < end && *at == ' ' ? at + 1 : NULL;
}

static void take_line_async(struct perf_map *map, const char *line, size_t size) {
    const char *end = line + size;
    uint64_t start, length = 0;
    const char *at = take_hex_async(line, end, &start);
    at = at ? take_hex_async(at, end, &length) : NULL;
    if (!at || at == end) {
        return;
    }
    uint32_t i = perf_map_first_async(map->names, map->count, start);
    for (; i < map->count && place_of_async(&map->names[i]) - start < length; i++) {
        struct rec_code_name *name = &map->names[i];
        code_text_name_async(map->text, at, (size_t)(end - at), name);
        name->offset = name->address - start;
    }
}

void perf_map_begin_async(struct perf_map *map, struct rec_code_name *names, uint32_t count,
                          struct code_text *text) {
    map->names = names;
    map->count = count;
    map->text = text;
    map->held = 0;
}

void perf_map_feed_async(struct perf_map *map, const char *bytes, size_t size) {
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] == '\n') {
            take_line_async(map, map->line, map->held);
            map->held = 0;
        } else if (map->held < sizeof map->line) {
            map->line[map->held++] = bytes[i];
        }
    }
}

void perf_map_end_async(struct perf_map *map) {
    take_line_async(map, map->line, map->held);
    map->held = 0;
}
