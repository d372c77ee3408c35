#include "dump/report_support_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_report(REPORT_CRASH, data, size);
    return 0;
}
