/* Programs that fork, exec and start others. `family MODE`; with --follow all of them are recorded,
 * without it only the first process and what it replaces itself by. Ends with 0 if all went well.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "turns.h"

enum { STALL_MS = 600, FORKS = 500, BUSY_MS = 3000, CHILD_PATIENCE_S = 20, LOCKED_MS = 200 };

extern char **environ;

static const char *self;

static void require(bool ok, const char *what) {
    if (!ok) {
        fprintf(stderr, "family: %s\n", what);
        exit(1);
    }
}

static void await(pid_t child) {
    int status = -1;
    require(child > 0 && waitpid(child, &status, 0) == child, "no child");
    require(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a child failed");
}

/* ---- forks ---- */

static int count_module(struct dl_phdr_info *info, size_t size, void *count) {
    (void)info, (void)size;
    ++*(unsigned *)count;
    return 0;
}

/* Does work that needs the locks of the C library and of the dynamic linker. */
static void be_a_child(void) {
    unsigned modules = 0;
    alarm(CHILD_PATIENCE_S);
    void *memory = malloc(100000);
    dl_iterate_phdr(count_module, &modules);
    void *library = dlopen("libresolv.so.2", RTLD_NOW);
    if (library) {
        dlclose(library);
    }
    free(memory);
    _exit(modules > 0 ? 0 : 1);
}

static atomic_bool over;

/* Runs beside the stall that is sampled. */
static void *fork_often(void *arg) {
    for (unsigned i = 0; i < FORKS; i++) {
        pid_t child = fork();
        if (child == 0) {
            be_a_child();
        }
        await(child);
    }
    over = true;
    return arg;
}

static void forks(void) {
    pthread_t thread;
    turns(TURNS);
    if (pthread_create(&thread, NULL, fork_often, NULL) != 0) {
        die("pthread_create");
    }
    int64_t until = now_ms() + BUSY_MS;
    while (now_ms() < until || !over) {
        compute(20);
    }
    turns(TURNS);
    pthread_join(thread, NULL);
}

static void fork_and_stall(void) {
    turns(TURNS);
    pid_t child = fork();
    if (child == 0) {
        stall(STALL_MS);
        exit(0); /* with the libraries' destructors */
    }
    await(child);
    turns(TURNS);
}

/* Two workers of a server that forks before it serves. */
static void prefork(void) {
    pid_t worker[2];
    for (unsigned i = 0; i < 2; i++) {
        worker[i] = fork();
        if (worker[i] == 0) {
            stall(STALL_MS);
            exit(0);
        }
    }
    await(worker[0]);
    await(worker[1]);
}

static volatile sig_atomic_t polled;

static void poll_in_handler(int number) {
    (void)number;
    poll(NULL, 0, 1);
    polled = 1;
}

/* Holds the lock of the recorder's folder, as the start of another recorder does, while the
 * recorder of this process starts, in which a signal handler waits. */
static void start_beside_another(const char *folder) {
    int ends[2];
    char c;
    if (pipe(ends) != 0 || chdir(folder) != 0) {
        die(folder);
    }
    pid_t child = fork();
    if (child == 0) {
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        int fd = open(".stallrec-lock", O_RDWR | O_CREAT, 0600);
        bool held = fd >= 0 && fcntl(fd, F_SETLK, &lock) == 0 && write(ends[1], "", 1) == 1;
        sleep_ms(LOCKED_MS);
        _exit(held ? 0 : 1);
    }
    require(read(ends[0], &c, 1) == 1, "no lock");
    signal(SIGALRM, poll_in_handler);
    struct itimerval soon = {.it_value = {0, LOCKED_MS * 1000 / 2}};
    setitimer(ITIMER_REAL, &soon, NULL);
    stall(STALL_MS);
    require(polled, "no signal");
    await(child);
}

/* Makes a child past the C library, as a sandbox does, and stalls. */
static void clone_and_stall(void) {
    turns(TURNS);
    pid_t child = (pid_t)syscall(SYS_clone, (unsigned long)SIGCHLD, NULL, NULL, NULL, NULL);
    if (child == 0) {
        stall(STALL_MS);
        _exit(0);
    }
    await(child);
}

/* Does what daemon(3) does, and closes all descriptors that it has not opened. */
static void become_daemon(void) {
    int ends[2];
    if (pipe(ends) != 0) {
        die("pipe");
    }
    turns(TURNS);
    if (fork() != 0) { /* the test waits for the daemon, which a shell would not */
        char c;
        close(ends[1]);
        require(read(ends[0], &c, 1) == 0, "the daemon wrote");
        _exit(0);
    }
    setsid();
    for (int fd = 0; fd < 1024; fd++) {
        if (fd != ends[1]) {
            close(fd);
        }
    }
    open("/dev/null", O_RDWR);
    stall(STALL_MS);
    exit(0);
}

/* ---- other programs ---- */

/* An environment without the recorder's variables. */
static char *bare[] = {"PATH=/usr/bin:/bin", NULL};

static void exec_in_a_stall(void) {
    turns(TURNS);
    compute(STALL_MS);
    execl(self, self, "stall", (char *)NULL);
    die(self);
}

static void exec_and_sleep(void) {
    turns(TURNS);
    execl(self, self, "sleep", (char *)NULL);
    die(self);
}

static void exec_by(const char *how) {
    char *argv[] = {(char *)self, "stall", NULL};
    turns(TURNS);
    if (strcmp(how, "execv") == 0) {
        execv(self, argv);
    } else if (strcmp(how, "execve") == 0) {
        execve(self, argv, bare);
    } else if (strcmp(how, "execvp") == 0) {
        execvp(self, argv);
    } else if (strcmp(how, "execvpe") == 0) {
        execvpe(self, argv, bare);
    } else if (strcmp(how, "execl") == 0) {
        execl(self, self, "stall", (char *)NULL);
    } else if (strcmp(how, "execlp") == 0) {
        execlp(self, self, "stall", (char *)NULL);
    } else if (strcmp(how, "execle") == 0) {
        execle(self, self, "stall", (char *)NULL, bare);
    } else if (strcmp(how, "fexecve") == 0) {
        fexecve(open(self, O_RDONLY | O_CLOEXEC), argv, bare);
    } else if (strcmp(how, "execveat") == 0) {
        execveat(AT_FDCWD, self, argv, bare, 0);
    }
    die(how);
}

static void start_by(const char *how) {
    char *argv[] = {(char *)self, "stall", NULL};
    char command[4096];
    pid_t child = -1;
    snprintf(command, sizeof command, "'%s' stall", self);
    turns(TURNS);
    if (strcmp(how, "system") == 0) {
        require(system(command) == 0, "system");
        return;
    } else if (strcmp(how, "popen") == 0) {
        FILE *f = popen(command, "w");
        require(f && pclose(f) == 0, "popen");
        return;
    } else if (strcmp(how, "posix_spawn") == 0) {
        require(posix_spawn(&child, self, NULL, NULL, argv, bare) == 0, "posix_spawn");
    } else if (strcmp(how, "posix_spawnp") == 0) {
        require(posix_spawnp(&child, self, NULL, NULL, argv, environ) == 0, "posix_spawnp");
    } else if (strcmp(how, "vfork") == 0) {
        child = vfork();
        if (child == 0) {
            execve(self, argv, bare);
            _exit(127);
        }
    } else if (strcmp(how, "fork") == 0) {
        child = fork();
        if (child == 0) {
            execl(self, self, "stall", (char *)NULL);
            _exit(127);
        }
    }
    await(child);
    turns(TURNS);
}

/* Checks that an exec that fails in a child of vfork, which shares our memory, changes nothing
 * here. */
static void vfork_often(void) {
    char *argv[] = {"nothing", NULL};
    turns(TURNS);
    for (unsigned i = 0; i < 200; i++) {
        pid_t child = vfork();
        if (child == 0) {
            execve("/nowhere/nothing", argv, bare);
            _exit(errno == ENOENT ? 0 : 1);
        }
        await(child);
    }
    stall(STALL_MS);
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "";
    static char path[4096];
    self = realpath("/proc/self/exe", path);
    if (strcmp(mode, "stall") == 0) {
        stall(STALL_MS);
    } else if (strcmp(mode, "forks") == 0) {
        forks();
    } else if (strcmp(mode, "fork-and-stall") == 0) {
        fork_and_stall();
    } else if (strcmp(mode, "clone-and-stall") == 0) {
        clone_and_stall();
    } else if (strcmp(mode, "prefork") == 0) {
        prefork();
    } else if (argc > 2 && strcmp(mode, "start-beside-another") == 0) {
        start_beside_another(argv[2]);
    } else if (strcmp(mode, "daemon") == 0) {
        become_daemon();
    } else if (strcmp(mode, "sleep") == 0) {
        sleep_ms(2 * STALL_MS);
    } else if (strcmp(mode, "exec-and-sleep") == 0) {
        exec_and_sleep();
    } else if (strcmp(mode, "exec-in-a-stall") == 0) {
        exec_in_a_stall();
    } else if (strcmp(mode, "vfork-often") == 0) {
        vfork_often();
    } else if (argc > 2 && strcmp(mode, "exec") == 0) {
        exec_by(argv[2]);
    } else if (argc > 2 && strcmp(mode, "start") == 0) {
        start_by(argv[2]);
    } else {
        fprintf(stderr, "family: no mode '%s'\n", mode);
        return 2;
    }
    return 0;
}
