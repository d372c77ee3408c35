/* Makes up addresses for frames without a run-time address: frames with only a name, and frames
 * with an address in a file. The same name or address in a file always gets the same made-up
 * address. */
#include "dump/reports/report_private.h"

#include <inttypes.h>
#include <string.h>

#include "base/path.h"
#include "base/strbuf.h"

/* Names alone lie one after the other below the first file; each file has a stretch of its own:
 *
 *     0x1000 …            names, NAMED_STEP apart
 *     FILE_STRETCH        the first file's address 0
 *     2 * FILE_STRETCH    the second's
 *
 * All of it is below 2^47, so that no mask of signed pointers changes it. */
enum { NAMED_FIRST = 0x1000, NAMED_STEP = 16, FILES_MAX = 2000 };
#define FILE_STRETCH (UINT64_C(1) << 36)

/* Splits "NAME+24" into name->symbol and name->offset. Text after a '+' that is no number stays
 * part of the symbol. */
static void split_symbol(struct report *r, const char *symbol, struct report_name *name) {
    const char *plus = strrchr(symbol, '+');
    const char *digits = plus ? report_skip_blanks(plus + 1) : NULL;
    bool hex = digits && strncmp(digits, "0x", 2) == 0;
    uint64_t offset = 0;
    bool told =
        digits && (hex ? report_take_hex(&digits, &offset) : report_take_decimal(&digits, &offset));
    told = told && *digits == 0 && plus > symbol;
    size_t len = told ? (size_t)(plus - symbol) : strlen(symbol);
    while (told && len > 0 && symbol[len - 1] == ' ') {
        len--; /* Crashlytics writes "NAME + 24" */
    }
    name->offset = told ? offset : 0;
    name->symbol = report_text(r, symbol, len);
}

enum st report_named_frame(struct report *r, const struct report_name *name) {
    struct report_name own = *name;
    if (own.symbol) {
        split_symbol(r, own.symbol, &own);
    }
    return report_unplaced_frame(r, &own);
}

uint64_t report_name_unplaced(struct report *r, const struct report_name *name, uint64_t *number) {
    struct strbuf key = {0};
    struct report_name own = *name;
    bool added = false;
    *number = 0;
    strbuf_addf(&key, "%s%c%s%c%" PRIu32 "%d", own.symbol ? own.symbol : "", 0,
                own.file ? own.file : "", 0, own.line, own.in_app);
    const struct map_entry *entry =
        key.failed ? NULL
                   : map_put(&r->named_places, key.data, key.len, r->named_places.count, &added);
    strbuf_release(&key);
    if (!entry) {
        r->no_memory = true;
        return 0;
    }
    own.address =
        (r->named_first > 0 ? r->named_first : NAMED_FIRST) + NAMED_STEP * (uint64_t)entry->value;
    own.offset = 0;
    *number = report_name(r, &own);
    return own.address;
}

enum st report_unplaced_frame(struct report *r, const struct report_name *name) {
    uint64_t number, address = report_name_unplaced(r, name, &number);
    return r->no_memory ? err_nomem(r->e) : report_frame(r, address);
}

enum st report_file_frame(struct report *r, const struct report_image *image, uint64_t offset,
                          const char *symbol) {
    bool added = false;
    const struct map_entry *entry =
        map_put(&r->file_places, image->path, strlen(image->path), r->file_places.count, &added);
    if (!entry) {
        return err_nomem(r->e);
    }
    if (entry->value >= FILES_MAX || offset >= FILE_STRETCH) {
        return report_named_frame(r, &(struct report_name){.symbol = symbol});
    }
    struct report_image own = *image;
    own.load = FILE_STRETCH * ((uint64_t)entry->value + 1);
    own.name = own.name ? own.name : path_name(own.path);
    if (added) {
        report_image(r, &own);
    }
    if (symbol) {
        struct report_name name = {.address = own.load + offset};
        split_symbol(r, symbol, &name);
        (void)report_name(r, &name);
    }
    return report_frame(r, own.load + offset);
}

/* Is the image's name that of a system library, or missing? */
static bool is_system_name(const char *name) {
    size_t len = name ? strlen(name) : 0;
    return len == 0 || strncmp(name, "dyld", 4) == 0 ||
           (len > 6 && strncmp(name, "lib", 3) == 0 && strcmp(name + len - 6, ".dylib") == 0);
}

bool report_is_app_place(const char *name, uint64_t load) {
    /* __PAGEZERO ends where the app's images may begin, and the shared cache begins where they must
     * end. */
    const uint64_t begin = UINT64_C(1) << 32, end = UINT64_C(0x180000000);
    return load >= begin && load < end && !is_system_name(name);
}
