/* Fetches debug files by a user's command and from debuginfod servers. */
#include "cli_fetch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "base/map.h"
#include "base/owned.h"
#include "cli_index.h"
#include "index/fetch/fetch_command.h"
#include "index/fetch/fetched_files.h"
#include "index/fetch/symbol_server.h"
#include "object/object.h"

/* ---- the program ---- */

/* A callback that is called at least ten times a second while a program runs. */
typedef void (*cli_child_waiting)(void *ctx);

enum {
    TICK_MS = 100,
    FIRST_TICK_MS = 5,
    SAID_SIZE = 400 /* number of bytes that are kept of the end of the program's error output */
};

struct cli_child {
    pid_t pid;
    int output; /* pipe of the program's error output; -1 = closed */
    char said[SAID_SIZE];
    size_t said_len;
};

static int64_t child_clock_ms(void) {
    struct timespec t = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Runs the program in the child process, and does not return. Other threads of the parent may have
 * held locks, so become calls only functions that POSIX allows in a signal handler, and prctl and
 * execvp, which take no lock in glibc and musl. Writes errno to `failed` if the program cannot be
 * run. */
static void become(char *const *words, int output, int failed) {
    (void)setpgid(0, 0); /* the program gets a process group, so that all processes that it starts
                            can be killed */
#ifdef __linux__
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    int null = open("/dev/null", O_RDWR);
    if (null >= 0 && dup2(null, STDIN_FILENO) >= 0 && dup2(null, STDOUT_FILENO) >= 0 &&
        dup2(output, STDERR_FILENO) >= 0) {
        (void)signal(SIGPIPE, SIG_DFL);
        execvp(words[0], words);
    }
    int why = errno;
    (void)!write(failed, &why, sizeof why);
    _exit(127);
}

static bool open_pipe(int ends[2]) {
    if (pipe(ends) != 0) {
        return false;
    }
    (void)fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    (void)fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    return true;
}

static enum st start_program(struct cli_child *c, char *const *words, struct err *why) {
    int output[2], failed[2], error = 0;
    if (!open_pipe(output)) {
        return err_sys(why, errno, "cannot make a pipe");
    }
    if (!open_pipe(failed)) {
        error = errno;
        close(output[0]);
        close(output[1]);
        return err_sys(why, error, "cannot make a pipe");
    }
    c->pid = fork();
    if (c->pid == 0) {
        become(words, output[1], failed[1]);
    }
    error = c->pid < 0 ? errno : 0;
    close(output[1]);
    close(failed[1]);
    c->output = output[0];
    if (c->pid > 0) {
        ssize_t n;
        do {
            n = read(failed[0], &error, sizeof error);
        } while (n < 0 && errno == EINTR);
        error = n == (ssize_t)sizeof error ? error : 0;
    }
    close(failed[0]);
    if (error == 0) {
        (void)fcntl(c->output, F_SETFL, O_NONBLOCK);
        return ST_OK;
    }
    close(c->output);
    if (c->pid > 0) {
        (void)waitpid(c->pid, NULL, 0);
    }
    return err_sys(why, error, "cannot run '%s'", words[0]);
}

/* Reads the program's error output so far, without waiting, and keeps its last SAID_SIZE bytes;
 * closes the pipe at its end. */
static void read_said(struct cli_child *c) {
    char step[512];
    ssize_t n;
    while (c->output >= 0 && (n = read(c->output, step, sizeof step)) != 0) {
        if (n < 0) {
            if (errno == EINTR) {
                continue;
            }
            return;
        }
        for (ssize_t i = 0; i < n; i++) {
            if (c->said_len == sizeof c->said) {
                memmove(c->said, c->said + 1, --c->said_len);
            }
            c->said[c->said_len++] = step[i];
        }
    }
    if (c->output >= 0) {
        close(c->output);
        c->output = -1;
    }
}

/* Appends the last line of the kept error output that is not blank; nothing if there is none. */
static void add_last_line(const struct cli_child *c, struct strbuf *said) {
    size_t end = c->said_len;
    while (end > 0 && strchr("\n\r\t ", c->said[end - 1])) {
        end--;
    }
    size_t start = end;
    while (start > 0 && c->said[start - 1] != '\n' && c->said[start - 1] != '\r') {
        start--;
    }
    strbuf_add(said, c->said + start, end - start);
}

/* Waits for the end of the program, calls `waiting` and keeps what the program prints meanwhile,
 * and sets *status as waitpid does. False: the program was killed because `seconds` had passed. */
static bool await_end(struct cli_child *c, unsigned seconds, cli_child_waiting waiting, void *ctx,
                      int *status) {
    const int64_t start = child_clock_ms();
    pid_t ended;
    while ((ended = waitpid(c->pid, status, WNOHANG)) == 0 || (ended < 0 && errno == EINTR)) {
        struct pollfd fd = {.fd = c->output, .events = POLLIN};
        int64_t passed = child_clock_ms() - start;
        if (passed >= (int64_t)seconds * 1000) {
            (void)kill(-c->pid, SIGKILL);
            (void)kill(c->pid, SIGKILL);
            (void)waitpid(c->pid, status, 0);
            return false;
        }
        /* The first waits are short, as a file that need not be downloaded arrives within
         * milliseconds. */
        (void)poll(&fd, 1, passed < TICK_MS ? FIRST_TICK_MS : TICK_MS);
        read_said(c);
        waiting(ctx);
    }
    return true;
}

/* Runs a program, found as execvp does, with empty input and its output thrown away, in a process
 * group of its own, which is killed after `seconds`, or by a signal that ends this process; on
 * Linux the program is also killed if this process ends. The last line of the program's error
 * output that is not blank is appended to *said. ST_OK: the program ended with status 0. ST_NONE:
 * it ended with another status, by a signal, or too late; *why becomes the reason. ST_ERR: it could
 * not be started; *why becomes the reason. */
static enum st run_fetch_program(char *const *words, unsigned seconds, cli_child_waiting waiting,
                                 void *ctx, struct strbuf *said, struct err *why) {
    struct cli_child c = {.output = -1};
    int status = 0;
    if (start_program(&c, words, why) != ST_OK) {
        return ST_ERR;
    }
    cli_kill_when_interrupted(c.pid);
    bool in_time = await_end(&c, seconds, waiting, ctx, &status);
    cli_kill_when_interrupted(0);
    read_said(&c);
    if (c.output >= 0) {
        close(c.output);
    }
    add_last_line(&c, said);
    if (!in_time) {
        (void)err_set(why, ERR_LIMIT, "%s was killed after %u s", words[0], seconds);
    } else if (WIFSIGNALED(status)) {
        (void)err_set(why, ERR_IO, "%s was killed by signal %d", words[0], WTERMSIG(status));
    } else if (WEXITSTATUS(status) != 0) {
        (void)err_set(why, ERR_IO, "%s ended with status %d", words[0], WEXITSTATUS(status));
    }
    return err_is(why) ? ST_NONE : ST_OK;
}

/* ---- the fetcher ---- */

enum { FETCH_SECONDS = 60 };

/* Largest file in bytes that a server may send. Debug info that is not in DWARF's 64-bit format is
 * smaller. */
#define SERVER_FILE_MAX (UINT64_C(1) << 32)

struct cli_fetch {
    struct cli_dumps *dumps;
    struct index_store *store; /* store of fetched files; NULL: there is no command */
    struct fetch_command command;
    bool no_command;    /* there is no command, or it cannot be run */
    bool servers;       /* servers may be asked */
    bool cache_is_safe; /* check_server_cache has returned ST_OK */
    struct symbol_server *server;
    bool too_large;   /* a server's answer was given up because of its size */
    struct map tried; /* texts of the ids that were tried */
    struct cli_progress progress;
    const struct symbol_request *request; /* the current request, for progress */
    uint64_t fetches;
    size_t fetched, missed;
    /* Number of files that were not requested, because a run within the last hour did not get them.
     */
    size_t unasked;
    struct err first_miss; /* reason of the first miss */
};

bool cli_fetch_check(const struct cli_tool *tool, const char *value) {
    struct fetch_command command;
    struct err e = {0};
    if (fetch_command_parse(&command, value, &e) != ST_OK) {
        return cli_reject(tool, "--fetch-cmd: %s", e.text);
    }
    fetch_command_release(&command);
    return true;
}

/* ---- progress ---- */

static void draw_progress(struct cli_fetch *f, uint64_t done, uint64_t total) {
    const struct symbol_request *r = f->request;
    const char *name = r->name ? r->name : "an image";
    pthread_mutex_lock(&f->dumps->talk);
    if (done > 0 && total >= done) {
        cli_progress_text(&f->progress, "fetching debug info of %s: %llu of %llu kB", name,
                          (unsigned long long)(done >> 10), (unsigned long long)(total >> 10));
    } else {
        cli_progress_text(&f->progress, "fetching debug info of %s", name);
    }
    pthread_mutex_unlock(&f->dumps->talk);
}

static void child_is_running(void *ctx) {
    draw_progress(ctx, 0, 0);
}

static bool server_is_sending(void *ctx, uint64_t done, uint64_t total) {
    struct cli_fetch *f = ctx;
    draw_progress(f, done, total);
    f->too_large = f->too_large || done > SERVER_FILE_MAX || total > SERVER_FILE_MAX;
    return !f->too_large;
}

/* ---- opening ---- */

static bool servers_are_named(void) {
    const char *urls = getenv("DEBUGINFOD_URLS");
    return urls && urls[strspn(urls, " ")];
}

static bool wants_servers(enum cli_servers servers) {
    const char *ci = getenv("CI");
    return servers == CLI_SERVERS_ON ||
           (servers == CLI_SERVERS_AUTO && servers_are_named() && (!ci || !ci[0]));
}

/* Opens the debuginfod servers; it is a failure if none is named or the build has no libdebuginfod.
 * False: an error was printed. */
static bool open_servers(struct cli_fetch *f) {
    struct err e = {0};
    enum st st = ST_NONE;
    if (!servers_are_named()) {
        (void)err_set(&e, ERR_USAGE, "--debuginfod: DEBUGINFOD_URLS names no server");
    } else {
        st = symbol_server_open(&f->server, server_is_sending, f, &e);
    }
    if (st == ST_NONE && !err_is(&e)) {
        (void)err_set(&e, ERR_UNSUPPORTED, "--debuginfod: this build has no libdebuginfod");
    }
    return st == ST_OK || cli_fail(&f->dumps->failures, NULL, &e);
}

static bool open_command(struct cli_fetch *f, const struct cli_fetch_options *o) {
    struct cli_failures *failures = &f->dumps->failures;
    struct err e = {0};
    if (!cli_store_open(&f->store, o->store, false, 1, &e, failures)) {
        return false;
    }
    if (!f->store) {
        (void)err_context(&e, "--fetch-cmd");
        return cli_fail(failures, NULL, &e);
    }
    if (fetch_command_parse(&f->command, o->command, &e) != ST_OK) {
        return cli_fail(failures, NULL, &e);
    }
    if (index_store_make_folder(f->store, "fetch") != ST_OK) {
        const char *trouble = index_store_trouble(f->store);
        (void)err_set(&e, ERR_IO, "--fetch-cmd: %s",
                      trouble ? trouble : "the store is another user's");
        return cli_fail(failures, NULL, &e);
    }
    return true;
}

bool cli_fetch_open(struct cli_fetch **out, const struct cli_fetch_options *o,
                    struct cli_dumps *dumps) {
    bool servers = wants_servers(o->servers);
    struct err e = {0};
    *out = NULL;
    if (!o->command && !servers) {
        return true;
    }
    struct cli_fetch *f = calloc(1, sizeof *f);
    if (!f) {
        (void)err_nomem(&e);
        return cli_fail(&dumps->failures, NULL, &e);
    }
    *f = (struct cli_fetch){.dumps = dumps, .servers = servers, .no_command = !o->command};
    if ((o->command && !open_command(f, o)) || (o->servers == CLI_SERVERS_ON && !open_servers(f))) {
        cli_fetch_close(f);
        return false;
    }
    *out = f;
    return true;
}

void cli_fetch_close(struct cli_fetch *f) {
    if (f) {
        symbol_server_close(f->server);
        fetch_command_release(&f->command);
        index_store_free(f->store);
        map_release(&f->tried);
        free(f);
    }
}

/* ---- fetching ---- */

static void note_miss(struct cli_fetch *f, const struct err *why, const struct strbuf *said) {
    f->missed++;
    if (why && !err_is(&f->first_miss)) {
        (void)err_set(&f->first_miss, why->code, "%s%s%s", why->text,
                      said && said->len > 0 ? ": " : "", said ? strbuf_cstr(said) : "");
    }
}

/* Runs the command, and puts the file that it wrote into the store. *filed gets the path there.
 * ST_NONE: the command gave no fitting file, which was counted as missed or printed; a command that
 * cannot be run is not tried again. ST_ERR: out of memory. */
static enum st run_command(struct cli_fetch *f, const struct symbol_request *r,
                           struct strbuf *filed, struct err *e) {
    const char *store = index_store_folder(f->store);
    struct strbuf output = {0}, said = {0};
    struct err why = {0}, unfit = {0};
    /* The number, part of the output's name, differs between the fetches of one process, and
     * between processes that fetch the same id. */
    uint64_t number = (uint64_t)getpid() << 32 | f->fetches++;
    char ab[3];
    (void)snprintf(ab, sizeof ab, "%02x", r->id.bytes[0]);
    /* The result is ignored: if the folder cannot be made, putting the file into it will fail and
     * be reported. */
    (void)!index_store_make_folder(f->store, ab);
    enum st st = fetched_files_begin(store, &r->id, number, &output, &why);
    char **words =
        st == ST_OK ? fetch_command_words(&f->command, &r->id, strbuf_cstr(&output)) : NULL;
    if (words) {
        st = run_fetch_program(words, FETCH_SECONDS, child_is_running, f, &said, &why);
        enum st ended = fetched_files_end(store, &r->id, strbuf_cstr(&output),
                                          cli_temporary_folder(), filed, &unfit);
        if (st == ST_OK) {
            st = ended;
        } else {
            err_clear(&unfit); /* the file that a failed command wrote is ignored */
        }
    } else if (st == ST_OK) {
        st = err_nomem(e);
    }
    if (err_is(&why) && st == ST_ERR) {
        err_context(&why, "--fetch-cmd");
        f->no_command = true;
        cli_dumps_fail(f->dumps, NULL, &why);
        st = ST_NONE;
    } else if (st == ST_ERR && err_is(&unfit)) {
        cli_dumps_fail(f->dumps, r->name, &unfit);
        st = ST_NONE;
        why = unfit;
    }
    if (st == ST_NONE && !err_is(&why)) {
        (void)err_set(&why, ERR_IO, "%s wrote no file", f->command.words[0]);
    }
    if (st == ST_NONE && !f->no_command) {
        note_miss(f, &why, &said);
        if (!err_is(&unfit)) { /* a file of another id is reported each time */
            fetched_files_note_miss(store, &r->id, f->command.hash);
        }
    }
    fetch_command_free_words(words);
    strbuf_release(&output);
    strbuf_release(&said);
    return st;
}

/* Gets a file from the store, or else by the command, unless the command missed it within the last
 * hour. ST_NONE: there is none. ST_ERR: out of memory. */
static enum st get_by_command(struct cli_fetch *f, const struct symbol_request *r, bool first,
                              char **path, struct err *e) {
    const char *store = index_store_folder(f->store);
    struct strbuf filed = {0};
    enum st st = fetched_files_find(store, index_store_is_unnamed(f->store), &r->id, &filed, e);
    bool missed = st == ST_NONE && fetched_files_missed(store, &r->id, f->command.hash);
    f->unasked += missed && first;
    if (st == ST_NONE && !missed) {
        strbuf_clear(&filed);
        st = run_command(f, r, &filed, e);
        f->fetched += st == ST_OK;
    }
    if (st == ST_OK) {
        *path = strbuf_take(&filed);
        st = *path ? ST_OK : err_nomem(e);
    }
    strbuf_release(&filed);
    return st;
}

/* Does the file that a server sent have the requested id? A file that does not was reported. */
static bool is_of_id(struct cli_fetch *f, const struct symbol_request *r, const char *path) {
    struct object *o = NULL;
    struct err why = {0};
    bool fits = object_open(&o, path, &why) == ST_OK && object_slice_by_id(o, &r->id) != NULL;
    object_close(o);
    if (!fits) {
        (void)err_set(&why, ERR_FORMAT, "what a debuginfod server sent is of another id");
        cli_dumps_fail(f->dumps, r->name, &why);
        note_miss(f, &why, NULL);
    }
    return fits;
}

/* Checks that no other user can change the folder in which libdebuginfod keeps what servers sent,
 * and from which it takes files without asking a server. A folder that DEBUGINFOD_CACHE_PATH names
 * is trusted. Else both folders of debuginfod_find_debuginfo(3) are checked: `old`, which is used
 * if it exists, and `now`. ST_ERR: another user can change one of them, or memory ran out. */
static enum st check_server_cache(struct err *e) {
    const char *named = getenv("DEBUGINFOD_CACHE_PATH"), *home = getenv("HOME");
    const char *cache = getenv("XDG_CACHE_HOME");
    bool has_cache = cache && cache[0];
    struct strbuf old = {0}, now = {0};
    enum st st = ST_OK;
    if (!(named && named[0]) && (home || has_cache)) {
        strbuf_addf(&old, "%s/.debuginfod_client_cache", home ? home : "");
        strbuf_addf(&now, "%s%s/debuginfod_client", has_cache ? cache : home,
                    has_cache ? "" : "/.cache");
        st = strbuf_check(&old, e) == ST_OK && strbuf_check(&now, e) == ST_OK &&
                     owned_folder_check(now.data, e) != ST_ERR &&
                     (!home || owned_folder_check(old.data, e) != ST_ERR)
                 ? ST_OK
                 : ST_ERR;
    }
    strbuf_release(&old);
    strbuf_release(&now);
    return st == ST_OK ? ST_OK : err_context(e, "debuginfod's cache");
}

static enum st get_from_servers(struct cli_fetch *f, const struct symbol_request *r, char **path,
                                struct err *e) {
    struct err why = {0};
    enum st st = f->cache_is_safe ? ST_OK : check_server_cache(&why);
    f->cache_is_safe = st == ST_OK;
    if (st == ST_ERR) {
        f->servers = why.code == ERR_NOMEM;
        note_miss(f, &why, NULL);
        return why.code == ERR_NOMEM ? err_nomem(e) : ST_NONE;
    }
    st = f->server ? ST_OK : symbol_server_open(&f->server, server_is_sending, f, &why);
    if (st == ST_OK) {
        st = symbol_server_find(f->server, &r->id, path, &why);
        if (st != ST_OK && f->too_large) { /* the library says that the server has no such file */
            err_clear(&why);
            st = err_set(&why, ERR_LIMIT, "a debuginfod server sends more than 4 GiB");
            cli_dumps_fail(f->dumps, r->name, &why);
        }
        f->missed += st == ST_NONE;
        if (st == ST_OK && !is_of_id(f, r, *path)) {
            free(*path);
            *path = NULL;
            return ST_NONE;
        }
        f->fetched += st == ST_OK;
    } else {
        f->servers = false; /* the library is missing, which the verdict reports */
    }
    if (st == ST_ERR && why.code == ERR_NOMEM) {
        return err_nomem(e);
    }
    if (st == ST_ERR && f->servers) {
        f->servers = false; /* a server that does not answer would delay each image */
        note_miss(f, &why, NULL);
    }
    return st == ST_OK ? ST_OK : ST_NONE;
}

enum st cli_fetch_get(void *ctx, const struct symbol_request *r, char **path, struct err *e) {
    struct cli_fetch *f = ctx;
    bool first = false;
    char id[IMAGE_ID_TEXT];
    image_id_text(&r->id, id);
    struct map_entry *tried = map_put(&f->tried, id, strlen(id), 0, &first);
    if (!tried) {
        return err_nomem(e);
    }
    enum st st = ST_NONE;
    f->request = r;
    cli_progress_begin(&f->progress, "");
    if (f->command.count > 0 && !f->no_command) {
        st = get_by_command(f, r, first, path, e);
    }
    if (st == ST_NONE && f->servers && r->id.kind == IMAGE_ID_BUILD && first) {
        st = get_from_servers(f, r, path, e);
    }
    pthread_mutex_lock(&f->dumps->talk);
    cli_progress_end(&f->progress);
    pthread_mutex_unlock(&f->dumps->talk);
    f->request = NULL;
    return st;
}

void cli_fetch_summarise(const struct cli_fetch *f, const char *tool) {
    if (f && f->fetched + f->missed > 0) {
        cli_say(tool, "%zu debug file%s fetched, %zu not to be had%s%s", f->fetched,
                f->fetched == 1 ? "" : "s", f->missed, err_is(&f->first_miss) ? ": " : "",
                f->first_miss.text);
    }
    if (f && f->unasked > 0) {
        cli_say(tool, "%zu debug file%s not asked for again: not to be had within the last hour",
                f->unasked, f->unasked == 1 ? "" : "s");
    }
}
