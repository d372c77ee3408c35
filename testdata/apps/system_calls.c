/* A program with the recorder built in that lets its threads make just the system calls it is told:
 *
 *     system_calls FOLDER killed
 *     system_calls FOLDER recorded START HOOKS MONITOR
 *     system_calls FOLDER sent BATCHES
 *
 * killed leaves a spool in FOLDER: it ends by SIGKILL in a stall. recorded does all that a recorder
 * does: recovers that spool, records a stall on the processor and one on a lock, with all threads,
 * writes them, and stops. sent makes a batch and removes it. The lists are of system calls, by
 * number and with commas: those of the thread that starts and stops; of threads that the recorder
 * watches and samples; of the monitor; of who makes batches. 12=1 is number 12, refused with the
 * error 1. What is not in a thread's list, and not this program's own, ends the process by SIGSYS.
 * The word all instead of a list: no filter.
 *
 * Prints what was seen. Ends with 77 if the system lets no filter be set. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "filter.h"
#include "turns.h"
#include "stallrec.h"

enum {
    CANNOT_TRY = 77,
    STALL_MS = 400,
    STOP_MS = 5000 /* longest time that the recorder may take to stop */
};

/* ---- filters ---- */

/* What this program calls itself, beside the recorder, after its filters are set: the wait of its
 * loop and its end; the next filter; and reads and writes of the descriptors that it opened before
 * the recorder had any, up to own_descriptors. */
static const long own_calls[] = {
#ifdef SYS_poll
    SYS_poll,
#endif
    SYS_ppoll, SYS_exit_group};

static int own_descriptors;

/* Allows the call if its first argument is at most `most`. */
static void allow_small(struct program *p, long number, int most) {
    add(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 4));
    load(p, offsetof(struct seccomp_data, args));
    add(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, (uint32_t)most, 1, 0));
    add(p, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    load(p, offsetof(struct seccomp_data, nr));
}

static void allow_own(struct program *p) {
    for (size_t i = 0; i < sizeof own_calls / sizeof *own_calls; i++) {
        answer(p, own_calls[i], SECCOMP_RET_ALLOW);
    }
    allow_small(p, SYS_read, own_descriptors);
    allow_small(p, SYS_write, own_descriptors);
    add(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 4));
    load(p, offsetof(struct seccomp_data, args));
    add(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_SET_SECCOMP, 0, 1));
    add(p, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    load(p, offsetof(struct seccomp_data, nr));
}

/* Sets the filter of the calling thread, and of those that it makes. */
static void allow(const char *list) {
    struct program p = {.length = 0};
    if (strcmp(list, "all") == 0) {
        return;
    }
    load(&p, offsetof(struct seccomp_data, nr));
    allow_own(&p);
    for (char *end; *list; list = end + (*end == ',')) {
        long number = strtol(list, &end, 10), error = 0;
        if (*end == '=') {
            error = strtol(end + 1, &end, 10);
        }
        answer(&p, number, error ? SECCOMP_RET_ERRNO | (uint32_t)error : SECCOMP_RET_ALLOW);
    }
    add(&p, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
    struct sock_fprog program = {p.length, p.code};
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        exit(CANNOT_TRY);
    }
}

/* ---- the recorder ---- */

static struct {
    const char *folder, *start, *hooks, *monitor;
    struct stallrec *rec;
    enum stallrec_error started;
    int task;    /* eventfd: a ping for the loop */
    int stop[2]; /* pipe: the watched thread has done all of its work */
    int hold[2]; /* pipe: tells the other thread to take the lock */
    atomic_bool holds;
    atomic_uint stalls, written, lost;
    pthread_mutex_t lock;
} app = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void on_stall_begin(void *user, const struct stallrec_stall *stall) {
    (void)user, (void)stall;
    if (atomic_fetch_add(&app.stalls, 1) == 0) {
        allow(app.monitor);
    }
}

static void on_written(void *user, const char *path) {
    (void)user, (void)path;
    atomic_fetch_add(&app.written, 1);
}

static void on_lost(void *user, const char *path, enum stallrec_error why) {
    (void)user, (void)path, (void)why;
    atomic_fetch_add(&app.lost, 1);
}

static int post(void *ctx, uint64_t number) {
    (void)ctx;
    uint64_t task = number + 1;
    return write(app.task, &task, sizeof task) == sizeof task;
}

static enum stallrec_error start(void) {
    struct stallrec_config config;
    stallrec_config_init(&config, sizeof config);
    config.directory = app.folder;
    config.app_id = "com.example.calls";
    config.user = "somebody";
    config.user_share_ppm = 1000000;
    config.threshold_ms = 150;
    config.threads_after_ms = 200;
    config.check_ms = 150;
    config.write_deadline_ms = 500;
    config.flags = STALLREC_PLAIN_JSON;
    config.detectors |= STALLREC_DETECT_PING | STALLREC_DETECT_CPU;
    config.ping_ms = 5000;
    config.ping_every_ms = 50;
    config.cpu_limit_permille = 64000;
    config.callbacks.stall_begin = on_stall_begin;
    config.callbacks.dump_written = on_written;
    config.callbacks.dump_lost = on_lost;
    enum stallrec_error st = stallrec_start(&app.rec, &config);
    if (st == STALLREC_OK) {
        stallrec_set_poster(app.rec, post, NULL);
    }
    return st;
}

/* ---- threads ---- */

/* Turns of the loop, which answer pings. */
OWN_FRAME static void loop_turns(int n) {
    struct stallrec_loop *loop = stallrec_main_loop(app.rec);
    struct pollfd task = {.fd = app.task, .events = POLLIN};
    for (int i = 0; i < n; i++) {
        uint64_t number;
        stallrec_loop_sleep(loop);
        int ready = poll(&task, 1, TURN_MS);
        stallrec_loop_wake(loop);
        if (ready > 0 && read(app.task, &number, sizeof number) == sizeof number) {
            stallrec_ping_done(app.rec, number - 1);
        }
    }
    stallrec_loop_sleep(loop);
}

static void work_in_loop(void (*work)(void)) {
    struct stallrec_loop *loop = stallrec_main_loop(app.rec);
    loop_turns(10);
    stallrec_loop_wake(loop);
    work();
    stallrec_loop_sleep(loop);
    loop_turns(20);
}

OWN_FRAME static void compute_in_loop(void) {
    compute(STALL_MS);
    KEEP_FRAME();
}

OWN_FRAME static void wait_for_lock(void) {
    if (write(app.hold[1], "", 1) != 1) {
        exit(1);
    }
    while (!atomic_load(&app.holds)) {
    }
    pthread_mutex_lock(&app.lock);
    pthread_mutex_unlock(&app.lock);
    KEEP_FRAME();
}

/* A thread that works while it has the lock, so that it is sampled by a signal. */
static void *hold_lock(void *arg) {
    char c;
    allow(app.hooks);
    if (read(app.hold[0], &c, 1) == 1) {
        pthread_mutex_lock(&app.lock);
        atomic_store(&app.holds, true);
        compute(STALL_MS);
        pthread_mutex_unlock(&app.lock);
    }
    (void)!read(app.hold[0], &c, 1); /* the thread stays, and what its end needs is not tried */
    return arg;
}

static void say(const char *name, unsigned long long value) {
    char line[64];
    int n = snprintf(line, sizeof line, "%s %llu\n", name, value);
    /* This calls write, because stdio would make other system calls. */
    (void)!write(STDOUT_FILENO, line, (size_t)n);
}

/* Stops the recorder, and ends the process. */
static void *stop(void *arg) {
    char c;
    allow(app.start);
    if (read(app.stop[0], &c, 1) != 1) {
        exit(1);
    }
    stallrec_stop(app.rec);
    say("stalls", app.stalls);
    say("written", app.written);
    say("lost", app.lost);
    _exit(0);
    return arg;
}

static void make_thread(void *(*run)(void *)) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, NULL) != 0) {
        die("pthread_create");
    }
}

static int die_in_a_stall(void) {
    app.started = start();
    struct stallrec_loop *loop = stallrec_main_loop(app.rec);
    loop_turns(10);
    stallrec_loop_wake(loop);
    compute(STALL_MS);
    return raise(SIGKILL);
}

static int record(void) {
    make_thread(hold_lock);
    make_thread(stop);
    allow(app.start);
    app.started = start();
    say("started", app.started);
    if (app.started != STALLREC_OK) {
        _exit(0);
    }
    allow(app.hooks);
    work_in_loop(compute_in_loop);
    stallrec_context_set(app.rec, "screen", "lock");
    stallrec_foreground(app.rec, 0);
    stallrec_foreground(app.rec, 1);
    stallrec_frame(app.rec);
    stallrec_span_end(app.rec, stallrec_span_begin(app.rec, "action", 0));
    work_in_loop(wait_for_lock);
    loop_turns(40); /* until the dumps are written */
    if (write(app.stop[1], "", 1) != 1) {
        _exit(1);
    }
    poll(NULL, 0, STOP_MS);
    say("not stopped after ms", STOP_MS);
    _exit(0);
}

static int send_batch(const char *list) {
    struct stallrec_batch batch = {.size = sizeof batch};
    allow(list);
    enum stallrec_error st = stallrec_batch_next(app.folder, 1 << 20, &batch);
    say("made", st);
    if (st == STALLREC_OK) {
        say("sent", batch.dumps);
        say("removed", stallrec_batch_done(app.folder, batch.id));
    }
    _exit(0);
}

int main(int argc, char **argv) {
    const char *what = argc > 2 ? argv[2] : "";
    app.folder = argv[1];
    app.start = app.hooks = app.monitor = "all";
    app.task = eventfd(0, EFD_CLOEXEC);
    if (app.task < 0 || pipe(app.stop) != 0 || pipe(app.hold) != 0) {
        die("pipe");
    }
    own_descriptors = app.hold[1];
    if (argc == 3 && strcmp(what, "killed") == 0) {
        return die_in_a_stall();
    }
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        return CANNOT_TRY;
    }
    if (argc == 4 && strcmp(what, "sent") == 0) {
        return send_batch(argv[3]);
    }
    if (argc == 6 && strcmp(what, "recorded") == 0) {
        app.start = argv[3], app.hooks = argv[4], app.monitor = argv[5];
        return record();
    }
    fprintf(stderr, "system_calls: a folder, what to do, and lists of calls?\n");
    return 2;
}
