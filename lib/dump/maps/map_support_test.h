/* Helpers for the tests of maps. */
#ifndef STALLKIT_DUMP_MAP_SUPPORT_TEST_H
#define STALLKIT_DUMP_MAP_SUPPORT_TEST_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "dump/maps/map_private.h"
#include "dump/reports/report_support_test.h"

/* Converts a document, written as JSON with ' for ", by this map alone. */
static inline struct converted convert_by_map(const char *map, const char *json) {
    struct converted c = {.st = ST_ERR};
    struct report_maps *maps = NULL;
    struct strbuf text = {0};
    add_json(&text, json);
    if (report_maps_new(&maps, &c.err) == ST_OK &&
        report_maps_add(maps, "test.map", map, strlen(map), NULL, NULL, &c.err) == ST_OK &&
        report_maps_add_builtin(maps, &c.err) == ST_OK) {
        c.st = report_convert(strbuf_cstr(&text), text.len, maps, take_one, &c, &c.err);
    }
    report_maps_free(maps);
    strbuf_release(&text);
    return c;
}

#endif
