/* For tests only: makes the Nth allocation fail. Every x_test program is linked with failmalloc.c
 * and with `-Wl,--wrap=malloc …`, which sends the calls of the test and of lib/ (not those inside
 * shared libraries) through it: malloc, calloc, realloc, free, strdup, strndup, and pthread_create.
 * A library that takes allocation functions joins in: json_set_alloc_funcs(malloc, free).
 *
 *     static void parse_it(void *ctx, bool refused) { … assert_true(refused || st == ST_OK); … }
 *     assert_true(failmalloc_sweep(parse_it, &input) > 0);
 *
 * Usable from several threads; arming is for one at a time. Works with the sanitizers. Where the
 * linker knows no --wrap (macOS) nothing ever fails, and failmalloc_works says so. */
#ifndef STALLKIT_BASE_FAILMALLOC_H
#define STALLKIT_BASE_FAILMALLOC_H

#include <stdbool.h>

bool failmalloc_works(void);

/* Makes the nth allocation from now on (1 = the next) fail, and all later ones too if
 * `and_later`. */
void failmalloc_arm(unsigned long nth, bool and_later);
/* Stops all failing. Returns whether an allocation failed since failmalloc_arm. */
bool failmalloc_disarm(void);

/* Returns the number of allocations that were tried since failmalloc_arm, those that failed
 * included; if that was never called, since the program began. */
unsigned long failmalloc_calls(void);
/* Returns the number of blocks that wrapped calls allocated and did not free yet. */
long failmalloc_live(void);

/* Calls run(ctx, true) with the 1st, 2nd, 3rd … allocation failing, each once alone and once
 * with all later ones, until no allocation of a run fails; then run(ctx, false) with nothing
 * failing. Returns how many allocations a run makes; 0 if a run left another number of live
 * blocks than it found. */
unsigned long failmalloc_sweep(void (*run)(void *ctx, bool refused), void *ctx);

#endif
