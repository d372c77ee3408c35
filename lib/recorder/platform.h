/* Declares the functions that each system provides for the recorder.
 *
 * A port to a system NAME is a folder NAME/, a row for it in recorder.mk (the folder's files are
 * the build's) and one in the table of rooms of check-layers:
 *
 *     platform_NAME.c   this header but for the spool: clock, words, priority, forks, random bytes;
 *                       calls the functions of the files below
 *     capture_NAME.c    struct rec_capture (core/capture.h): a stack of the watched thread with the
 *                       starts of its functions, whether it still runs the stretch, wall_ms,
 *                       random. A function that cannot tell is NULL; dumps then lack the member
 *     threads_NAME.c    the other threads, their states and processor time
 *     images_NAME.c     which image holds an address: id, path, load address, size
 *     device_NAME.c     model, system, architecture, count of processors
 *     spool_NAME.c      the spool's functions, at the end of this header
 *     adapter_X_NAME.c  one for each event loop: the hooks of stallrec.h at its edges
 *
 * Stacks come from frame pointers (darwin/fp_walk) or from unwind tables (unwind/). For unwind
 * tables a processor PROC needs arch_PROC.h (registers, red zone, return address, size of the
 * caches), prologue_PROC.c (code that no table covers) and its registers in signal_linux.c; for
 * frame pointers it needs its registers in task_darwin.c. For a processor with a link register
 * unwind_link_PROC.c finds the callers of leaves.
 *
 * What runs where: functions with _async in their names run while the watched thread is held up,
 * or in its signal handler, and call only functions with _async in their names: no allocation, no
 * lock, no stdio. All other functions of this header are called on the monitor thread or, while
 * the recorder or the watching of a thread starts or stops, on the app's thread, except
 * rec_word_wake (called by hooks on the app's threads: no lock, no allocation, errno kept) and
 * where a comment says otherwise. See stallkit-design(7), RECORDER RULES and PORTING. */
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
struct rec_loop_latest;

/* Numbers of samples, by the way in which they were taken, since the start. */
struct capture_counts {
    /* The thread had not run since the last sample, which was therefore used again. */
    uint64_t reused;
    uint64_t blocked;     /* samples read from outside, without disturbing the thread */
    uint64_t signalled;   /* the thread ran, and was interrupted for the sample */
    uint64_t unavailable; /* no sample could be taken */
    bool gone;            /* the thread was seen to have ended */
};

/* Makes the capture of the calling thread and reads the description of the machine for dumps.
 * config is borrowed during the call, loop until rec_platform_free. *out is written on STALLREC_OK
 * only. It must be called before the monitor thread starts. */
enum stallrec_error rec_platform_new(struct rec_platform **out,
                                     const struct stallrec_config *config,
                                     const struct stallrec_loop *loop);
/* Makes the capture of the calling thread as rec_platform_new does, beside `first`, with which it
 * shares the state about the process; `first` must be freed later. It may be called while the
 * monitor thread runs. */
enum stallrec_error rec_platform_new_beside(struct rec_platform **out, struct rec_platform *first,
                                            const struct stallrec_config *config,
                                            const struct stallrec_loop *loop);
/* Compares samples of waits with the latest wait of the thread's loop, which is borrowed until
 * rec_platform_free, and does not signal the thread while latest->guard forbids it. No effect on
 * Darwin. It must be called before the first sample, for a loop that is found while it runs. */
void rec_platform_compare(struct rec_platform *platform, struct rec_loop_latest *latest);
/* Is the calling thread the process's main thread? */
bool rec_platform_is_main_thread(void);
/* Frees the platform, which may be NULL. It must be called on the monitor thread, or while that
 * thread does not use the platform. */
void rec_platform_free(struct rec_platform *platform);

/* Returns the table of the capture's functions; valid until rec_platform_free. */
struct rec_capture rec_platform_capture(struct rec_platform *platform);
/* Returns the numbers of samples so far, by the way in which they were taken. It must be called on
 * the monitor thread. */
struct capture_counts rec_platform_counts(const struct rec_platform *platform);

/* Points the members of *about that describe the machine to texts of the platform, valid until
 * rec_platform_free; and, where the system knows them (Linux: app_id), the members that describe
 * the app and are NULL. */
void rec_platform_describe(const struct rec_platform *platform, struct rec_about *about);

/* Sets the name of the monitor thread, and a priority that a watched thread at 100 % cannot
 * starve, as far as the system allows. It is the first call on the monitor thread. */
void rec_platform_enter_monitor(void);

/* Returns the CPU time of the process since it began, in ns; UINT64_MAX = not known. */
uint64_t rec_platform_process_cpu_ns(void);

/* Returns the time at which the process began, on the recorder's clock; 0 = not known. It may be
 * called on any thread. */
uint64_t rec_platform_process_start_ns(void);

/* Fills out[0 .. len) with random bytes, or with zeros if the system has none. ctx is not used. */
void rec_platform_random(void *ctx, uint8_t *out, size_t len);

/* Keeps the platform's locks usable across a fork, and makes each forked child call in_child. It
 * must be called once per process. */
void rec_platform_watch_forks(void (*in_child)(void));

/* ---- the monitor's sleep: the clock is stallrec_clock_ns ---- */

/* Sleeps while *word == expected, at most until until_ns (REC_NEVER = no limit). It may return
 * early. */
void rec_word_wait(uint32_t *word, uint32_t expected, uint64_t until_ns);
/* Wakes the thread that waits on the word. Hooks call it on the watched thread: no lock, no
 * allocation, errno kept. */
void rec_word_wake(uint32_t *word);

/* ---- the spool ---- */

/* Allocates the first `size` bytes of a new file, so that writing them needs no further room.
 * Returns 0 or an errno; EOPNOTSUPP: this file system can allocate bytes only by writing them. */
int rec_spool_allocate(int fd, off_t size);

/* Locks the file for as long as it is open or mapped, where the system has such locks. False:
 * another descriptor, of this or another process, holds the lock. */
bool rec_spool_lock(int fd);
/* Keeps a mapped file out of forked children, so that none of them holds its lock. */
void rec_spool_keep_from_children(void *map, size_t size);

/* Copies `len` bytes into the mapping of a file. False: a part of the file is gone, because the
 * file was truncated or its disk failed, so that a plain store would raise SIGBUS. Where the
 * system cannot check the copy, SIGBUS is still possible. */
bool rec_spool_store(unsigned char *to, const unsigned char *from, size_t len);

/* Returns the start time of a process, in the system's units, which identifies it together with its
 * id. 0 = there is no such process, the time is not known, or, on Linux, the process is a
 * zombie. */
uint64_t rec_process_start(uint32_t pid);

#endif
