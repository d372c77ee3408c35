/* Reads any bytes as JSON, by the tape, by the loader and by Jansson: all must take the same texts
 * and see the same in them. */
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
