/* Defines the table of the units of other profilers' values. */
#include "flame/formats/value_unit.h"

#include "base/parse.h"

static const struct value_unit units[] = {
    {"nanoseconds", 6, 1, "ms"}, {"ns", 6, 1, "ms"},           {"microseconds", 3, 1, "ms"},
    {"us", 3, 1, "ms"},          {"milliseconds", 0, 1, "ms"}, {"ms", 0, 1, "ms"},
    {"seconds", 0, 1000, "ms"},  {"s", 0, 1000, "ms"},         {"count", 0, 1, "samples"},
    {"none", 0, 1, "samples"},   {"bytes", 0, 1, "bytes"}};

const struct value_unit *value_unit_find(const char *name, size_t len) {
    size_t at;
    return PARSE_WORD(name, len, units, &at) ? &units[at] : NULL;
}
