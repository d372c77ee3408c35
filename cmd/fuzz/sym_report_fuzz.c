/* Runs stallsym on any bytes, which may be a report in text, a log, an envelope or an archive. */
#include "fuzz/fuzz_command.h"

static const struct command_words lines[] = {
    {.words = {"stallsym", "-j", "1", "--no-learn", "-d", STORE, INPUT}},
    {.words = {"stallsym", "-j", "1", "--raw", INPUT}},
    {.words = {"stallsym", "-j", "1", "--no-learn", "-d", STORE, "-F", "text", INPUT}},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_make_store();
    return fuzz_command(stallsym_main, lines, sizeof lines / sizeof *lines, data, size);
}
