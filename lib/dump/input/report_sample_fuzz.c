/* Reads any bytes as text of sample(1), and as any report. */
#include "dump/input/report_support_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_report(&report_sample_format, data, size);
    return 0;
}
