/* Steps a core over a written trace of events, and prints its actions: for tests, and to find out
 * which stalls another setting would have detected. The replay is not part of the recorder that
 * runs in an app.
 *
 * A trace is UTF-8 text, one item per line, `#` begins a comment:
 *
 *     set FIELD VALUE          a number of stallrec_config, `check stall|periodic`,
 *                              `backoff dumps|checks|none`, `restart idle|activity`,
 *                              `detectors NAME,NAME…` or `preset NAME`; before the first event
 *     stack NAME FUNCTION...   innermost first; FUNCTION+OFFSET: elsewhere in the same function
 *     idle NAME FUNCTION...    the same, and it is the loop's own wait
 *     input NAME FUNCTION...   the same, and the thread rests, waiting for input (capture.h)
 *     unclear NAME FUNCTION... the same, and it is not known whether the thread rests
 *     at MS wake|sleep|turn    the loop's edges; MS never falls
 *     at MS activity NAME      entry, before-timers, before-sources, before-waiting, after-waiting
 *                              or exit, and the edge that it stands for
 *     at MS run NAME           from now on the watched thread is in this stack; `none`: no stack
 *                              can be had
 *     at MS answer HOW         to posted tasks: `never`; `once`: to the one that waits, then never;
 *                              `always`: at once, as from the start
 *     at MS tick               of the display
 *     at MS cpu N [THREAD]     from now on the process uses N/1000 of a processor, THREAD the most
 *     at MS launch MARK [AGO]  begin, prewarmed, active or done; start and idle as in core.h;
 *                              AGO ms before
 *     at MS span-begin NAME [LIMIT [NUMBER]]   an action begins, with its limit in ms
 *     at MS span-end NAME [NUMBER]             it ends
 *     at MS doubt AGO          from now on wake and sleep are of all waits, not the loop's alone;
 *                              the process began AGO ms before
 *     at MS attribute PAST AGO the loop is known, since AGO ms before: anew, continues or given-up
 *                              as in core.h
 *     at MS past-idle FROM TO  after attribute: the loop was idle from FROM to TO ms before
 *     at MS past-unknown FROM TO  after attribute: whether the loop was idle then is not known
 *     at MS attributed HOLD    after the past- lines: the dumps found are not written for HOLD ms
 *     at MS suspend LENGTH     the process does not run for LENGTH ms
 *     at MS stop               the end; without it the recorder stops at the last event
 *     expect TEXT              a line of the replay's output; these items are in the output's order
 *
 * MS may have up to six digits after a point. In names of actions and threads %20 stands for the
 * byte 20, and % alone for nothing. A FUNCTION that begins with ? is not known to be one: its
 * frames are equal only if they are the same place.
 *
 * A trace that a recorder wrote has `set steps told`: the core is stepped at the trace's step
 * lines, not at the times for which it asks. All lines but step, wait, write, suspend, tick, cpu,
 * span-begin, span-end and stop may then follow those of later events, and an activity is not an
 * edge. Without `set steps told` the same events are judged again, as for another setting. Such a
 * trace also has these lines:
 *
 *     set used NS              CPU time of the process at the start
 *     at MS step               the core is stepped
 *     at MS wait               the monitor's own work, such as a capture, is over
 *     at MS write              the oldest dump that is closed is written
 *     at MS sample NAME        the stack of one sample; later samples are those of later sample
 *                              lines, or, after the last one, of run
 *     at MS used NS [THREAD]   instead of cpu: CPU time that the process has used
 *     at MS busy N SPAN        N of the SPAN ms from MS on were busy, without an edge
 *     at MS gone               in the next event the loop has moved on since its last edge
 *     at MS answer once N      task N has run; `refuse`: tasks cannot be posted
 *
 * The replay's output has lines such as these (times and lengths in ms; 1.2 = second dump of the
 * first stall):
 *
 *     250 begin 1 runloop                 the first stall, and what found it
 *     250 dump 1.1 runloop save x 3 of 4  captured: its heaviest stack, repeats of the samples
 *     1250 same 1.1                       detected again, suppressed
 *     1250 same none                      the same, and its stall has no dump to count it
 *     1500 veto                           the loop's own wait, or a rest
 *     8000 gap 5000                       the process did not run
 *     8100 gap-stall                      over the threshold only because of a gap
 *     9000 low-rate 20                    frames a second that the loop left time for
 *     812 launch 812 [prewarmed]          from its begin to the first idle loop
 *     2900 end 1 2900
 *     2900 write 1.1 at 250 span 2900 of 2900 ended suppressed 2 gap 0 save=3 layout=1
 *
 * where `write` has `action NAME`, `top THREAD` and `prewarmed` where they apply, and ends with the
 * stacks of the ring and their counts in order of first appearance. */
#ifndef STALLREC_REPLAY_H
#define STALLREC_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/core.h"
#include "support/rec_out.h"

struct rec_replay_sink {
    /* Receives each line of the replay's output, without its newline; text is valid during the
     * call. */
    void (*line)(void *ctx, const char *text);
    /* Receives the text of each "expect" line of the trace. May be NULL. */
    void (*expect)(void *ctx, const char *text);
    /* Receives each dump that would be written. May be NULL. */
    void (*dump)(void *ctx, const struct rec_dump *dump);
    void *ctx;
    /* Name of a preset to use instead of the trace's settings; NULL: the trace's settings are used,
     * and "default" for those that the trace lacks. */
    const char *preset;
    /* Output for a trace of this replay; a replay of that trace gives the same lines. NULL = no
     * trace is written. */
    struct rec_out *trace;
    uint64_t
        /* Maximum number of steps of the core, after which a longer trace is refused; 0 = no limit.
         */
        steps_max;
};

/* Replays a trace. False: the text is no valid trace, is too long, or memory ran out; message holds
 * the number of the line and the reason. No global state. */
bool rec_replay(const char *text, size_t len, const struct rec_replay_sink *sink, char *message,
                size_t message_size);

#endif
