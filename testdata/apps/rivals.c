/* Programs whose handlers wait much as their event loop does: `rivals CASE`. Each prints the stalls
 * that it made, "stall BEGIN END" in ns of CLOCK_MONOTONIC:
 *
 *     peers         handlers wait for replies by the loop's own call, on another descriptor
 *     polling       handlers poll for replies each millisecond
 *     polling-last  the same, and the last handler stalls, too
 *     shallower     handlers wait for replies by a call that is shallower than the loop's
 *     wide          the loop's call needs much stack of its own, so that its wait is deeper on the
 *                   stack than those of a handler, which waits for a reply in slices
 *     shared        handlers wait for replies by the loop's own call, beside one of its descriptors
 *     narrowed      handlers wait for one of the loop's two descriptors, only while they stall
 *     renumbered    the loop's descriptor has another number each turn
 *     handled       a signal interrupts each wait of the loop, and its handler polls for a reply
 *     handled-often      the same, but the handler polls 40 times
 *     handled-condition  the loop waits for a condition variable, and signals come each
 * millisecond, which do not end its wait; their handler polls handled-aside      as handled, but
 * the loop is a thread's, named "aside", and the handler has a stack of its own above the thread's
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "app.h"

enum { STALL_MS = 600, TURN_MS = 60, REPLY_MS = 3, TURNS = 16, RENUMBERED = 40, NUMBERS = 13 };

static int events[2], replies[2], wakes[2];
static bool stalls_last;
static volatile int none =
    -1; /* a constant would make the compiler clone the function that waits */

static long long now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (long long)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Waits, as an interpreter's function for waits does. */
OWN_FRAME static void wait_for(int fd, int ms) {
    struct pollfd p = {.fd = fd, .events = POLLIN};
    poll(&p, 1, ms);
    KEEP_FRAME();
}

/* Each of a stall's waits for a descriptor and, beside it, the loop's wake-up pipe. */
OWN_FRAME static void wait_for_both(int fd, int ms) {
    enum { PARTS = 6 };
    struct pollfd p[] = {{.fd = wakes[0], .events = POLLIN}, {.fd = fd, .events = POLLIN}};
    volatile int parts = ms == STALL_MS ? PARTS : 1, each = ms / parts;
    while (parts-- > 0) {
        poll(p, 2, each); /* the only call */
    }
    KEEP_FRAME();
}

/* A call by name would make the compiler clone the function, and so the place of its waits. */
static void (*volatile wait_again)(int fd, int ms) = wait_for_both;

OWN_FRAME static void wait_for_wake(int fd, int ms) {
    (void)fd;
    if (ms == STALL_MS) {
        wait_again(-1, ms);
    }
    KEEP_FRAME();
}

OWN_FRAME static void wait_deeper(int fd, int ms) {
    volatile char room[4096];
    struct pollfd p = {.fd = fd, .events = POLLIN};
    room[0] = 0;
    poll(&p, 1, ms);
    room[1] = room[0];
}

OWN_FRAME static void poll_for(int fd, int ms) {
    struct pollfd p = {.fd = fd, .events = POLLIN};
    for (long long end = now_ns() + (long long)ms * 1000000; now_ns() < end;) {
        poll(&p, 1, 1);
    }
    KEEP_FRAME();
}

/* Waits as CPython's select.select does, which has its sets of descriptors on the stack. */
OWN_FRAME static void wait_wide(int fd, int ms) {
    volatile char room[65536];
    struct timeval timeout = {ms / 1000, ms % 1000 * 1000};
    fd_set set;
    room[0] = 0;
    FD_ZERO(&set);
    FD_SET(fd, &set);
    select(fd + 1, &set, NULL, NULL, &timeout);
    room[1] = room[0];
}

/* Waits for a reply in slices, and only where the turn is a stall. */
OWN_FRAME static void wait_in_slices(int fd, int ms) {
    enum { SLICES = 6 };
    struct pollfd p = {.fd = fd, .events = POLLIN};
    for (int i = 0; ms == STALL_MS && i < SLICES; i++) {
        poll(&p, 1, ms / SLICES);
    }
    KEEP_FRAME();
}

/* The turns of a loop; in each of its two last thirds one turn is a stall. */
static void run(void (*wait_event)(int fd, int ms), void (*wait_reply)(int fd, int ms)) {
    for (int i = 0; i < 3 * TURNS; i++) {
        bool last = i == 3 * TURNS - 1;
        bool stalls = (i > TURNS && i % TURNS == TURNS / 2) || (last && stalls_last);
        wait_event(events[0], i == 2 * TURNS ? 10 * TURN_MS : TURN_MS);
        long long begin = now_ns();
        wait_reply(replies[0], stalls ? STALL_MS : REPLY_MS);
        if (stalls) {
            printf("stall %lld %lld\n", begin, now_ns());
            fflush(stdout);
        }
    }
}

static void wait_renumbered(int fd, int ms) {
    static int turn;
    int other = dup2(fd, RENUMBERED + 5 * turn++ % NUMBERS);
    wait_for(other, ms);
    close(other);
}

static void sleep_for(int fd, int ms) {
    (void)fd;
    sleep_ms(ms);
}

static void handle_signal(int number) {
    int error = errno;
    (void)number;
    wait_deeper(replies[0], REPLY_MS);
    errno = error;
}

static void wait_interrupted(int fd, int ms) {
    const struct itimerval once = {.it_value.tv_usec = TURN_MS / 2 * 1000};
    setitimer(ITIMER_REAL, &once, NULL);
    wait_for(fd, ms);
}

static void handle_often(int number) {
    enum { POLLS = 40 };
    handle_signal(number);
    for (int i = 0; i < POLLS; i++) {
        wait_for(replies[0], 0);
    }
}

static void poll_once(int number) {
    int error = errno;
    (void)number;
    wait_for(replies[0], 0);
    errno = error;
}

static void set_timer(int us) {
    const struct itimerval timer = {{0, us}, {0, us}};
    setitimer(ITIMER_REAL, &timer, NULL);
}

OWN_FRAME static void wait_condition(int fd, int ms) {
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    struct timespec t;
    (void)fd;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_nsec += ms * 1000000L;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    set_timer(1000);
    pthread_mutex_lock(&mutex);
    pthread_cond_timedwait(&condition, &mutex, &t);
    pthread_mutex_unlock(&mutex);
    set_timer(0);
}

enum { STACK_SIZE = 1 << 20 };

static void *run_aside(void *stack) {
    const stack_t other = {.ss_sp = (char *)stack + STACK_SIZE, .ss_size = STACK_SIZE};
    struct sigaction action = {.sa_handler = handle_signal, .sa_flags = SA_ONSTACK};
    sigset_t set;
    pthread_setname_np(pthread_self(), "aside");
    sigaltstack(&other, NULL);
    sigaction(SIGALRM, &action, NULL);
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    run(wait_interrupted, sleep_for);
    return NULL;
}

/* Runs the loop on a thread whose stack is below the one of its handlers. */
static void start_aside(void) {
    void *stack =
        mmap(NULL, 2 * STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_attr_t attr;
    pthread_t thread;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    pthread_attr_init(&attr);
    if (stack == MAP_FAILED || pthread_attr_setstack(&attr, stack, STACK_SIZE) != 0 ||
        pthread_create(&thread, &attr, run_aside, stack) != 0) {
        die("pthread_create");
    }
    pthread_join(thread, NULL);
}

int main(int argc, char **argv) {
    if (argc < 2 || pipe(events) != 0 || pipe(replies) != 0 || pipe(wakes) != 0) {
        die("usage: rivals CASE");
    }
    if (strcmp(argv[1], "peers") == 0) {
        run(wait_for, wait_for);
    } else if (strncmp(argv[1], "polling", strlen("polling")) == 0) {
        stalls_last = strcmp(argv[1], "polling-last") == 0;
        run(wait_for, poll_for);
    } else if (strcmp(argv[1], "shallower") == 0) {
        run(wait_deeper, wait_for);
    } else if (strcmp(argv[1], "wide") == 0) {
        run(wait_wide, wait_in_slices);
    } else if (strcmp(argv[1], "shared") == 0) {
        run(wait_for_both, wait_for_both);
    } else if (strcmp(argv[1], "narrowed") == 0) {
        run(wait_again, wait_for_wake);
    } else if (strcmp(argv[1], "renumbered") == 0) {
        run(wait_renumbered, sleep_for);
    } else if (strcmp(argv[1], "handled") == 0) {
        signal(SIGALRM, handle_signal);
        run(wait_interrupted, sleep_for);
    } else if (strcmp(argv[1], "handled-often") == 0) {
        signal(SIGALRM, handle_often);
        run(wait_interrupted, sleep_for);
    } else if (strcmp(argv[1], "handled-condition") == 0) {
        signal(SIGALRM, poll_once);
        run(wait_condition, sleep_for);
    } else if (strcmp(argv[1], "handled-aside") == 0) {
        start_aside();
    } else {
        die("no such case");
    }
    return 0;
}
