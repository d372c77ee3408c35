/* Runs stallclassify on dumps, with one of several formats of output. */
#include "fuzz/fuzz_command.h"
#include "fuzz/mutate.h"

MUTATE_WITH(mutate_json)

static const struct command_words lines[] = {
    {.words = {"stallclassify", "-j", "1", "-F", "json", "--by", "holder", INPUT}},
    {.words = {"stallclassify", "-j", "1", "--rules", "none", INPUT}},
    {.words = {"stallclassify", "-j", "1", "-F", "json", INPUT}},
    {.words = {"stallclassify", "-j", "1", "--rules", "none", "-F", "csv", INPUT}},
    {.words = {"stallclassify", "-j", "1", "-F", "markdown", "--facets", INPUT}},
    {.words = {"stallclassify", "-j", "1", "--rules", "none", "-F", "junit", INPUT}},
    {.words = {"stallclassify", "-j", "1", "-F", "html", INPUT}},
    {.words = {"stallclassify", "-j", "1", "--annotate", INPUT}},
    {.words = {"stallclassify", "-j", "1", "--rules", "none", "--inlines", INPUT}},
    {.words = {"stallclassify", "-j", "1", "--partial", INPUT}},
    {.words = {"stallclassify", "-j", "1", "--rules", "none", "--keys", "frames", INPUT}},
    {.words = {"stallclassify", "-j", "1", "--no-learn", "-d", STORE, INPUT}},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_make_store();
    return fuzz_command(stallclassify_main, lines, sizeof lines / sizeof *lines, data, size);
}
