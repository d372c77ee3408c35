/* Runs stalladdr on any bytes as an object file, or, if their number is a multiple of 4, stallsym,
 * which makes a symbol index of them. */
#include "fuzz/fuzz_command.h"
#include "fuzz/mutate.h"

MUTATE_WITH(mutate_object)

/* For a file of several architectures, stalladdr fails unless -arch selects one. */
static const struct command_words lookups[] = {
    {.words = {"stalladdr", "--no-index", "-j", "1", "-i", "-o", INPUT, "--offset", "0", "0x1234",
               "0x1270", "0x12c0"},
     .may_ask = true},
    {.words = {"stalladdr", "--no-index", "-j", "1", "-F", "llvm-json", "-o", INPUT, "0x11a8",
               "0x1190", "0x100000500"},
     .may_ask = true},
    {.words = {"stalladdr", "--no-index", "-j", "1", "-i", "-o", INPUT, "--section", ".text", "0",
               "0x40"},
     .may_ask = true},
};

static const struct command_words builds[] = {
    {.words = {"stallsym", "--index", "-j", "1", "--store", STORE, INPUT}},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size % 4 != 0) {
        return fuzz_command(stalladdr_main, lookups, sizeof lookups / sizeof *lookups, data, size);
    }
    fuzz_folder();
    fuzz_remove_store();
    return fuzz_command(stallsym_main, builds, 1, data, size);
}
