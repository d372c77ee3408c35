/* The text of what was watched of a program, for the summary of a run. */
#ifndef STALLKIT_CMD_WATCHED_TEXT_H
#define STALLKIT_CMD_WATCHED_TEXT_H

#include <stdbool.h>
#include <stdint.h>

struct strbuf;

/* Returns the ending of a noun after the number n: "s", or "" for 1. */
const char *recorder_plural(uint64_t n);
/* Returns the name of a loop of this kind, an enum finder_kind; "event loop" if it is unknown. */
const char *recorder_loop_kind(uint32_t kind);
/* Is there at least 50 ms of which it is not known whether the program was idle
 * (REC_UNWATCHED_UNCLEAR)? "No stalls" is then printed of what was watched only. unwatched_ms:
 * indexed by enum rec_unwatched. */
bool recorder_is_unclear(const uint64_t *unwatched_ms);
/* Appends "; waited for input 5.2 s" to a line, and for how long it is not known whether the
 * program was idle, each if that is at least 50 ms. unwatched_ms: indexed by enum rec_unwatched;
 * unclear: the place of the wait of REC_UNWATCHED_UNCLEAR, or else of a sleep that brought the loop
 * into doubt; NULL = there was none. */
void recorder_add_input(struct strbuf *line, uint64_t input_ms, const uint64_t *unwatched_ms,
                        const char *unclear);
/* Appends "; not watched: launch 0.9 s, …" to a line: reasons of at least 50 ms, without
 * REC_UNWATCHED_UNCLEAR; nothing if there are none. If no loop is certain, and recorder_add_input
 * has not named `unclear`, appends that it may idle there. The parameters are those of
 * recorder_add_input. */
void recorder_add_reasons(struct strbuf *line, const uint64_t *unwatched_ms, const char *unclear);

/* Appends how many threads were watched, if more than one, and how many of them have an event
 * loop. */
void recorder_add_threads(struct strbuf *line, uint32_t threads, uint32_t loops);
/* Percentage of the time that must have been watched before "no stalls" is printed without "in what
 * was watched". */
enum { RECORDER_WATCHED_PERCENT = 90 };
static inline bool recorder_watched_enough(uint64_t watched_ms, uint64_t wall_ms) {
    return watched_ms * 100 >= wall_ms * RECORDER_WATCHED_PERCENT;
}
/* Appends how many processes there were, how many of them had no loop, for loopless_ms in all (0 =
 * not known), and, if any, of how many others less than RECORDER_WATCHED_PERCENT was watched. */
void recorder_add_processes(struct strbuf *line, uint32_t processes, uint32_t loopless,
                            uint64_t loopless_ms, uint32_t partly);

#endif
