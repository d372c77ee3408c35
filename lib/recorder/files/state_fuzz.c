/* Reads any bytes as the file of the recorder's state. Either they are refused, or they are exactly
 * the text that is written for the state that was read. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "files/state.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct rec_state state;
    char text[REC_STATE_TEXT];
    if (size <= UINT32_MAX && rec_state_parse((const char *)data, (uint32_t)size, &state)) {
        uint32_t len = rec_state_format(&state, text);
        if (len != size || memcmp(text, data, size) != 0 || state.day < 0) {
            abort();
        }
    }
    return 0;
}
