/* Programs whose event loop is not easy to tell from their other waits: `waits CASE`. Each prints
 * the stalls that it made, "stall BEGIN END" in ns of CLOCK_MONOTONIC:
 *
 *     early         sleeps before each of its first waits
 *     once          waits once in main, then a deeper function loops
 *     nested        in a turn, a loop of its own on another epoll instance, from the same place
 *     reused        the same while the loop has no instance, so that both have one number
 *     probes        polls without waiting from deeper down, while it works
 *     two-loops     a loop, a stall, another loop
 *     start-up      a library waits often before the loop does, and in its turns
 *     quiet         waits seldom: twice
 *     condition     a loop on a condition variable
 *     places        waits once at each of two places, and stalls after each
 *     worker        a loop on descriptors, that waits for a worker in a turn
 *     replies       waits once for each of its descriptors
 *     input         a loop on descriptors; a turn waits for standard input, a pipe, and then works
 *     prompt        the same with select(2), and a terminal
 *     reply         the same as input, but it reads another pipe, which is its stall
 *     locked        waits again and again for a lock that another thread holds
 *     ring          a loop that waits in io_uring_enter(2); ends with 77 where there is none
 *     none          never waits
 *     die           is killed in a stall */
#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/time_types.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#include "app.h"

enum { STALL_MS = 600, TURN_MS = 20, TURNS = 6 };

static int quiet_pipe[2], other_pipe[2];

static long long now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (long long)t.tv_sec * 1000000000 + t.tv_nsec;
}

OWN_FRAME static void stall(long ms) {
    long long begin = now_ns();
    sleep_ms(ms);
    printf("stall %lld %lld\n", begin, now_ns());
    fflush(stdout);
}

static void wait_select(int fd, int ms) {
    struct timeval timeout = {ms / 1000, ms % 1000 * 1000};
    fd_set set;
    FD_ZERO(&set);
    FD_SET(fd, &set);
    select(fd + 1, &set, NULL, NULL, &timeout);
}

static void wait_poll(int fd, int ms) {
    struct pollfd p = {.fd = fd, .events = POLLIN};
    poll(&p, 1, ms);
}

OWN_FRAME static void turns(int n) {
    for (int i = 0; i < n; i++) {
        wait_poll(quiet_pipe[0], TURN_MS);
    }
    KEEP_FRAME();
}

/* Uses stack, so that what it calls is deeper than any loop. */
OWN_FRAME static void deeper(void (*run)(void)) {
    volatile char room[4096];
    room[0] = 0;
    run();
    room[1] = room[0];
}

static void early(int n, long ms) {
    for (int i = 0; i < n; i++) {
        if (i > 0) {
            stall(ms); /* the first is the launch */
        } else {
            sleep_ms(ms);
        }
        wait_select(quiet_pipe[0], TURN_MS);
    }
    wait_select(quiet_pipe[0], TURN_MS);
}

OWN_FRAME static void loop_with_stall(void) {
    turns(TURNS);
    stall(STALL_MS);
    turns(TURNS);
}

static void once(void) {
    wait_select(other_pipe[0], TURN_MS);
    deeper(loop_with_stall);
}

/* Waits as libuv's uv_run does, at one place for every instance. */
OWN_FRAME static void run_instance(int epoll, int n, int ms) {
    struct epoll_event event;
    for (int i = 0; i < n; i++) {
        epoll_wait(epoll, &event, 1, ms);
    }
    KEEP_FRAME();
}

static void run_nested(void) {
    int epoll = epoll_create1(0);
    long long begin = now_ns();
    run_instance(epoll, 1, STALL_MS);
    printf("stall %lld %lld\n", begin, now_ns());
    close(epoll);
}

static void nested(void) {
    int epoll = epoll_create1(0);
    run_instance(epoll, TURNS, TURN_MS);
    deeper(run_nested);
    run_instance(epoll, TURNS, TURN_MS);
    deeper(run_nested);
    run_instance(epoll, TURNS, TURN_MS);
}

static void reused(void) {
    for (int i = 0; i < 3; i++) {
        int epoll = epoll_create1(0);
        run_instance(epoll, TURNS, TURN_MS);
        close(epoll);
        if (i < 2) {
            deeper(run_nested);
        }
    }
}

/* Waits as vim's RealWaitForChar does, at one place for waits and for looks without a wait. */
OWN_FRAME static void look(int ms) {
    wait_poll(quiet_pipe[0], ms);
    KEEP_FRAME();
}

static void look_deeper(void) {
    look(0);
}

static void probes(void) {
    for (int i = 0; i < TURNS; i++) {
        look(TURN_MS);
    }
    long long begin = now_ns();
    for (int i = 0; i < 10; i++) {
        sleep_ms(100);
        deeper(look_deeper);
    }
    printf("stall %lld %lld\n", begin, now_ns());
    for (int i = 0; i < TURNS; i++) {
        look(TURN_MS);
    }
}

OWN_FRAME static void next_loop(void) {
    for (int i = 0; i < TURNS; i++) {
        wait_select(other_pipe[0], 2 * TURN_MS);
    }
    KEEP_FRAME();
}

/* Waits at two places for the same, once at each. */
static void at_places(void) {
    wait_poll(quiet_pipe[0], TURN_MS);
    stall(STALL_MS);
    wait_poll(quiet_pipe[0], TURN_MS);
    stall(STALL_MS);
    KEEP_FRAME();
}

static void two_loops(void) {
    turns(TURNS);
    stall(STALL_MS);
    next_loop();
}

OWN_FRAME static void library_waits(void) {
    for (int i = 0; i < TURNS; i++) {
        sleep_ms(i == 3 ? STALL_MS : 1); /* the stall belongs to the launch */
        wait_select(other_pipe[0], 5);
    }
    KEEP_FRAME();
}

OWN_FRAME static void both_turns(int n) {
    for (int i = 0; i < n; i++) {
        struct pollfd p[] = {{.fd = other_pipe[0], .events = POLLIN},
                             {.fd = quiet_pipe[0], .events = POLLIN}};
        poll(p, 2, TURN_MS);
    }
    KEEP_FRAME();
}

static void start_up(void) {
    deeper(library_waits);
    both_turns(TURNS);
    long long begin = now_ns();
    deeper(library_waits);
    printf("stall %lld %lld\n", begin, now_ns());
    both_turns(TURNS);
}

static void quiet(void) {
    deeper(library_waits);
    both_turns(1);
    stall(STALL_MS);
    both_turns(1);
    KEEP_FRAME();
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;

OWN_FRAME static void wait_condition(int ms) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_nsec += (long)ms * 1000000;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    pthread_mutex_lock(&lock);
    pthread_cond_timedwait(&cond, &lock, &t);
    pthread_mutex_unlock(&lock);
}

static void condition(void) {
    for (int i = 0; i < 2 * TURNS; i++) {
        wait_condition(TURN_MS);
        if (i == TURNS) {
            stall(STALL_MS);
        }
    }
}

static void worker(void) {
    for (int i = 0; i < TURNS; i++) {
        wait_condition(TURN_MS);
    }
    turns(TURNS);
    long long begin = now_ns();
    wait_condition(STALL_MS);
    printf("stall %lld %lld\n", begin, now_ns());
    turns(TURNS);
}

static void replies(void) {
    for (int i = 0; i < TURNS; i++) {
        int ends[2];
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) {
            die("socketpair");
        }
        wait_poll(ends[0], TURN_MS);
        close(ends[0]);
        close(ends[1]);
    }
}

static void die_in_stall(void) {
    turns(TURNS);
    printf("stall %lld %lld\n", now_ns(), now_ns() + (long long)STALL_MS * 1000000);
    fflush(stdout);
    sleep_ms(STALL_MS);
    kill(getpid(), SIGKILL);
}

/* Waits for timeouts of a ring, and sleeps in one turn. It prints no stall, because none of its
 * time is watched. */
static void ring(void) {
    struct io_uring_params p = {.sq_entries = 0};
    int fd = (int)syscall(SYS_io_uring_setup, 4, &p);
    if (fd < 0) {
        exit(77);
    }
    int access = PROT_READ | PROT_WRITE;
    char *sq = mmap(NULL, p.sq_off.array + p.sq_entries * sizeof(uint32_t), access, MAP_SHARED, fd,
                    IORING_OFF_SQ_RING);
    char *cq = mmap(NULL, p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe), access,
                    MAP_SHARED, fd, IORING_OFF_CQ_RING);
    struct io_uring_sqe *entries =
        mmap(NULL, p.sq_entries * sizeof *entries, access, MAP_SHARED, fd, IORING_OFF_SQES);
    if (sq == MAP_FAILED || cq == MAP_FAILED || entries == MAP_FAILED) {
        die("mmap");
    }
    uint32_t *tail = (uint32_t *)(void *)(sq + p.sq_off.tail);
    uint32_t *array = (uint32_t *)(void *)(sq + p.sq_off.array);
    struct __kernel_timespec turn = {.tv_nsec = TURN_MS * 1000000};
    for (uint32_t i = 0; i < 3 * TURNS; i++) {
        uint32_t at = i & (p.sq_entries - 1);
        entries[at] = (struct io_uring_sqe){
            .opcode = IORING_OP_TIMEOUT, .fd = -1, .addr = (uint64_t)(uintptr_t)&turn, .len = 1};
        array[at] = at;
        __atomic_store_n(tail, i + 1, __ATOMIC_RELEASE);
        if (syscall(SYS_io_uring_enter, fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1) {
            die("io_uring_enter");
        }
        __atomic_store_n((uint32_t *)(void *)(cq + p.cq_off.head), i + 1, __ATOMIC_RELEASE);
        if (i == TURNS) {
            sleep_ms(STALL_MS);
        }
    }
}

/* Writes a byte to the pipe after the length of a stall. */
static void *write_late(void *pipe) {
    sleep_ms(STALL_MS);
    return write(((const int *)pipe)[1], "", 1) == 1 ? pipe : NULL;
}

OWN_FRAME static void read_byte(int fd) {
    char byte;
    if (read(fd, &byte, 1) != 1) {
        die("read");
    }
    KEEP_FRAME();
}

OWN_FRAME static void select_and_read(int fd) {
    wait_select(fd, 10 * STALL_MS);
    read_byte(fd);
}

/* Waits until another thread writes to ends[1], and reads it from ends[0]. */
static void await_byte(int *ends, void (*take)(int fd)) {
    pthread_t writer;
    if (pthread_create(&writer, NULL, write_late, ends) != 0) {
        die("pthread_create");
    }
    take(ends[0]);
    pthread_join(writer, NULL);
}

static void input(void) {
    if (dup2(other_pipe[0], STDIN_FILENO) != STDIN_FILENO) {
        die("dup2");
    }
    other_pipe[0] = STDIN_FILENO;
    turns(TURNS);
    await_byte(other_pipe, read_byte);
    stall(STALL_MS);
    turns(TURNS);
}

/* Reads a terminal twice, the first time before the loop has waited often enough to be known. */
static void prompt(void) {
    int ends[2] = {-1, posix_openpt(O_RDWR | O_NOCTTY)};
    if (ends[1] < 0 || grantpt(ends[1]) != 0 || unlockpt(ends[1]) != 0 ||
        (ends[0] = open(ptsname(ends[1]), O_RDWR | O_NOCTTY)) < 0) {
        exit(77);
    }
    struct termios raw;
    tcgetattr(ends[0], &raw);
    cfmakeraw(&raw);
    tcsetattr(ends[0], TCSANOW, &raw);
    for (int i = 0; i < 2; i++) {
        turns(i == 0 ? 1 : TURNS);
        await_byte(ends, select_and_read);
        stall(STALL_MS);
    }
    turns(TURNS);
}

static void reply(void) {
    turns(TURNS);
    long long begin = now_ns();
    await_byte(other_pipe, read_byte);
    printf("stall %lld %lld\n", begin, now_ns());
    fflush(stdout);
    turns(TURNS);
}

static pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;

static void *hold_lock(void *held) {
    char byte;
    pthread_rwlock_wrlock(&table_lock);
    if (write(((const int *)held)[1], "", 1) == 1 && read(quiet_pipe[0], &byte, 1) == 1) {
        pthread_rwlock_unlock(&table_lock);
    }
    return NULL;
}

/* Waits for a lock, which takes the same system call as a wait for a condition variable. */
static void locked(void) {
    pthread_t holder;
    char byte;
    if (pthread_create(&holder, NULL, hold_lock, other_pipe) != 0 ||
        read(other_pipe[0], &byte, 1) != 1) {
        die("pthread_create");
    }
    for (int i = 0; i < TURNS; i++) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 150000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_rwlock_timedrdlock(&table_lock, &until);
    }
    if (write(quiet_pipe[1], "", 1) == 1) {
        pthread_join(holder, NULL);
    }
}

static void none(void) {
    sleep_ms(STALL_MS);
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"once", once},     {"nested", nested},       {"reused", reused},
                 {"probes", probes}, {"two-loops", two_loops}, {"start-up", start_up},
                 {"quiet", quiet},   {"condition", condition}, {"places", at_places},
                 {"worker", worker}, {"replies", replies},     {"input", input},
                 {"prompt", prompt}, {"reply", reply},         {"locked", locked},
                 {"ring", ring},     {"none", none},           {"die", die_in_stall}};
    const char *name = argc > 1 ? argv[1] : "";
    if (pipe(quiet_pipe) != 0 || pipe(other_pipe) != 0) {
        die("pipe");
    }
    if (strcmp(name, "early") == 0) {
        early(3, 2 * STALL_MS);
        return 0;
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (strcmp(name, cases[i].name) == 0) {
            cases[i].run();
            return 0;
        }
    }
    fputs("usage: waits "
          "early|once|nested|probes|two-loops|start-up|quiet|places|condition|worker|replies|"
          "input|prompt|reply|locked|ring|none|die\n",
          stderr);
    return 2;
}
