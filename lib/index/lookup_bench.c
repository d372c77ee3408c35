/* Measures the time of a look-up in a mapped index: lookup_bench INDEX ROUNDS < ADDRESSES (file
 * addresses in hexadecimal, one per line). It prints the nanoseconds of one look-up, and the number
 * of frames. For scripts/bench/crates; without arguments it does nothing. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/parse.h"
#include "base/vec.h"
#include "index/mapped.h"

static struct lookup_hit hit;

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv) {
    VEC(uint64_t) addresses = {0};
    struct lookup_source *source;
    struct err e = {0};
    char line[64];
    uint64_t rounds = 0, frames = 0;
    if (argc != 3 || !parse_u64(argv[2], strlen(argv[2]), 1000000, &rounds) || rounds == 0) {
        return argc == 1 ? 0 : 2;
    }
    if (mapped_open(&source, argv[1], &e) != ST_OK) {
        fprintf(stderr, "%s: %s\n", argv[1], e.text);
        return 1;
    }
    while (fgets(line, sizeof line, stdin)) {
        uint64_t address;
        if (!parse_hex(line, strcspn(line, "\n"), &address) || !VEC_PUSH(&addresses, address)) {
            return 1;
        }
    }
    double begin = seconds();
    for (uint64_t r = 0; r < rounds; r++) {
        for (size_t i = 0; i < addresses.len; i++) {
            if (lookup_address(source, addresses.data[i], &hit, &e) == ST_OK) {
                frames += hit.frame_count;
            }
        }
    }
    double took = seconds() - begin;
    printf("%.1f %" PRIu64 "\n", took * 1e9 / ((double)rounds * (double)addresses.len),
           frames / rounds);
    VEC_RELEASE(&addresses);
    lookup_close(source);
    return 0;
}
