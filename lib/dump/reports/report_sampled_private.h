/* Parses the frames of Apple's texts of sampled stacks. */
#ifndef STALLKIT_DUMP_REPORT_SAMPLED_PRIVATE_H
#define STALLKIT_DUMP_REPORT_SAMPLED_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dump/json/span_private.h"

#include "dump/reports/report_private.h"

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

/* Returns the length of the executable's name in "Shop (My Shop) [301]". */
size_t report_process_name_len(const char *name);
/* Notes for which thread of the same process the samples of this line waited, if the line names
 * one. If lines name several owners, the first is kept, until one line of another owner has more
 * samples than all lines of the kept owner so far; then that one is kept. now: the thread that is
 * read; NULL = none. process: "Shop [301]"; NULL = not given. */
void report_note_blocker(struct report_outline_thread *now, const char *process, const char *line);

#endif
