/* Runs stallflame on any bytes, which may be folded stacks, a file of speedscope, or a dump. */
#include "fuzz/fuzz_command.h"

static const struct command_words lines[] = {
    {.words = {"stallflame", "-j", "1", "--rules", "none", INPUT}},
    {.words = {"stallflame", "-j", "1", "-F", "folded", INPUT}},
    {.words = {"stallflame", "-j", "1", "--rules", "none", "-F", "speedscope", INPUT}},
    {.words = {"stallflame", "-j", "1", "-F", "pprof", INPUT}},
    {.words = {"stallflame", "-j", "1", "--reverse", "--inverted", "--by", "cause", INPUT}},
    {.words = {"stallflame", "-j", "1", "--rules", "none", "--flamechart", "--max-depth", "5",
               INPUT}},
    {.words = {"stallflame", "-j", "1", "--diff", "-F", "markdown", INPUT, INPUT}},
    {.words = {"stallflame", "-j", "1", "--rules", "none", "--diff", INPUT, INPUT}},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    return fuzz_command(stallflame_main, lines, sizeof lines / sizeof *lines, data, size);
}
