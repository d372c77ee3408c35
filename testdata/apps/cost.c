/* What a recorder costs the program that it is in: `cost MODE [--recorder DIR]`, for
 * scripts/bench/recorder, which runs each mode with the recorder and without. Prints "name value"
 * lines: times in ns, memory in kB.
 *
 *     asleep    the loop waits all the time
 *     healthy   8 ms of work each 20 ms
 *     busy      80 ms of work at a time, hardly a wait
 *     blocked   one stall, in a system call, 20 frames deep
 *     running   one stall that computes, 20 frames deep
 *     echo      a client's requests through an epoll loop, one at a time
 *     stalls    the same, and a stall of 0.4 s each second
 *     memory    before the start, after it, and after a stall with 64 threads
 *     dump      a stall with 6 threads, 30 frames deep each
 *     edges     the hooks alone
 *     often     1,000 turns a second, until it is killed: a line each second
 *     rare      200 turns a second, the same
 *     stalled   computes, 20 frames deep, until it is killed
 */
#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "app.h"
#include "stallrec.h"

enum { RUN_MS = 3000, FRAMES = 20, ECHOES_MAX = 1 << 20 };

static struct stallrec *recorder;
static struct stallrec_loop *watched; /* NULL: no recorder */
static volatile uint64_t sink;

static uint64_t clock_ns(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void work_ms(int64_t ms) {
    uint64_t until = clock_ns(CLOCK_MONOTONIC) + (uint64_t)ms * 1000000;
    while (clock_ns(CLOCK_MONOTONIC) < until) {
        for (int i = 0; i < 2000; i++) {
            sink = sink * 6364136223846793005u + 1;
        }
    }
}

static void say(const char *name, uint64_t value) {
    printf("%s %llu\n", name, (unsigned long long)value);
}

/* ---- the recorder, and what the system knows of its thread ---- */

static void start_recorder(const char *directory) {
    struct stallrec_config config;
    stallrec_config_init(&config, sizeof config);
    config.directory = directory;
    config.detectors = STALLREC_DETECT_RUNLOOP;
    enum stallrec_error error = stallrec_start(&recorder, &config);
    if (error != STALLREC_OK) {
        fprintf(stderr, "cost: %s: %s\n", directory, stallrec_error_text(error));
        exit(1);
    }
    watched = stallrec_main_loop(recorder);
}

static bool read_task(const char *task, const char *file, char *text, size_t size) {
    char path[512];
    snprintf(path, sizeof path, "/proc/self/task/%s/%s", task, file);
    FILE *f = fopen(path, "r");
    if (!f) {
        return false;
    }
    size_t n = fread(text, 1, size - 1, f);
    text[n] = '\0';
    fclose(f);
    return true;
}

struct monitor {
    char task[64];
    uint64_t cpu_ns, waits;
};

static struct monitor look_at_monitor(void) {
    struct monitor m = {.task = ""};
    char text[4096];
    DIR *dir = opendir("/proc/self/task");
    for (struct dirent *e; dir && (e = readdir(dir)) != NULL;) {
        if (read_task(e->d_name, "comm", text, sizeof text) && !strcmp(text, "stallrec\n")) {
            snprintf(m.task, sizeof m.task, "%.60s", e->d_name);
        }
    }
    closedir(dir);
    if (read_task(m.task, "schedstat", text, sizeof text)) {
        m.cpu_ns = strtoull(text, NULL, 10);
    }
    if (read_task(m.task, "status", text, sizeof text)) {
        const char *at = strstr(text, "\nvoluntary_ctxt_switches:");
        m.waits = at ? strtoull(at + 25, NULL, 10) : 0;
    }
    return m;
}

/* ---- from one point of time to another ---- */

static struct {
    struct monitor monitor;
    uint64_t wall_ns, cpu_ns;
} begun;

static void begin(void) {
    begun.monitor = look_at_monitor();
    begun.cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    begun.wall_ns = clock_ns(CLOCK_MONOTONIC);
}

static void end(void) {
    uint64_t wall = clock_ns(CLOCK_MONOTONIC), cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    struct monitor m = look_at_monitor();
    say("wall", wall - begun.wall_ns);
    say("cpu", cpu - begun.cpu_ns);
    say("monitor_cpu", m.cpu_ns - begun.monitor.cpu_ns);
    say("monitor_waits", m.waits - begun.monitor.waits);
}

static void loop_sleeps(void) {
    if (watched) {
        stallrec_loop_sleep(watched);
    }
}

static void loop_wakes(void) {
    if (watched) {
        stallrec_loop_wake(watched);
    }
}

/* ---- one stall, or none ---- */

OWN_FRAME static void at_depth(unsigned depth, void (*leaf)(void)) {
    if (depth > 1) {
        at_depth(depth - 1, leaf);
    } else {
        leaf();
    }
    KEEP_FRAME();
}

static void leaf_blocked(void) {
    sleep_ms(RUN_MS);
}

static void leaf_running(void) {
    work_ms(RUN_MS);
}

static void run_stall(void (*leaf)(void)) {
    loop_wakes();
    begin();
    at_depth(FRAMES, leaf);
    end();
    loop_sleeps();
}

static void run_asleep(void) {
    loop_wakes();
    sleep_ms(50);
    loop_sleeps();
    sleep_ms(500); /* time for the work of the monitor after an edge */
    begin();
    sleep_ms(RUN_MS);
    end();
}

static void run_turns(long work, long wait) {
    begin();
    int64_t until = now_ms() + RUN_MS;
    while (now_ms() < until) {
        loop_wakes();
        work_ms(work);
        loop_sleeps();
        sleep_ms(wait);
    }
    end();
}

/* ---- echo ---- */

static int server_end, client_end;
static uint64_t *latencies;
static unsigned echoes;

static void *client(void *unused) {
    (void)unused;
    uint64_t until = clock_ns(CLOCK_MONOTONIC) + RUN_MS * UINT64_C(1000000), now;
    char byte = 'x';
    while ((now = clock_ns(CLOCK_MONOTONIC)) < until && echoes < ECHOES_MAX) {
        if (write(client_end, &byte, 1) != 1 || read(client_end, &byte, 1) != 1) {
            break;
        }
        latencies[echoes++] = clock_ns(CLOCK_MONOTONIC) - now;
    }
    shutdown(client_end, SHUT_WR);
    return NULL;
}

static int by_value(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static uint64_t status_kb(const char *file, const char *name) {
    char text[8192];
    const char *at;
    FILE *f = fopen(file, "r");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    text[n] = '\0';
    if (f) {
        fclose(f);
    }
    at = strstr(text, name);
    return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

static void run_echo(bool stalls) {
    int ends[2];
    pthread_t thread;
    struct epoll_event event = {.events = EPOLLIN};
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    latencies = calloc(ECHOES_MAX, sizeof *latencies);
    if (!latencies || socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) {
        die("socketpair");
    }
    server_end = ends[0], client_end = ends[1];
    if (epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, server_end, &event) != 0) {
        die("epoll");
    }
    begin();
    if (pthread_create(&thread, NULL, client, NULL) != 0) {
        die("pthread_create");
    }
    int64_t next_stall = now_ms() + 500;
    for (bool over = false; !over;) {
        char byte;
        loop_sleeps();
        int n = epoll_wait(epoll, &event, 1, -1);
        loop_wakes();
        if (n == 1 && (read(server_end, &byte, 1) != 1 || write(server_end, &byte, 1) != 1)) {
            over = true;
        }
        if (stalls && now_ms() >= next_stall) {
            sleep_ms(400);
            next_stall += 1000;
        }
    }
    loop_sleeps();
    pthread_join(thread, NULL);
    end();
    qsort(latencies, echoes, sizeof *latencies, by_value);
    say("echoes", echoes);
    say("latency_p50", latencies[echoes / 2]);
    say("latency_p99", latencies[(uint64_t)echoes * 99 / 100]);
    say("rss", status_kb("/proc/self/status", "VmRSS:"));
}

/* ---- memory and dumps ---- */

static void say_memory(const char *when) {
    char name[64];
    snprintf(name, sizeof name, "private_%s", when);
    say(name, status_kb("/proc/self/smaps_rollup", "Private_Dirty:") +
                  status_kb("/proc/self/smaps_rollup", "Private_Clean:"));
    snprintf(name, sizeof name, "pss_%s", when);
    say(name, status_kb("/proc/self/smaps_rollup", "Pss:"));
}

static void leaf_wait(void) {
    poll(NULL, 0, -1);
}

static void *waiting_thread(void *depth) {
    at_depth((unsigned)(uintptr_t)depth, leaf_wait);
    return NULL;
}

static void start_threads(unsigned count, uintptr_t depth) {
    for (unsigned i = 0; i < count; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, waiting_thread, (void *)depth) != 0) {
            die("pthread_create");
        }
        pthread_detach(thread);
    }
    sleep_ms(50);
}

static void leaf_stall(void) {
    sleep_ms(2500);
}

static void run_memory(const char *directory) {
    start_threads(63, FRAMES);
    say_memory("warm"); /* the cost of the first reading is not counted */
    say_memory("before");
    if (directory) {
        start_recorder(directory);
    }
    sleep_ms(300);
    say_memory("started");
    loop_wakes();
    at_depth(FRAMES, leaf_stall);
    loop_sleeps();
    sleep_ms(500);
    say_memory("stalled");
}

static void run_dump(void) {
    start_threads(5, 30 - 3); /* poll, leaf and the thread's start are frames, too */
    loop_wakes();
    at_depth(30 - 4, leaf_stall);
    loop_sleeps();
    sleep_ms(500);
}

static void run_edges(void) {
    enum { PAIRS = 200000, ROUNDS = 15 };
    for (unsigned round = 0; round < ROUNDS; round++) {
        uint64_t begin_ns = clock_ns(CLOCK_MONOTONIC);
        for (unsigned i = 0; i < PAIRS; i++) {
            loop_wakes();
            loop_sleeps();
        }
        say("pair_ps", (clock_ns(CLOCK_MONOTONIC) - begin_ns) * 1000 / PAIRS);
    }
}

/* ---- for a recorder outside ---- */

static void wait_in_loop(int epoll, int timer) {
    struct epoll_event event;
    uint64_t times;
    epoll_wait(epoll, &event, 1, -1);
    if (read(timer, &times, sizeof times) < 0) {
        exit(1);
    }
}

/* Prints the processor time of a turn each second, for ever. */
static void run_rate(long rate) {
    struct itimerspec each = {.it_interval.tv_nsec = 1000000000 / rate,
                              .it_value.tv_nsec = 1000000000 / rate};
    int epoll = epoll_create1(0), timer = timerfd_create(CLOCK_MONOTONIC, 0);
    struct epoll_event event = {.events = EPOLLIN};
    timerfd_settime(timer, 0, &each, NULL);
    epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &event);
    for (;;) {
        uint64_t cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID), turns = 0;
        for (uint64_t since = clock_ns(CLOCK_MONOTONIC);
             clock_ns(CLOCK_MONOTONIC) - since < 1000000000; turns++) {
            wait_in_loop(epoll, timer);
        }
        say("turn_cpu", (clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu) / turns);
        fflush(stdout);
    }
}

/* Runs a loop first, so that the recorder finds it, and then a stall that does not end. */
static void leaf_for_ever(void) {
    int epoll = epoll_create1(0);
    struct epoll_event event;
    for (int i = 0; i < 100; i++) {
        epoll_wait(epoll, &event, 1, 20);
    }
    for (;;) {
        work_ms(1000);
    }
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "";
    const char *directory = argc > 3 && !strcmp(argv[2], "--recorder") ? argv[3] : NULL;
    if (directory && strcmp(mode, "memory") != 0) {
        start_recorder(directory);
        sleep_ms(100);
    }
    if (!strcmp(mode, "asleep")) {
        run_asleep();
    } else if (!strcmp(mode, "healthy")) {
        run_turns(8, 12);
    } else if (!strcmp(mode, "busy")) {
        run_turns(80, 2);
    } else if (!strcmp(mode, "blocked")) {
        run_stall(leaf_blocked);
    } else if (!strcmp(mode, "running")) {
        run_stall(leaf_running);
    } else if (!strcmp(mode, "echo") || !strcmp(mode, "stalls")) {
        run_echo(!strcmp(mode, "stalls"));
    } else if (!strcmp(mode, "memory")) {
        run_memory(directory);
    } else if (!strcmp(mode, "dump")) {
        run_dump();
    } else if (!strcmp(mode, "edges")) {
        run_edges();
    } else if (!strcmp(mode, "often")) {
        run_rate(1000);
    } else if (!strcmp(mode, "rare")) {
        run_rate(200);
    } else if (!strcmp(mode, "stalled")) {
        at_depth(FRAMES, leaf_for_ever);
    } else {
        fputs("usage: cost MODE [--recorder DIR]\n", stderr);
        return 2;
    }
    stallrec_stop(recorder);
    return 0;
}
