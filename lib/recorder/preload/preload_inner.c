/* Counts the interpreter's frames on the stack of a thread that waits. */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <unistd.h>

#include "linux/modules_linux.h"
#include "linux/place_linux.h"
#include "linux/proc_linux.h"
#include "linux/python_linux.h"
#include "preload/preload_private.h"

static bool read_own_memory(void *watch, uint64_t address, void *to, size_t size) {
    (void)watch;
    return proc_read_memory_async(getpid(), address, to, size);
}

static bool find_own_symbols(void *watch, struct dynamic_symbol *symbols, unsigned count) {
    (void)watch;
    return place_symbols_async(symbols, count);
}

/* Sets *out to the path of the image that holds the address, which is all that is needed of it. */
static bool find_own_image(void *watch, uint64_t address, struct rec_image *out) {
    struct thread_watch *w = watch;
    const char *library;
    *out = (struct rec_image){0};
    bool found = preload_find_place(w->program, address, &w->image, &library);
    out->path = library;
    return found;
}

uint32_t preload_inner(struct thread_watch *w) {
    const struct python_host host = {w, read_own_memory, find_own_symbols, find_own_image};
    int saved_errno = errno;
    size_t frames = 0;
    preload_call_begins(w);
    if (!w->python) {
        w->python = python_linux_new(&host, gettid(), (uint64_t)(uintptr_t)pthread_self());
    }
    if (w->python) {
        frames = python_linux_depth_async(w->python, modules_generation_async(), gettid());
    }
    preload_call_ends(w);
    errno = saved_errno;
    return (uint32_t)frames;
}

void preload_inner_forget(struct thread_watch *w) {
    python_linux_free(w->python);
    w->python = NULL;
}
