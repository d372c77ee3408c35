/* Runs stallsym on JSON, which may be a dump or a report. */
#include "fuzz/fuzz_command.h"
#include "fuzz/mutate.h"

MUTATE_WITH(mutate_json)

static const struct command_words lines[] = {
    {.words = {"stallsym", "-j", "1", "--no-learn", "-d", STORE, INPUT}},
    {.words = {"stallsym", "-j", "1", "--no-learn", "-d", STORE, "-F", "text", INPUT}},
    {.words = {"stallsym", "-j", "1", "--raw", INPUT}},
    {.words = {"stallsym", "-j", "1", "--no-learn", "-d", STORE, "--full-names", INPUT}},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_make_store();
    return fuzz_command(stallsym_main, lines, sizeof lines / sizeof *lines, data, size);
}
