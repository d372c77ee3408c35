/* Loads libdebuginfod only when a debug file is missing: its own libraries (libcurl and some thirty
 * more) take longer to load than a short run lasts. */
#include "index/fetch/symbol_server.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <elfutils/debuginfod.h>

/* The functions of libdebuginfod that are called, without their prefix "debuginfod_". */
#define SERVER_CALLS(X)                                                                            \
    X(begin)                                                                                       \
    X(end)                                                                                         \
    X(find_debuginfo)                                                                              \
    X(get_user_data)                                                                               \
    X(set_progressfn)                                                                              \
    X(set_user_data)

#define SERVER_MEMBER(name) __typeof__(debuginfod_##name) *f_##name;
struct server_calls {
    SERVER_CALLS(SERVER_MEMBER)
};
#undef SERVER_MEMBER

struct symbol_server {
    struct server_calls calls;
    debuginfod_client *client;
    symbol_server_progress progress;
    void *ctx;
};

/* Loads the library's functions. libcurl keeps state that outlives its users, so the library is
 * never unloaded. */
static enum st load_calls(struct server_calls *out, struct err *e) {
    void *library = dlopen(DEBUGINFOD_SONAME, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    const char *missing = NULL;
    void *at; /* ISO C forbids the cast to a function pointer; POSIX allows to copy its bytes */
    if (!library) {
        const char *why = dlerror();
        return err_set(e, ERR_UNSUPPORTED, "%s", why ? why : "no " DEBUGINFOD_SONAME);
    }
#define FIND(name)                                                                                 \
    at = dlsym(library, "debuginfod_" #name);                                                      \
    missing = at ? missing : "debuginfod_" #name;                                                  \
    memcpy(&out->f_##name, &at, sizeof at);
    SERVER_CALLS(FIND)
#undef FIND
    (void)dlclose(library);
    return missing ? err_set(e, ERR_UNSUPPORTED, "%s has no %s", DEBUGINFOD_SONAME, missing)
                   : ST_OK;
}

/* Callback of the library, which gives only its client; the library's get_user_data gives our
 * struct. The library is loaded already, so load_calls only finds the function again. */
static int tell_progress(debuginfod_client *client, long done, long total) {
    struct server_calls calls;
    if (load_calls(&calls, NULL) != ST_OK) {
        return 0;
    }
    const struct symbol_server *s = calls.f_get_user_data(client);
    bool go_on =
        s->progress(s->ctx, done > 0 ? (uint64_t)done : 0, total > 0 ? (uint64_t)total : 0);
    return go_on ? 0 : 1;
}

enum st symbol_server_open(struct symbol_server **out, symbol_server_progress progress, void *ctx,
                           struct err *e) {
    struct symbol_server *s = calloc(1, sizeof *s);
    if (!s) {
        return err_nomem(e);
    }
    s->progress = progress;
    s->ctx = ctx;
    enum st st = load_calls(&s->calls, e);
    if (st == ST_OK) {
        s->client = s->calls.f_begin();
        st = s->client ? ST_OK : err_nomem(e);
    }
    if (st != ST_OK) {
        free(s);
        return st;
    }
    s->calls.f_set_user_data(s->client, s);
    if (progress) {
        s->calls.f_set_progressfn(s->client, tell_progress);
    }
    *out = s;
    return ST_OK;
}

void symbol_server_close(struct symbol_server *s) {
    if (s) {
        s->calls.f_end(s->client);
        free(s);
    }
}

enum st symbol_server_find(struct symbol_server *s, const struct image_id *id, char **path,
                           struct err *e) {
    char *found = NULL;
    if (id->kind != IMAGE_ID_BUILD) {
        return ST_NONE;
    }
    int fd = s->calls.f_find_debuginfo(s->client, id->bytes, id->len, &found);
    if (fd >= 0) {
        close(fd);
        *path = found;
        return ST_OK;
    }
    if (fd == -ENOENT || fd == -ENOSYS) { /* ENOSYS: no server is set */
        return ST_NONE;
    }
    return err_sys(e, -fd, "debuginfod");
}
