/* The Itanium C++ scheme and Rust's two, through libiberty, fenced.
 *
 * A name of 261 bytes can make a gigabyte of text in ten seconds (substitutions refer to
 * substitutions), and libiberty has no cap. It prints through a callback while it holds no memory
 * but its stack, so the callback leaves it by longjmp once the cap is reached: the one setjmp of
 * the library. */
#include <pthread.h>
#include <setjmp.h>
#include <stdbool.h>
#include <string.h>

#include <libiberty/demangle.h>

#include "demangle/scheme_private.h"

struct fence {
    jmp_buf leave;
    struct strbuf *out;
    size_t start;
    bool may_leave; /* false: text past the cap is dropped instead */
    bool over;
};

static void fence_collect(const char *text, size_t len, void *opaque) {
    struct fence *f = opaque;
    if (f->out->len - f->start + len > DEMANGLE_OUT_MAX || f->out->failed) {
        f->over = true;
        if (f->may_leave) {
            longjmp(f->leave, 1);
        }
        return;
    }
    strbuf_add(f->out, text, len);
}

typedef int (*demangler)(const char *mangled, int options, demangle_callbackref callback,
                         void *opaque);

static enum st demangle_fenced(demangler read, const char *name, int options, bool may_leave,
                               struct strbuf *out, struct err *e) {
    struct fence f = {.out = out, .start = out->len, .may_leave = may_leave};
    /* Nothing but f changes between the two returns of setjmp, and it lives in memory, not in a
     * register of this frame that longjmp would restore. */
    bool read_it = false;
    if (setjmp(f.leave) == 0) {
        read_it = read(name, options, fence_collect, &f) != 0;
    } else {
        return strbuf_check(out, e) == ST_ERR ? ST_ERR : ST_NONE;
    }
    if (strbuf_check(out, e) == ST_ERR) {
        return ST_ERR;
    }
    return read_it && !f.over && out->len > f.start ? ST_OK : ST_NONE;
}

/* Longer names libiberty refuses, as they might need more stack than there is: it keeps two
 * components for each byte there, and calls itself for each that is nested in another. Without its
 * limit it needs less than STACK_PER_BYTE. */
enum { PLAIN_NAME_MAX = 1024, STACK_AT_LEAST = 1 << 20, STACK_PER_BYTE = 2048 };

/* A name that is read on a stack of its own. */
struct long_name {
    const char *name;
    struct strbuf *out;
    struct err *e;
    enum st st;
};

static void *read_long_name(void *ctx) {
    struct long_name *n = ctx;
    n->st = demangle_fenced(cplus_demangle_v3_callback, n->name,
                            DMGL_PARAMS | DMGL_ANSI | DMGL_NO_RECURSE_LIMIT, true, n->out, n->e);
    return NULL;
}

/* ST_NONE also where there is no room for so large a stack. */
static enum st demangle_long(const char *name, size_t len, struct strbuf *out, struct err *e) {
    struct long_name n = {.name = name, .out = out, .e = e, .st = ST_NONE};
    pthread_attr_t attributes;
    pthread_t thread;
    if (pthread_attr_init(&attributes) != 0) {
        return err_nomem(e);
    }
    if (pthread_attr_setstacksize(&attributes, STACK_AT_LEAST + len * STACK_PER_BYTE) == 0 &&
        pthread_create(&thread, &attributes, read_long_name, &n) == 0) {
        (void)pthread_join(thread, NULL);
    }
    pthread_attr_destroy(&attributes);
    return n.st;
}

enum st demangle_itanium(const char *name, struct strbuf *out, struct err *e) {
    size_t len = strlen(name);
    return len > PLAIN_NAME_MAX ? demangle_long(name, len, out, e)
                                : demangle_fenced(cplus_demangle_v3_callback, name,
                                                  DMGL_PARAMS | DMGL_ANSI, true, out, e);
}

/* Might the name hold a Punycode identifier ("u", then its length)? libiberty decodes those in
 * malloc'ed memory, which a longjmp would leak. */
static bool maybe_punycode(const char *name) {
    for (const char *u = strchr(name, 'u'); u; u = strchr(u + 1, 'u')) {
        if (u[1] >= '0' && u[1] <= '9') {
            return true;
        }
    }
    return false;
}

enum st demangle_rust(const char *name, struct strbuf *out, struct err *e) {
    bool v0 = name[1] == 'R';
    bool may_leave = true;
    if (v0 && maybe_punycode(name)) {
        /* Only back references make text grow beyond the name's length, each by a factor of two at
         * most: few of them in a short name need no fence. */
        size_t backrefs = 0;
        for (const char *b = strchr(name, 'B'); b; b = strchr(b + 1, 'B')) {
            backrefs++;
        }
        if (backrefs > 8 || strlen(name) > 1024) {
            return ST_NONE;
        }
        may_leave = false;
    }
    return demangle_fenced(rust_demangle_callback, name, DMGL_PARAMS | DMGL_ANSI, may_leave, out,
                           e);
}
