/* Tables of offsets in CPython's structs, and the reader of the table that Python 3.13 holds
 * itself. */
#include "linux/python_layout.h"

#include <string.h>

static const struct python_layout layouts[] = {
    {.version = 0x0309,
     .frames = PYTHON_FRAME_OBJECTS,
     .lines = PYTHON_LNOTAB,
     .runtime = {32},
     .interpreter = {0, 8},
     .thread = {.next = 8, .thread_id = 176, .frame = 24},
     .frame = {.code = 32, .previous = 24, .instruction = 104},
     .code = {112, 104, 40, 120, 48},
     .text = 48,
     .wide = 72},
    {.version = 0x030a,
     .frames = PYTHON_FRAME_OBJECTS,
     .lines = PYTHON_LINES,
     .runtime = {32},
     .interpreter = {0, 8},
     .thread = {.next = 8, .thread_id = 176, .frame = 24},
     .frame = {.code = 32, .previous = 24, .instruction = 96},
     .code = {112, 104, 40, 120, 48},
     .text = 48,
     .wide = 72},
    {.version = 0x030b,
     .frames = PYTHON_FRAMES_OF_C,
     .lines = PYTHON_LOCATIONS,
     .runtime = {40},
     .interpreter = {0, 16},
     .thread = {.next = 8, .thread_id = 152, .native_id = 160, .frame = 56},
     .frame = {.current = 8, .code = 32, .previous = 48, .instruction = 56, .entry = 68},
     .code = {128, 112, 72, 136, 184},
     .text = 48,
     .wide = 72},
    {.version = 0x030c,
     .frames = PYTHON_FRAMES_OF_C,
     .lines = PYTHON_LOCATIONS,
     .runtime = {40},
     .interpreter = {0, 72},
     .thread = {.next = 8, .thread_id = 136, .native_id = 144, .frame = 56},
     .frame = {.current = 0, .code = 0, .previous = 8, .instruction = 56, .owner = 70},
     .code = {128, 112, 68, 136, 192},
     .text = 40,
     .wide = 56},
};

const struct python_layout *python_layout_of_async(uint16_t version) {
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        if (layouts[i].version == version) {
            return &layouts[i];
        }
    }
    return NULL;
}

/* Indexes of the 8-byte words of struct _Py_DebugOffsets of 3.13; its cookie is word 0. */
enum {
    AT_VERSION = 1,
    AT_FREE_THREADED = 2,
    AT_INTERPRETERS = 5,
    AT_INTERPRETER_NEXT = 8,
    AT_INTERPRETER_THREADS = 9,
    AT_THREAD_NEXT = 21,
    AT_THREAD_FRAME = 23,
    AT_THREAD_ID = 24,
    AT_THREAD_NATIVE_ID = 25,
    AT_FRAME_PREVIOUS = 29,
    AT_FRAME_CODE = 30,
    AT_FRAME_INSTRUCTION = 31,
    AT_FRAME_OWNER = 33,
    AT_CODE_FILENAME = 35,
    AT_CODE_QUALNAME = 37,
    AT_CODE_LINES = 38,
    AT_CODE_FIRST_LINE = 39,
    AT_CODE_BYTES = 43
};

bool python_layout_read_async(const unsigned char *runtime, size_t size, uint16_t version,
                              struct python_layout *out) {
    enum { OFFSET_MAX = 4096, INTERPRETER_MAX = 1 << 20 };
    uint64_t word[AT_CODE_BYTES + 1];
    if (version != 0x030d || size < sizeof word || memcmp(runtime, "xdebugpy", 8) != 0) {
        return false;
    }
    memcpy(word, runtime, sizeof word);
    if (word[AT_VERSION] >> 16 != version || word[AT_FREE_THREADED] != 0 ||
        word[AT_INTERPRETER_NEXT] > INTERPRETER_MAX ||
        word[AT_INTERPRETER_THREADS] > INTERPRETER_MAX) {
        return false;
    }
    for (size_t i = AT_THREAD_NEXT; i <= AT_CODE_BYTES; i++) {
        bool frame = i >= AT_FRAME_PREVIOUS && i <= AT_FRAME_OWNER;
        bool code = i >= AT_CODE_FILENAME && i <= AT_CODE_FIRST_LINE;
        uint64_t limit = frame ? PYTHON_FRAME_BYTES - 8 : code ? PYTHON_CODE_BYTES - 8 : OFFSET_MAX;
        if (word[i] > limit && i != AT_FRAME_OWNER - 1 && i != AT_CODE_FILENAME - 1) {
            return false;
        }
    }
    if (word[AT_INTERPRETERS] > OFFSET_MAX) {
        return false;
    }
    *out = (struct python_layout){
        .version = version,
        .frames = PYTHON_FRAMES,
        .lines = PYTHON_LOCATIONS,
        .runtime = {(uint16_t)word[AT_INTERPRETERS]},
        .interpreter = {(uint32_t)word[AT_INTERPRETER_NEXT],
                        (uint32_t)word[AT_INTERPRETER_THREADS]},
        .thread = {(uint16_t)word[AT_THREAD_NEXT], (uint16_t)word[AT_THREAD_ID],
                   (uint16_t)word[AT_THREAD_NATIVE_ID], (uint16_t)word[AT_THREAD_FRAME]},
        .frame = {.code = (uint16_t)word[AT_FRAME_CODE],
                  .previous = (uint16_t)word[AT_FRAME_PREVIOUS],
                  .instruction = (uint16_t)word[AT_FRAME_INSTRUCTION],
                  .owner = (uint16_t)word[AT_FRAME_OWNER]},
        .code = {(uint16_t)word[AT_CODE_QUALNAME], (uint16_t)word[AT_CODE_FILENAME],
                 (uint16_t)word[AT_CODE_FIRST_LINE], (uint16_t)word[AT_CODE_LINES],
                 (uint16_t)word[AT_CODE_BYTES]},
        .text = 40,
        .wide = 56,
    };
    return true;
}
