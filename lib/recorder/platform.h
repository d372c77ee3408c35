/* What the monitor needs from an operating system beside the capture and the words of loop.h. One
 * file per platform implements it: platform_linux.c, platform_darwin.c. */
#ifndef STALLREC_PLATFORM_H
#define STALLREC_PLATFORM_H

#include "core/capture.h"
#include "core/about.h"
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

#endif
