/* Reads any bytes as JSON with the tape, with the loader and with Jansson: all three must accept
 * the same texts and read the same values. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "dump/json/tape_oracle_test.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    bool taken;
    const char *difference = tape_difference((const char *)data, size, &taken);
    if (difference) {
        fprintf(stderr, "the readers differ: %s\n", difference);
        abort();
    }
    return 0;
}
