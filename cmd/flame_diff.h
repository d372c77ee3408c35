/* Implements stallflame --diff: the changes between two inputs. */
#ifndef STALLKIT_CMD_FLAME_DIFF_H
#define STALLKIT_CMD_FLAME_DIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli.h"
#include "flame/diff.h"
#include "flame_inputs.h"

enum { FLAME_LIMITS_MAX = 64, FLAME_MIN_SAMPLES = 10, FLAME_CHANGES = 10 };

/* A comparison. The caller zeroes it and sets min_samples. */
struct flame_diff {
    bool on, normalise;
    const char *summary; /* file for the table of changes; NULL = none */
    uint64_t min_samples;
    struct diff_limit limits[FLAME_LIMITS_MAX];
    size_t limit_count;
    struct flame_inputs base; /* private, as the members below */
    struct stack_pair pair, samples;
};

/* Parses a value of --fail-if and adds it; false: an error was printed. */
bool flame_diff_take_limit(struct flame_diff *d, const struct cli_tool *tool, const char *text);
/* Reads both operands, the first into d->base and the second into `in`, as flame_inputs_read does
 * with the settings of `in`, and pairs their trees. Returns what flame_inputs_read returns; also
 * CLI_FAILED, with the error printed, if the units of both differ or memory ran out. */
int flame_diff_read(struct flame_diff *d, struct flame_inputs *in, char **operands);
/* Prints a line for each limit that is exceeded, and unless `quiet` for each that holds. A limit
 * that is exceeded with less than d->min_samples samples is not judged, which its line says.
 * Returns whether one is exceeded with enough samples. A limit in another unit counts as a failure.
 */
bool flame_diff_judge(const struct flame_diff *d, const char *tool, const char *unit, bool quiet,
                      struct cli_failures *failures);
/* Frees what *d holds. */
void flame_diff_release(struct flame_diff *d);

#endif
