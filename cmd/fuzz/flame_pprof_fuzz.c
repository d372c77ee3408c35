/* Runs stallflame on profiles of pprof. */
#include "fuzz/fuzz_command.h"
#include "fuzz/mutate.h"

MUTATE_WITH(mutate_protobuf)

static const struct command_words lines[] = {
    {.words = {"stallflame", "--rules", "none", "-F", "folded", INPUT}},
    {.words = {"stallflame", "--rules", "none", "-F", "svg", INPUT}},
    {.words = {"stallflame", "--rules", "none", "-F", "speedscope", INPUT}},
    {.words = {"stallflame", "--rules", "none", "-F", "pprof", INPUT}},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    return fuzz_command(stallflame_main, lines, sizeof lines / sizeof *lines, data, size);
}
