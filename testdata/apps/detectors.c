/* An app that calls all of stallrec.h, and does what each detector looks for when it is told to:
 *
 *     detectors DIR DETECTORS TRACE [ACTION]...
 *
 * DETECTORS: their bits, or-ed. Actions, a healthy 300 ms apart: hang, freeze (for longer),
 * late-task, slow-action, burn; and launch, first of all, which is slow. `patient` raises all
 * limits. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "loop.h"
#include "stallrec.h"

enum {
    TICK_MS = 16, /* ms from one frame that is drawn to the next */
    HEALTHY_MS = 300,
    LAUNCH_TAKES_MS = 900,
    HANG_MS = 900,
    FREEZE_MS = 2500, /* long enough to contain a whole second of the frame-rate detector */
    TASK_LATE_MS = 1500,
    ACTION_TAKES_MS = 1200,
    BURN_MS = 3000,
    BURNERS = 3 /* enough threads to use more than the limit's share of a processor, also beside
                   other work */
};

static struct stallrec *rec;
static struct stallrec_loop *watched;
static char **action; /* the next action; NULL behind the last one */
static int64_t next_ms, tasks_late_until_ms;
static atomic_uint_fast64_t posted; /* the task that waits to be run; 0 = none */

/* ---- what the detectors look for ---- */

OWN_FRAME static void load_page_on_main_thread(long ms) {
    sleep_ms(ms);
    KEEP_FRAME();
}

static void *decode(void *unused) {
    volatile uint64_t sink = 1;
    int64_t until = now_ms() + BURN_MS;
    while (now_ms() < until) {
        for (int i = 0; i < 100000; i++) {
            sink = sink * 6364136223846793005u + 1;
        }
    }
    return unused;
}

static void *end_action(void *id) {
    sleep_ms(ACTION_TAKES_MS);
    stallrec_span_end(rec, (uint64_t)(uintptr_t)id);
    return NULL;
}

static void start_thread(void *(*run)(void *), void *arg, const char *name) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, arg) != 0) {
        die("pthread_create");
    }
    pthread_setname_np(thread, name);
    pthread_detach(thread);
}

/* Begins an action; returns the ms for which it continues after this function has returned. */
static int64_t begin_action(const char *name) {
    if (strcmp(name, "hang") == 0) {
        load_page_on_main_thread(HANG_MS);
    } else if (strcmp(name, "freeze") == 0) {
        load_page_on_main_thread(FREEZE_MS);
    } else if (strcmp(name, "late-task") == 0) {
        tasks_late_until_ms = now_ms() + TASK_LATE_MS;
        return TASK_LATE_MS;
    } else if (strcmp(name, "slow-action") == 0) {
        uint64_t id = stallrec_span_begin(rec, "check out", 0);
        start_thread(end_action, (void *)(uintptr_t)id, "network");
        return ACTION_TAKES_MS;
    } else if (strcmp(name, "burn") == 0) {
        for (int i = 0; i < BURNERS; i++) {
            start_thread(decode, NULL, "decoder");
        }
        return BURN_MS;
    }
    return 0;
}

/* ---- the loop ---- */

/* Called on the monitor thread: wakes the loop by an eventfd. */
static int post(void *ctx, uint64_t number) {
    atomic_store(&posted, number);
    loop_post(ctx);
    return 1;
}

static void run_task(void) {
    uint64_t number = now_ms() >= tasks_late_until_ms ? atomic_exchange(&posted, 0) : 0;
    if (number != 0) {
        stallrec_ping_done(rec, number);
    }
}

static void on_tick(struct loop *loop, uint64_t ticks) {
    (void)ticks;
    stallrec_frame(rec);
    run_task();
    if (now_ms() < next_ms) {
        return;
    }
    if (!*action) {
        loop->stopped = true;
        return;
    }
    int64_t goes_on = begin_action(*action++);
    next_ms = now_ms() + goes_on + HEALTHY_MS;
}

static void on_event(struct loop *loop) {
    (void)loop;
    run_task();
}

static void before_wait(void) {
    stallrec_loop_sleep(watched);
}

static void after_wait(void) {
    stallrec_loop_wake(watched);
}

int main(int argc, char **argv) {
    struct stallrec_config config;
    struct loop loop = {.on_tick = on_tick, .on_event = on_event};
    if (argc < 4) {
        return 2;
    }
    action = argv + 4;
    bool patient = *action && strcmp(*action, "patient") == 0;
    stallrec_config_init(&config, sizeof config);
    config.directory = argv[1];
    config.detectors = (uint32_t)strtoul(argv[2], NULL, 10);
    config.trace_path = argv[3];
    config.threshold_ms = patient ? 5000 : 400;
    config.check_ms = patient ? 1000 : 200;
    config.first_sample_ms = 50;
    config.sem_ms = patient ? 2000 : 100;
    config.sem_count = 3;
    config.ping_ms = patient ? 5000 : 600;
    config.ping_every_ms = 100;
    config.frame_hz = 60;
    config.cpu_limit_permille = patient ? 900 : 100;
    config.launch_ms = patient ? 5000 : 300;
    config.span_ms = patient ? 5000 : 300;
    config.write_deadline_ms = 200;
    if (stallrec_start(&rec, &config) != STALLREC_OK) {
        return 1;
    }
    watched = stallrec_main_loop(rec);
    loop_open(&loop, TICK_MS);
    stallrec_set_poster(rec, post, &loop);
    if (*action && strcmp(*action, "launch") == 0) {
        load_page_on_main_thread(LAUNCH_TAKES_MS);
        action++;
    } else if (patient) {
        action++;
        stallrec_span_end(rec, stallrec_span_begin(rec, "quick", 0));
    }
    next_ms = now_ms() + HEALTHY_MS;
    loop_run(&loop, before_wait, after_wait);
    stallrec_set_poster(rec, NULL, NULL);
    stallrec_stop(rec);
    stallrec_frame(rec); /* nothing happens any more */
    stallrec_span_end(rec, stallrec_span_begin(rec, "late", 0));
    return 0;
}
