/* An event loop with stalls, to be recorded from outside. It prints the length of each stall as it
 * measured it, and in how many waits it was interrupted.
 *
 *     outside [filter] TURNS   a turn is a wait of 20 ms; turn 10 of 20 computes for 400 ms, turn
 *                              19 of 20 sleeps for 300 ms
 *     outside fast TURNS       waits of 1 us, and the same stalls in turns 10 and 19 of 20,000
 *     outside threads TURNS    two more threads have the loop: "net-loop" on epoll,
 *                              "AWT-EventQueue-" on a condition variable; the main thread has none
 *     outside fork TURNS       a child has the same loop, and stalls twice as often
 *     outside [fast] exec TURNS  it becomes a sleep(1) of 0.9 s at its end
 *     outside die TURNS        ends by SIGKILL behind the first sleep, before its next wait
 *     outside signals TURNS    counts SIGINT, and prints how many came
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

enum { TURN_MS = 20, COMPUTE_MS = 400, SLEEP_MS = 300, FAST_TURNS = 20000 };

static volatile double sink;
static int interrupted;
static int dies;
static volatile sig_atomic_t signals;

static double clock_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

NOINLINE void outside_computes(int ms) {
    double end = clock_ms() + ms;
    while (clock_ms() < end) {
        for (int i = 0; i < 1000; i++) {
            sink += i;
        }
    }
}

NOINLINE void outside_sleeps(int ms) {
    struct timespec t = {ms / 1000, ms % 1000 * 1000000L};
    double begin = clock_ms();
    interrupted += nanosleep(&t, NULL) != 0;
    if (dies) {
        printf("died %.0f\n", clock_ms() - begin);
        fflush(stdout);
        kill(getpid(), SIGKILL);
    }
    sink += 1;
}

static void stall(const char *what, void (*work)(int), int ms) {
    double begin = clock_ms();
    work(ms);
    printf("%s %.0f\n", what, clock_ms() - begin);
    fflush(stdout);
}

/* Does the work of a turn, without its wait. */
NOINLINE void outside_turn(int turn, int every) {
    if (turn % every == 10) {
        stall("compute", outside_computes, COMPUTE_MS);
    } else if (turn % every == 19) {
        stall("sleep", outside_sleeps, SLEEP_MS);
    }
}

static void poll_loop(int turns, int every) {
    int ends[2];
    if (pipe(ends) != 0) {
        exit(1);
    }
    for (int i = 0; i < turns; i++) {
        struct pollfd fd = {.fd = ends[0], .events = POLLIN};
        struct timespec quick = {0, 1000};
        int n = every > 20 ? ppoll(&fd, 1, &quick, NULL) : poll(&fd, 1, TURN_MS);
        interrupted += n < 0 && errno == EINTR;
        outside_turn(i, every);
    }
}

static void *epoll_loop(void *arg) {
    int fd = epoll_create1(0), turns = *(int *)arg;
    struct epoll_event event;
    pthread_setname_np(pthread_self(), "net-loop");
    for (int i = 0; i < turns; i++) {
        interrupted += epoll_wait(fd, &event, 1, TURN_MS) < 0;
        outside_turn(i, 20);
    }
    return NULL;
}

static void *condition_loop(void *arg) {
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    int turns = *(int *)arg;
    pthread_setname_np(pthread_self(), "AWT-EventQueue-");
    for (int i = 0; i < turns; i++) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += TURN_MS * 1000000L;
        if (until.tv_nsec >= 1000000000L) {
            until.tv_sec++;
            until.tv_nsec -= 1000000000L;
        }
        pthread_mutex_lock(&mutex);
        pthread_cond_timedwait(&condition, &mutex, &until);
        pthread_mutex_unlock(&mutex);
        outside_turn(i, 20);
    }
    return NULL;
}

static void run_threads(int turns) {
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, epoll_loop, &turns);
    pthread_create(&threads[1], NULL, condition_loop, &turns);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
}

/* Kills the process in any system call but those of the loop. */
static void filter_calls(void) {
    static const int allowed[] = {
#ifdef SYS_poll
        SYS_poll,
#endif
        SYS_ppoll,      SYS_pipe2, SYS_write,          SYS_nanosleep, SYS_clock_nanosleep,
        SYS_exit_group,
#ifdef SYS_pipe
        SYS_pipe,
#endif
        SYS_newfstatat, SYS_brk,   SYS_restart_syscall};
    enum { COUNT = sizeof allowed / sizeof *allowed };
    struct sock_filter code[2 * COUNT + 2] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
    for (int i = 0; i < COUNT; i++) {
        code[2 * i + 1] =
            (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)allowed[i], 0, 1);
        code[2 * i + 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    code[2 * COUNT + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    struct sock_fprog program = {2 * COUNT + 2, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        perror("seccomp");
        exit(2);
    }
}

static void count_signal(int number) {
    (void)number;
    signals++;
}

int main(int argc, char **argv) {
    const char *how = argc > 2 ? argv[1] : "";
    int turns = argc > 1 ? atoi(argv[argc - 1]) : 0;
    printf("pid %d\n", (int)getpid());
    fflush(stdout);
    if (strcmp(how, "filter") == 0) {
        filter_calls();
    }
    dies = strcmp(how, "die") == 0;
    if (strcmp(how, "signals") == 0) {
        signal(SIGINT, count_signal);
    }
    if (strcmp(how, "threads") == 0) {
        run_threads(turns);
    } else if (strcmp(how, "fork") == 0 && fork() == 0) {
        poll_loop(turns, 20);
        _exit(0);
    } else {
        poll_loop(turns, strcmp(how, "fast") == 0 ? FAST_TURNS : 20);
    }
    printf("interrupted %d\n", interrupted);
    if (strcmp(how, "signals") == 0) {
        printf("signals %d\n", (int)signals);
    }
    fflush(stdout);
    if (argc > 2 && strcmp(argv[argc - 2], "exec") == 0) {
        execlp("sleep", "sleep", "0.9", (char *)NULL);
    }
    return 0;
}
