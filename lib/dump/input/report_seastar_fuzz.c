/* Reads any bytes as a log of Seastar's stalls, and as any report. */
#include "dump/input/report_support_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_report(&report_seastar_format, data, size);
    return 0;
}
