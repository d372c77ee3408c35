/* Runs stallclassify on partials, which are merged, or are the baseline of a gate. */
#include "fuzz/fuzz_command.h"
#include "fuzz/mutate.h"

MUTATE_WITH(mutate_json)

static const struct command_words lines[] = {
    {{"stallclassify", "--merge", "-F", "json", INPUT}},
    {{"stallclassify", "--merge", INPUT}},
    {{"stallclassify", "--merge", "--partial", INPUT, INPUT}},
    {{"stallclassify", "--merge", "-F", "html", INPUT}},
    {{"stallclassify", "--merge", "--facets", "-F", "markdown", INPUT}},
    {{"stallclassify", "--merge", "--baseline", INPUT, "--fail-on", "new,regressed", INPUT}},
    {{"stallclassify", "--merge", "--baseline", INPUT, "-F", "junit", INPUT}},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    return fuzz_command(stallclassify_main, lines, sizeof lines / sizeof *lines, data, size);
}
