/* Names places in code. */
#include <stdio.h>
#include <string.h>

#include "linux/place_linux.h"
#include "preload/preload_private.h"

static const char *program_base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool preload_find_place(const char *program, uint64_t address, struct code_place *place,
                        const char **library) {
    if (!place_find_async(address, place)) {
        return false;
    }
    *library = *place->library ? place->library : program_base_name(program);
    return true;
}

void preload_name_place(const char *program, uint64_t address, char text[PRELOAD_TEXT]) {
    struct code_place place;
    const char *library;
    if (!preload_find_place(program, address, &place, &library)) {
        snprintf(text, PRELOAD_TEXT, "0x%llx", (unsigned long long)address);
        return;
    }
    snprintf(text, PRELOAD_TEXT, "%.120s+0x%llx%s%.100s%s", library,
             (unsigned long long)place.offset, *place.symbol ? " (" : "", place.symbol,
             *place.symbol ? ")" : "");
}
