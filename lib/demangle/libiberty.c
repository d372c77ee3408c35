/* Demangles the Itanium C++ scheme and Rust's two with libiberty, within limits. A name of 261
 * bytes can make a gigabyte of text in ten seconds (substitutions refer to substitutions), and
 * libiberty has no limit for that. It prints through a callback while it holds no memory but its
 * stack, so the callback leaves it by longjmp once the limit is reached: the only setjmp of the
 * library. */
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
    bool keeps_decoded; /* libiberty has malloc'ed memory while it prints non-ASCII text */
    bool over;
};

static bool is_ascii(const char *text, size_t len) {
    size_t i = 0;
    while (i < len && (unsigned char)text[i] < 0x80) {
        i++;
    }
    return i == len;
}

static void fence_collect(const char *text, size_t len, void *opaque) {
    struct fence *f = opaque;
    if (f->out->len - f->start + len > DEMANGLE_OUT_MAX || f->out->failed) {
        f->over = true;
        if (!f->keeps_decoded || is_ascii(text, len)) {
            longjmp(f->leave, 1);
        }
        return;
    }
    strbuf_add(f->out, text, len);
}

typedef int (*demangler)(const char *mangled, int options, demangle_callbackref callback,
                         void *opaque);

static enum st demangle_fenced(demangler read, const char *name, int options, bool keeps_decoded,
                               struct strbuf *out, struct err *e) {
    struct fence f = {.out = out, .start = out->len, .keeps_decoded = keeps_decoded};
    /* Between the two returns of setjmp only f changes, which is in memory and not in a register
     * that longjmp would restore. */
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

/* PLAIN_NAME_MAX: libiberty refuses longer names unless a flag turns that limit off, because it
 * keeps two components for each byte of a name on the stack, and recurses for nested ones. Without
 * the limit it needs less than STACK_PER_BYTE bytes of stack for each byte of the name. */
enum { PLAIN_NAME_MAX = 1024, STACK_AT_LEAST = 1 << 20, STACK_PER_BYTE = 2048 };

/* A long name, which is demangled by a thread with a large stack. */
struct long_name {
    const char *name;
    struct strbuf *out;
    struct err *e;
    enum st st;
};

static void *read_long_name(void *ctx) {
    struct long_name *n = ctx;
    n->st = demangle_fenced(cplus_demangle_v3_callback, n->name,
                            DMGL_PARAMS | DMGL_ANSI | DMGL_NO_RECURSE_LIMIT, false, n->out, n->e);
    return NULL;
}

/* Demangles a long name on a thread with a large stack. ST_NONE: it cannot be demangled, or such a
 * thread cannot be started. ST_ERR: out of memory. */
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
                                                  DMGL_PARAMS | DMGL_ANSI, false, out, e);
}

/* Longest Punycode identifier: libiberty decodes one in time quadratic in its length, each time
 * that it prints it. */
enum { PUNYCODE_MAX = 256 };

/* May the name have a Punycode identifier ("u", then its length) that is longer than
 * PUNYCODE_MAX? */
static bool has_long_punycode(const char *name) {
    for (const char *u = strchr(name, 'u'); u; u = strchr(u + 1, 'u')) {
        size_t len = 0;
        for (const char *c = u + 1; *c >= '0' && *c <= '9' && len <= PUNYCODE_MAX; c++) {
            len = len * 10 + (size_t)(*c - '0');
        }
        if (len > PUNYCODE_MAX) {
            return true;
        }
    }
    return false;
}

/* Demangles a Rust name. libiberty decodes Punycode in malloc'ed memory, which a longjmp would
 * leak, and frees that memory right after it has printed the identifier. Such an identifier is
 * never ASCII, and the text between two identifiers always is. So the callback leaves libiberty
 * only at ASCII text. */
enum st demangle_rust(const char *name, struct strbuf *out, struct err *e) {
    if (name[1] == 'R' && has_long_punycode(name)) {
        return ST_NONE;
    }
    return demangle_fenced(rust_demangle_callback, name, DMGL_PARAMS | DMGL_ANSI, true, out, e);
}
