/* Reads a frame in KSCrash's form, for threads, profiles and the trees of Matrix. */
#include <string.h>

#include "base/parse.h"
#include "base/path.h"
#include "dump/reports/report_private.h"

/* Adds the image that a frame mentions, unless one with its load address is known. Reports without
 * a list of images name images only in frames. */
static void read_own_image(struct report *r, const json_t *frame) {
    struct report_image image = {.name = report_member(r, frame, "object_name")};
    const char *uuid = json_string_value(json_object_get(frame, "object_uuid"));
    if (!report_address(json_object_get(frame, "object_addr"), &image.load) || image.load == 0) {
        return;
    }
    for (size_t i = 0; i < r->images.len; i++) {
        if (r->images.data[i].load == image.load) {
            return;
        }
    }
    if (uuid) {
        (void)parse_uuid(uuid, strlen(uuid), &image.id);
    }
    image.name = path_name(image.name);
    report_image(r, &image);
}

bool report_kscrash_frame(void *report, const json_t *frame, uint64_t *out) {
    struct report *r = report;
    struct report_name name = {.symbol = report_member(r, frame, "symbol_name")};
    uint64_t start;
    const json_t *address = json_object_get(frame, "instruction_addr");
    address = address ? address : json_object_get(frame, "instruction_address");
    if (!report_address(address ? address : json_object_get(frame, "address"), out)) {
        return false;
    }
    name.symbol = name.symbol ? name.symbol : report_member(r, frame, "symbol");
    name.address = *out;
    if (report_address(json_object_get(frame, "symbol_addr"), &start)) {
        uint64_t at = report_strip(r, *out);
        start = report_strip(r, start);
        name.offset = start <= at ? at - start : 0;
    }
    (void)report_name(r, &name);
    /* This limits the cost, because the list is searched for each new image. */
    if (r->images.len < 4096) {
        read_own_image(r, frame);
    }
    return true;
}
