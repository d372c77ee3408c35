/* In a build with COVERAGE=1, linked into the preloaded library: writes gcov's counts before a
 * recorded program replaces itself, which would lose them. The linker sends the library's calls of
 * dlsym here (--wrap); what it gets for a function that replaces the program writes the counts,
 * and calls the real one. */
#include <dlfcn.h>
#include <string.h>

void __gcov_dump(void);
void __gcov_reset(void);
void *__real_dlsym(void *handle, const char *name);
void *__wrap_dlsym(void *handle, const char *name);

static int (*real_execve)(const char *, char *const[], char *const[]);
static int (*real_execvpe)(const char *, char *const[], char *const[]);
static int (*real_fexecve)(int, char *const[], char *const[]);
static int (*real_execveat)(int, const char *, char *const[], char *const[], int);

/* The counts of a child of vfork are its parent's, which goes on counting from zero. */
static void write_counts(void) {
    __gcov_dump();
    __gcov_reset();
}

static int counted_execve(const char *path, char *const argv[], char *const envp[]) {
    write_counts();
    return real_execve(path, argv, envp);
}

static int counted_execvpe(const char *file, char *const argv[], char *const envp[]) {
    write_counts();
    return real_execvpe(file, argv, envp);
}

static int counted_fexecve(int fd, char *const argv[], char *const envp[]) {
    write_counts();
    return real_fexecve(fd, argv, envp);
}

static int counted_execveat(int fd, const char *path, char *const argv[], char *const envp[],
                            int flags) {
    write_counts();
    return real_execveat(fd, path, argv, envp, flags);
}

/* Keeps the real function at `real`, and returns the one that stands in for it. */
static void *stand_in(void *symbol, void *real, void *counted) {
    memcpy(real, &symbol, sizeof symbol);
    return counted;
}

void *__wrap_dlsym(void *handle, const char *name) {
    void *symbol = __real_dlsym(handle, name);
    if (!symbol) {
        return NULL;
    }
    if (strcmp(name, "execve") == 0) {
        return stand_in(symbol, &real_execve, (void *)counted_execve);
    }
    if (strcmp(name, "execvpe") == 0) {
        return stand_in(symbol, &real_execvpe, (void *)counted_execvpe);
    }
    if (strcmp(name, "fexecve") == 0) {
        return stand_in(symbol, &real_fexecve, (void *)counted_fexecve);
    }
    if (strcmp(name, "execveat") == 0) {
        return stand_in(symbol, &real_execveat, (void *)counted_execveat);
    }
    return symbol;
}
