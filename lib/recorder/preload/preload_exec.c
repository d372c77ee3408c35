/* Interposes the exec and spawn functions: the program that they start is recorded if it runs in
 * the same process, or with --follow (preload_env.c).
 *
 * They are called in children of a fork or vfork and in signal handlers, so nothing here calls
 * malloc or, once the real functions are looked up, locks, and little is put on the stack.
 * system(3) and popen(3) call libc's own posix_spawn with the unchanged environment, which is
 * right, as it is the one for children. */
#include <dlfcn.h>
#include <errno.h>
#include <spawn.h>
#include <stdarg.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "preload/preload_private.h"

#define INTERPOSED __attribute__((visibility("default")))

extern char **environ;

typedef int spawn_fn(pid_t *, const char *, const posix_spawn_file_actions_t *,
                     const posix_spawnattr_t *, char *const[], char *const[]);

/* The real functions, looked up by the constructor, as a later dlsym may wait for a lock that
 * nobody will unlock. They are atomic, and execve is stored last, so that a thread that finds it
 * also finds the others. */
static struct {
    _Atomic(int (*)(const char *, char *const[], char *const[])) execve, execvpe;
    _Atomic(int (*)(int, char *const[], char *const[])) fexecve;
    _Atomic(int (*)(int, const char *, char *const[], char *const[], int)) execveat;
    _Atomic(spawn_fn *) posix_spawn, posix_spawnp;
} real;

/* Stores the address of the real function `name` in *slot. The slot is accessed as a void *, as
 * ISO C defines no conversion to a pointer to a function. */
void preload_resolve(const char *name, void *slot) {
    __atomic_store_n((void **)slot, dlsym(RTLD_NEXT, name), __ATOMIC_RELEASE);
}

void preload_resolve_exec(void) {
    preload_resolve("execvpe", &real.execvpe);
    preload_resolve("fexecve", &real.fexecve);
    preload_resolve("execveat", &real.execveat);
    preload_resolve("posix_spawn", &real.posix_spawn);
    preload_resolve("posix_spawnp", &real.posix_spawnp);
    preload_resolve("execve", &real.execve);
}

/* Looks the real functions up unless that is done. The first caller may be the constructor of a
 * library that is initialised before this one. */
static void exec_resolve_once(void) {
    if (!real.execve) {
        preload_resolve_exec();
    }
}

/* exec_begins reports that the program is about to be replaced by another one, exec_fails that this
 * has failed. Both do nothing in a process that is not watched, such as a child of vfork, although
 * that has its parent's memory. */
static void exec_begins(void) {
    if (preload_watches_process()) {
        preload_exec_begins();
        preload_watch_replaced(true);
    }
}

static void exec_fails(void) {
    if (preload_watches_process()) {
        preload_exec_fails();
        preload_watch_replaced(false);
    }
}

/* ---- with an array of arguments ---- */

static int exec_path(const char *path, char *const argv[], char *const envp[]) {
    struct preload_vector v;
    exec_resolve_once();
    char *const *list = preload_environment_open(&v, envp);
    exec_begins();
    int result = real.execve(path, argv, list);
    exec_fails();
    preload_environment_close(&v, list, envp);
    return result;
}

static int exec_file(const char *file, char *const argv[], char *const envp[]) {
    struct preload_vector v;
    exec_resolve_once();
    char *const *list = preload_environment_open(&v, envp);
    exec_begins();
    int result = real.execvpe(file, argv, list);
    exec_fails();
    preload_environment_close(&v, list, envp);
    return result;
}

INTERPOSED int execve(const char *path, char *const argv[], char *const envp[]) {
    return exec_path(path, argv, envp);
}

INTERPOSED int execv(const char *path, char *const argv[]) {
    return exec_path(path, argv, environ);
}

INTERPOSED int execvpe(const char *file, char *const argv[], char *const envp[]) {
    return exec_file(file, argv, envp);
}

INTERPOSED int execvp(const char *file, char *const argv[]) {
    return exec_file(file, argv, environ);
}

INTERPOSED int fexecve(int fd, char *const argv[], char *const envp[]) {
    struct preload_vector v;
    exec_resolve_once();
    char *const *list = preload_environment_open(&v, envp);
    exec_begins();
    int result = real.fexecve(fd, argv, list);
    exec_fails();
    preload_environment_close(&v, list, envp);
    return result;
}

int execveat(int fd, const char *path, char *const argv[], char *const envp[], int flags);
INTERPOSED int execveat(int fd, const char *path, char *const argv[], char *const envp[],
                        int flags) {
    struct preload_vector v;
    exec_resolve_once();
    if (!real.execveat) {
        errno = ENOSYS; /* libc is older than 2.34 */
        return -1;
    }
    char *const *list = preload_environment_open(&v, envp);
    exec_begins();
    int result = real.execveat(fd, path, argv, list, flags);
    exec_fails();
    preload_environment_close(&v, list, envp);
    return result;
}

/* ---- with a list of arguments ---- */

static size_t count_arguments(va_list args) {
    size_t n = 1; /* the first argument is a named parameter */
    while (va_arg(args, char *)) {
        n++;
    }
    return n;
}

/* Copies the variadic list with its NULL to v->list; args is then after the NULL. */
static void take_arguments(struct preload_vector *v, const char *first, size_t n, va_list args) {
    /* memcpy is used as exec's arrays are of char *, not const char *, for historical reasons. */
    memcpy(v->list, &first, sizeof first);
    for (size_t i = 1; i <= n; i++) {
        v->list[i] = va_arg(args, char *);
    }
}

static int exec_list(int (*exec)(const char *, char *const[], char *const[]), bool with_environment,
                     const char *program, const char *first, va_list args) {
    struct preload_vector v;
    va_list again;
    va_copy(again, args);
    size_t n = first ? count_arguments(again) : 0;
    va_end(again);
    if (!preload_vector_open(&v, n + 1, 0)) {
        return -1;
    }
    v.list[0] = NULL;
    if (first) {
        take_arguments(&v, first, n, args);
    }
    int result = exec(program, v.list, with_environment ? va_arg(args, char **) : environ);
    preload_vector_close(&v);
    return result;
}

INTERPOSED int execl(const char *path, const char *first, ...) {
    va_list args;
    va_start(args, first);
    int result = exec_list(exec_path, false, path, first, args);
    va_end(args);
    return result;
}

INTERPOSED int execlp(const char *file, const char *first, ...) {
    va_list args;
    va_start(args, first);
    int result = exec_list(exec_file, false, file, first, args);
    va_end(args);
    return result;
}

INTERPOSED int execle(const char *path, const char *first, ...) {
    va_list args;
    va_start(args, first);
    int result = exec_list(exec_path, true, path, first, args);
    va_end(args);
    return result;
}

/* ---- spawn functions ---- */

static int spawn(spawn_fn *how, pid_t *pid, const char *program,
                 const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
                 char *const argv[], char *const envp[]) {
    struct preload_vector v;
    char *const *list = preload_follows() ? preload_environment_open(&v, envp) : envp;
    int result = how(pid, program, actions, attributes, argv, list);
    if (list != envp) {
        preload_environment_close(&v, list, envp);
    }
    return result;
}

INTERPOSED int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                           const posix_spawnattr_t *attributes, char *const argv[],
                           char *const envp[]) {
    exec_resolve_once();
    return spawn(real.posix_spawn, pid, path, actions, attributes, argv, envp);
}

INTERPOSED int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                            const posix_spawnattr_t *attributes, char *const argv[],
                            char *const envp[]) {
    exec_resolve_once();
    return spawn(real.posix_spawnp, pid, file, actions, attributes, argv, envp);
}
