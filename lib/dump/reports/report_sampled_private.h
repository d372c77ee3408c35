/* Parses the frames of Apple's texts of sampled stacks. */
#ifndef STALLKIT_DUMP_REPORT_SAMPLED_PRIVATE_H
#define STALLKIT_DUMP_REPORT_SAMPLED_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dump/json/span_private.h"

struct report;

/* What a frame's last parenthesis gives: "(IMAGE + 24)"; "(FILE:31,1 in IMAGE + 24)" and "(FILE in
 * IMAGE + 24)", of reports with source lines; "(in IMAGE + 24)" up to Mac OS X 10.8. */
struct sampled_place {
    size_t open; /* index of the parenthesis; 0 = there is none */
    struct span source, image;
    uint64_t offset;
    bool placed; /* image and offset are given */
};
/* Parses the last parenthesis of a frame, of `len` bytes up to its "[0x…]". s has a NUL behind. */
struct sampled_place sampled_place_of(const char *s, size_t len);

/* Adds the symbol in front of the last parenthesis, with the source line in it, and returns its
 * number; 0: there is none. */
uint64_t sampled_frame_name(struct report *r, uint64_t address, const char *s, size_t len);

#endif
