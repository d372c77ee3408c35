/* Reads any bytes as a map; if the map has no faults, it reads a document that has members of
 * nearly every kind. Reads any bytes as a document of the built-in maps, too. */
#include "dump/input/report_support_fuzz.h"
#include "dump/maps/report_map.h"

static const char document[] =
    "{\"a\":{\"b\":[{\"f\":[{\"p\":1,\"o\":2,\"n\":\"f\",\"i\":\"x\"},{\"p\":\"0x10\"}],\"id\":1},"
    "{\"f\":[{\"n\":\"g\"}]}],\"t\":\"text 12 "
    "ms\"},\"i\":[{\"l\":4096,\"s\":64,\"n\":\"x\"}],\"k\":"
    "\"hang\",\"d\":[1.5,\"2 sec\",true,null]}\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct report_maps *maps = NULL;
    struct err e = {0};
    const char *text = (const char *)data;
    require(report_maps_new(&maps, NULL) == ST_OK);
    enum st st = report_maps_add(maps, "fuzz.map", text, size, NULL, NULL, &e);
    require(st == ST_OK || (st == ST_ERR && err_is(&e)));
    err_clear(&e);
    require(report_maps_add_builtin(maps, NULL) == ST_OK);
    st = report_convert(document, sizeof document - 1, maps, check_dump, NULL, &e);
    require(st != ST_ERR || err_is(&e));
    err_clear(&e);
    st = report_convert(text, size, maps, check_dump, NULL, &e);
    require(st != ST_ERR || (err_is(&e) && e.code != ERR_INTERNAL));
    report_maps_free(maps);
    return 0;
}
