/* Reads any bytes as records of a perf ring, and checks that the data that is read of a record lies
 * in it. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "attach/perf_record.h"
#include "attach/wait_call.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool sentence) {
    if (!sentence) {
        abort();
    }
}

static void read_one(const uint8_t *bytes, size_t size) {
    struct perf_record r;
    uint64_t args[6];
    static const struct perf_layouts layouts = {
        .event = {1, 2, 3, 4},
        .layout = {PERF_LAYOUT_WHOLE, PERF_LAYOUT_CALLER, PERF_LAYOUT_KEPT, PERF_LAYOUT_TIME},
        .count = 4};
    if (!perf_record_read(bytes, size, &layouts, &r) || r.kind != PERF_RECORD_IS_SAMPLE) {
        return;
    }
    require(r.trace_size <= size && r.stack_size <= size);
    require(r.stack_size == 0 || (r.stack >= bytes && r.stack + r.stack_size <= bytes + size));
    wait_call_arguments(r.trace, r.trace_size, args);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    while (size >= PERF_RECORD_HEADER) {
        size_t record = perf_record_size(data);
        record = record == 0 || record > size ? size : record;
        uint8_t *copy = malloc(record); /* so that a sanitizer reports a read beyond the record */
        if (!copy) {
            return 0;
        }
        memcpy(copy, data, record);
        read_one(copy, record);
        free(copy);
        data += record;
        size -= record;
    }
    return 0;
}
