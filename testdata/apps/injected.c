/* A program whose loop stalls at random, and which tells when, to the nanosecond:
 *
 *     injected --stalls N --seed S [--hooks DIR] [--threshold MS]
 *
 * N stalls of 0.3 to 5 s in six ways, and after each some healthy turns. Every busy stretch of the
 * loop that is longer than half the threshold is printed, whoever made it so:
 *
 *     stall KIND BEGIN-FROM BEGIN-TO END-FROM END-TO
 *
 * with the bounds of its begin and its end in ns of CLOCK_MONOTONIC; KIND "none" is a stretch into
 * which no stall was injected: the processor was somebody else's. The recorder's own looks at the
 * clock, in hooks or preloaded, are between the bounds however loaded the machine is. A first line
 * "clock NS" tells by how much CLOCK_REALTIME is ahead, a last one "late NS" how long the
 * recorder's thread waited for a processor, which is the kernel's figure and not the recorder's. */
#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>

#include "loop.h"
#include "stallrec.h"

enum { TICK_MS = 15, HEALTHY_TICKS = 12, STALL_MIN_MS = 300, STALL_MAX_MS = 5000 };

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint64_t random_state;

static uint32_t random_below(uint32_t limit) { /* splitmix64 */
    uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)((z ^ z >> 31) % limit);
}

/* ---- the ways to stall ---- */

static long stall_ms;
static volatile uint64_t sink;
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t release_cond = PTHREAD_COND_INITIALIZER;
static sem_t helper_sem, got_sem;
static int answer[2];

/* Holds the lock for a stall's time, then answers. */
static void *helper(void *unused) {
    (void)unused;
    for (;;) {
        while (sem_wait(&helper_sem) != 0) {
        }
        pthread_mutex_lock(&held);
        sem_post(&got_sem);
        sleep_ms(stall_ms);
        pthread_mutex_unlock(&held);
        if (write(answer[1], "x", 1) != 1) {
            die("answer");
        }
    }
    return NULL;
}

static void begin_helper(void) {
    sem_post(&helper_sem);
    while (sem_wait(&got_sem) != 0) {
    }
}

static void take_answer(void) {
    char byte;
    if (read(answer[0], &byte, 1) != 1) {
        die("answer");
    }
}

OWN_FRAME static void stall_sleep(void) {
    sleep_ms(stall_ms);
    KEEP_FRAME();
}

OWN_FRAME static void stall_compute(void) {
    uint64_t until = now_ns() + (uint64_t)stall_ms * 1000000;
    while (now_ns() < until) {
        for (int i = 0; i < 10000; i++) {
            sink = sink * 6364136223846793005u + 1;
        }
    }
}

OWN_FRAME static void stall_lock(void) {
    begin_helper();
    pthread_mutex_lock(&held);
    pthread_mutex_unlock(&held);
    take_answer();
}

OWN_FRAME static void stall_read(void) {
    begin_helper();
    take_answer();
    KEEP_FRAME();
}

OWN_FRAME static void stall_poll(void) {
    struct pollfd p = {.fd = answer[0], .events = POLLIN};
    begin_helper();
    while (poll(&p, 1, -1) < 0 && errno == EINTR) {
    }
    take_answer();
}

OWN_FRAME static void stall_cond(void) {
    struct timespec t;
    pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_sec += stall_ms / 1000;
    t.tv_nsec += stall_ms % 1000 * 1000000;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    pthread_mutex_lock(&own);
    while (pthread_cond_timedwait(&release_cond, &own, &t) == 0) {
    }
    pthread_mutex_unlock(&own);
}

static const struct {
    const char *name;
    void (*run)(void);
    uint32_t weight; /* computing is rare: many of these programs run at a time */
} ways[] = {{"sleep", stall_sleep, 4}, {"lock", stall_lock, 4}, {"read", stall_read, 4},
            {"poll", stall_poll, 4},   {"cond", stall_cond, 4}, {"compute", stall_compute, 1}};

enum { WAYS = sizeof ways / sizeof *ways };

static unsigned choose_way(void) {
    uint32_t all = 0, way = 0;
    for (unsigned i = 0; i < WAYS; i++) {
        all += ways[i].weight;
    }
    for (uint32_t at = random_below(all); at >= ways[way].weight; way++) {
        at -= ways[way].weight;
    }
    return way;
}

/* ---- the loop, and what it says of itself ---- */

/* Bounds of the latest edges. */
static struct {
    uint64_t begin_from, begin_to, end_from;
    const char *kind; /* injected into this stretch */
    const char *last_kind;
    bool open; /* a stretch whose end is not bounded yet */
} edges = {.kind = "none"};

static struct loop app_loop;
static struct stallrec_loop *watched; /* NULL: no hooks */
static uint64_t tell_ns;
static unsigned stalls_left, healthy;

/* The edge that ended the stretch is no later than `to`. */
static void tell(uint64_t to) {
    if (edges.open && (to - edges.begin_from >= tell_ns || strcmp(edges.last_kind, "none") != 0)) {
        printf("stall %s %llu %llu %llu %llu\n", edges.last_kind,
               (unsigned long long)edges.begin_from, (unsigned long long)edges.begin_to,
               (unsigned long long)edges.end_from, (unsigned long long)to);
        fflush(stdout);
    }
    edges.open = false;
}

static uint64_t wait_from; /* no later than the edge that the wait's end is */

static void before_wait(void) {
    edges.end_from = now_ns();
    edges.last_kind = edges.kind;
    edges.kind = "none";
    edges.open = edges.begin_to != 0;
    if (watched) {
        stallrec_loop_sleep(watched);
        tell(now_ns());
    }
    wait_from = now_ns();
}

/* Preloaded, the recorder sees the wait's ends from within it. The timer keeps it short. */
static void after_wait(void) {
    if (watched) {
        wait_from = now_ns();
        stallrec_loop_wake(watched);
    } else {
        tell(now_ns());
    }
    edges.begin_to = now_ns();
    edges.begin_from = wait_from;
}

static void on_tick(struct loop *loop, uint64_t ticks) {
    (void)ticks;
    if (++healthy < HEALTHY_TICKS + stalls_left % 7) {
        return;
    }
    healthy = 0;
    if (stalls_left == 0) {
        loop->stopped = true;
        return;
    }
    stalls_left--;
    unsigned way = choose_way();
    stall_ms = STALL_MIN_MS + (long)random_below(STALL_MAX_MS - STALL_MIN_MS + 1);
    edges.kind = ways[way].name;
    ways[way].run();
}

static void on_event(struct loop *loop) {
    (void)loop;
}

static struct stallrec *start_recorder(const char *directory, uint32_t threshold_ms) {
    struct stallrec_config config;
    struct stallrec *recorder;
    stallrec_config_init(&config, sizeof config);
    config.directory = directory;
    config.threshold_ms = threshold_ms;
    enum stallrec_error error = stallrec_start(&recorder, &config);
    if (error != STALLREC_OK) {
        fprintf(stderr, "injected: %s: %s\n", directory, stallrec_error_text(error));
        exit(1);
    }
    watched = stallrec_main_loop(recorder);
    return recorder;
}

/* Looks through the threads for the recorder's: it is not told of here if it is preloaded. */
static uint64_t monitor_waited_ns(void) {
    DIR *tasks = opendir("/proc/self/task");
    unsigned long long waited = 0;
    for (struct dirent *task; tasks && (task = readdir(tasks)) != NULL;) {
        char path[300], name[16] = "";
        unsigned long long ran, wait = 0;
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", task->d_name);
        FILE *file = fopen(path, "r");
        if (file) {
            if (fscanf(file, "%15s", name) != 1) {
                name[0] = '\0';
            }
            fclose(file);
        }
        snprintf(path, sizeof path, "/proc/self/task/%s/schedstat", task->d_name);
        file = strcmp(name, "stallrec") == 0 ? fopen(path, "r") : NULL;
        if (file) {
            if (fscanf(file, "%llu %llu", &ran, &wait) == 2) {
                waited += wait;
            }
            fclose(file);
        }
    }
    if (tasks) {
        closedir(tasks);
    }
    return waited;
}

int main(int argc, char **argv) {
    const char *hooks = NULL;
    uint32_t threshold_ms = 250;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--stalls")) {
            stalls_left = (unsigned)strtoul(argv[i + 1], NULL, 10);
        } else if (!strcmp(argv[i], "--seed")) {
            random_state = strtoull(argv[i + 1], NULL, 10);
        } else if (!strcmp(argv[i], "--hooks")) {
            hooks = argv[i + 1];
        } else if (!strcmp(argv[i], "--threshold")) {
            threshold_ms = (uint32_t)strtoul(argv[i + 1], NULL, 10);
        }
    }
    if (stalls_left == 0) {
        fputs("usage: injected --stalls N --seed S [--hooks DIR] [--threshold MS]\n", stderr);
        return 2;
    }
    tell_ns = (uint64_t)threshold_ms * 500000;
    pthread_t thread;
    if (pipe(answer) != 0 || sem_init(&helper_sem, 0, 0) != 0 || sem_init(&got_sem, 0, 0) != 0 ||
        pthread_create(&thread, NULL, helper, NULL) != 0) {
        die("injected");
    }
    struct timespec wall;
    clock_gettime(CLOCK_REALTIME, &wall);
    printf("clock %lld\n",
           (long long)wall.tv_sec * 1000000000 + wall.tv_nsec - (long long)now_ns());
    app_loop.on_tick = on_tick;
    app_loop.on_event = on_event;
    loop_open(&app_loop, TICK_MS);
    struct stallrec *recorder = hooks ? start_recorder(hooks, threshold_ms) : NULL;
    loop_run(&app_loop, before_wait, after_wait);
    if (watched) {
        stallrec_loop_sleep(watched);
    }
    printf("late %llu\n", (unsigned long long)monitor_waited_ns());
    stallrec_stop(recorder);
    return 0;
}
