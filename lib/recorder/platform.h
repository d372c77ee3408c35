/* What a system provides, all of it: the recorder has no other file that names one.
 *
 * A port to a system NAME is a folder NAME/, a row for it in recorder.mk (the folder's files are
 * the build's) and one in the table of rooms of check-layers:
 *
 *     platform_NAME.c   this header but for the spool: clock, words, priority, forks, random bytes;
 *                       joins the files below
 *     capture_NAME.c    struct rec_capture (core/capture.h): a stack of the watched thread with the
 *                       starts of its functions, whether it still runs the stretch, wall_ms,
 *                       random. A function that cannot tell is NULL; dumps then lack the member
 *     threads_NAME.c    the other threads, their states and processor time
 *     images_NAME.c     which image holds an address: id, path, load address, size
 *     device_NAME.c     model, system, architecture, count of processors
 *     spool_NAME.c      the spool's functions, at the end of this header
 *     adapter_X_NAME.c  one for each event loop: the hooks of stallrec.h at its edges
 *
 * Stacks come from frame pointers (darwin/fp_walk) or from unwind tables (unwind/). A processor
 * PROC is, for the tables, arch_PROC.h (registers, red zone, return address, size of the caches),
 * prologue_PROC.c (code that no table covers) and its registers in context_linux.c; for frame
 * pointers its registers in task_darwin.c. On a processor with a link register unwind_link_PROC.c
 * finds the callers of leaves.
 *
 * What runs where: functions with _async in their names run while the watched thread is held up, or
 * in its signal handler, and call only their like: no allocation, no lock, no stdio. The monitor
 * calls all others here, but rec_word_wake (hooks, on the app's threads: no lock, no allocation,
 * errno kept) and what says otherwise. See stallkit-design(7), RECORDER RULES and PORTING. */
#ifndef STALLREC_PLATFORM_H
#define STALLREC_PLATFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/about.h"
#include "core/capture.h"
#include "stallrec.h"

struct rec_platform;

/* How samples were taken, since the start. */
struct capture_counts {
    uint64_t reused;      /* the thread had not run */
    uint64_t blocked;     /* read from outside, without disturbing the thread */
    uint64_t signalled;   /* the thread ran, and was interrupted to be read */
    uint64_t unavailable; /* none of these worked */
    bool gone;            /* the thread was seen to have ended */
};

/* Makes the capture of the calling thread and reads what the dumps say of the machine. config and
 * loop are borrowed, loop for as long as the platform lives. *out is written on STALLREC_OK only;
 * to be freed. Before the monitor thread starts. */
enum stallrec_error rec_platform_new(struct rec_platform **out,
                                     const struct stallrec_config *config,
                                     const struct stallrec_loop *loop);
/* After the monitor thread has ended. NULL is allowed. */
void rec_platform_free(struct rec_platform *platform);

/* The capture's functions; valid until rec_platform_free. */
struct rec_capture rec_platform_capture(struct rec_platform *platform);
/* On the monitor thread. */
struct capture_counts rec_platform_counts(const struct rec_platform *platform);

/* Points about's members on the machine to texts of the platform; and those on the app that are
 * NULL, as far as the program says them (Linux: app_id). */
void rec_platform_describe(const struct rec_platform *platform, struct rec_about *about);

/* Called first on the monitor thread: sets its name, and a priority that a watched thread at 100 %
 * cannot starve, as far as the system allows. */
void rec_platform_enter_monitor(void);

/* CPU time of the process since it began, in ns; UINT64_MAX = not known. */
uint64_t rec_platform_process_cpu_ns(void);

/* When the process began, on the recorder's clock; 0 = not known. */
uint64_t rec_platform_process_start_ns(void);

/* Random bytes; zeros if the system has none. ctx is not used. */
void rec_platform_random(void *ctx, uint8_t *out, size_t len);

/* Once per process: keeps what the platform shares with the program sound over a fork, and has
 * in_child called in each child. */
void rec_platform_watch_forks(void (*in_child)(void));

/* ---- the monitor's sleep: the clock is stallrec_clock_ns ---- */

/* Sleeps while *word == expected, at most until until_ns of stallrec_clock_ns (REC_NEVER = no
 * limit). May return early. */
void rec_word_wait(uint32_t *word, uint32_t expected, uint64_t until_ns);
/* Wakes the thread that waits on the word. Called by hooks on the watched thread: no lock, no
 * allocation, errno kept. */
void rec_word_wake(uint32_t *word);

/* ---- the spool ---- */

/* Allocates the first `size` bytes of a new file, so that writing them needs no room later. Returns
 * 0 or an errno; EOPNOTSUPP: this file system cannot, other than by writing them. */
int rec_spool_allocate(int fd, off_t size);

/* Locks the file for as long as it is open or mapped, where the system has such locks. False:
 * another one, of whatever process, has the lock. */
bool rec_spool_lock(int fd);
/* A forked child does not have the mapping, nor with it the lock. */
void rec_spool_keep_from_children(void *map, size_t size);

/* Copies into the mapping of a file. False: a part of the file is gone, because it was cut short or
 * its disk failed; a plain write there would raise SIGBUS. On a system that cannot copy on request
 * the signal is still possible. */
bool rec_spool_store(unsigned char *to, const unsigned char *from, size_t len);

/* The start time of a process, in the system's units, which together with its number identifies it.
 * 0 = there is none, it is a zombie, or the time is not known. */
uint64_t rec_process_start(uint32_t pid);

#endif
