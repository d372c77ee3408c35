/* Finds unwatched processes by looking through /proc. */
#include "record/unwatched_processes.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/parse.h"
#include "base/strbuf.h"
#include "cli.h"
#include "recorder/attach/remote_process.h"
#include "recorder/preload/preload.h"
#include "recorder/stallrec.h"

/* Ns between two looks, at least; factor by which the pause between looks is longer than a look. */
#define LOOK_NS UINT64_C(100000000)
enum {
    PAUSE_FACTOR = 100,
    NAMED = 4, /* number of processes that are named */
    STATUS_SIZE = 4096
};
/* Ns in which a program that starts loads its libraries. */
#define LOADING_NS UINT64_C(1000000000)

static uint64_t thread_time_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Was the process without a watching library for LOADING_NS or more, so that it is not merely a
 * program that is starting? */
static bool unwatched_is_sure(const struct unwatched_process *p) {
    return p->since_ns != 0 && p->seen_ns - p->since_ns >= LOADING_NS;
}

/* Returns the entry of a process that was alive at the last look or was found in this one; NULL:
 * there is none. */
static struct unwatched_process *find_unwatched(struct unwatched_processes *u, pid_t pid) {
    for (uint32_t i = 0; i < u->count; i++) {
        if (u->process[i].pid == pid && u->process[i].lives) {
            return &u->process[i];
        }
    }
    return NULL;
}

static void add_unwatched(struct unwatched_processes *u, pid_t pid, uint32_t *left_out) {
    if (find_unwatched(u, pid)) {
        return;
    }
    if (u->count == UNWATCHED_MAX) {
        ++*left_out;
    } else {
        u->process[u->count++] = (struct unwatched_process){.pid = pid, .lives = true};
    }
}

/* Removes the ended processes for which unwatched_is_sure is false. */
static void drop_ended(struct unwatched_processes *u) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < u->count; i++) {
        if (u->process[i].lives || unwatched_is_sure(&u->process[i])) {
            u->process[kept++] = u->process[i];
        }
    }
    u->count = kept;
}

/* Copies the name in a line "Name:\tNAME" at the start of a status file. */
static void read_process_name(const char *status, char name[UNWATCHED_NAME]) {
    const char *at = strchr(status, '\t');
    size_t size = at ? strcspn(++at, "\n") : 0;
    size = size < UNWATCHED_NAME - 1 ? size : UNWATCHED_NAME - 1;
    memcpy(name, at ? at : "", size);
    name[size] = '\0';
}

/* Does the process have a /proc of another namespace of ids than this command's, as in a container?
 * False if that cannot be read. */
static bool has_other_proc(const struct remote_process *process) {
    struct stat own, other;
    return stat("/proc", &own) == 0 && fstatat(process->folder, "root/proc", &other, 0) == 0 &&
           fstatat(process->folder, "root/proc/self", &(struct stat){0}, AT_SYMLINK_NOFOLLOW) ==
               0 &&
           own.st_dev != other.st_dev;
}

/* Reads the process's status, and the id that its own /proc has. False: the process has ended, or
 * its status cannot be read. */
static bool read_status(const struct remote_process *process, char status[STATUS_SIZE],
                        uint64_t *own_id) {
    int fd = remote_process_file(process, "status");
    size_t size = remote_text(fd, status, STATUS_SIZE);
    if (fd >= 0) {
        close(fd);
    }
    return size > 0 && !strstr(status, "\nState:\tZ") && !strstr(status, "\nState:\tX") &&
           remote_status_number(status, "NSpid:", has_other_proc(process), own_id);
}

/* Looks whether the library watches in the process, which is in the report by the id that the
 * process's own /proc has. If not, sets the name and the times in *p; if so, forgets since when it
 * was unwatched, unless unwatched_is_sure. False as for read_status. */
static bool look_at_process(struct unwatched_process *p, const struct remote_process *process,
                            const struct preload_report *report, uint64_t now_ns) {
    char status[STATUS_SIZE];
    uint64_t own_id;
    if (!read_status(process, status, &own_id)) {
        return false;
    }
    if (preload_is_watched(report, (uint32_t)own_id)) {
        if (!unwatched_is_sure(p)) {
            p->since_ns = 0;
        }
        return true;
    }
    p->since_ns = p->since_ns != 0 ? p->since_ns : now_ns;
    p->seen_ns = now_ns;
    read_process_name(status, p->name);
    return true;
}

void unwatched_look(struct unwatched_processes *u, const struct preload_report *report, pid_t root,
                    uint64_t now_ns) {
    uint64_t begin_ns = thread_time_ns();
    uint32_t left_out = 0;
    drop_ended(u);
    add_unwatched(u, root, &left_out);
    /* Processes that are added in the loop are looked at, too. */
    for (uint32_t i = 0; i < u->count; i++) {
        struct remote_process process;
        pid_t *children = NULL;
        if (!u->process[i].lives || !remote_process_open(&process, u->process[i].pid)) {
            u->process[i].lives = false;
            continue;
        }
        u->process[i].lives = look_at_process(&u->process[i], &process, report, now_ns);
        size_t count = u->process[i].lives ? remote_children(&process, &children) : 0;
        for (size_t k = 0; k < count; k++) {
            add_unwatched(u, children[k], &left_out);
        }
        free(children);
        remote_process_close(&process);
    }
    u->left_out = left_out > u->left_out ? left_out : u->left_out;
    uint64_t pause_ns = (thread_time_ns() - begin_ns) * PAUSE_FACTOR;
    u->due_ns = now_ns + (pause_ns > LOOK_NS ? pause_ns : LOOK_NS);
}

uint32_t unwatched_count(const struct unwatched_processes *u, uint64_t *ms) {
    uint32_t count = 0;
    *ms = 0;
    for (uint32_t i = 0; i < u->count; i++) {
        const struct unwatched_process *p = &u->process[i];
        if (unwatched_is_sure(p)) {
            count++;
            *ms += (p->seen_ns - p->since_ns) / 1000000;
        }
    }
    return count;
}

/* Has the process with this folder of /proc the entry in its environment? */
static bool has_environment(const char *folder, const char *mark) {
    struct strbuf path = {0};
    char *entry = NULL;
    size_t room = 0;
    ssize_t size;
    bool has = false;
    strbuf_addf(&path, "/proc/%s/environ", folder);
    FILE *file = path.failed ? NULL : fopen(strbuf_cstr(&path), "re");
    while (file && !has && (size = getdelim(&entry, &room, '\0', file)) >= 0) {
        has = strcmp(entry, mark) == 0;
    }
    if (file) {
        fclose(file);
    }
    free(entry);
    strbuf_release(&path);
    return has;
}

/* Does the report have a recorder, or one that failed to start, in the process of this id? pid: the
 * id in the process's own namespace of ids. */
static bool is_accounted_for(const struct preload_report *report, uint32_t pid) {
    for (uint32_t i = 0; i < PRELOAD_PROCESSES; i++) {
        if (__atomic_load_n(&report->process[i].pid, __ATOMIC_RELAXED) == pid) {
            return true;
        }
    }
    for (uint32_t i = 0; i < PRELOAD_FAILURES; i++) {
        const struct preload_failure *f = &report->failure[i];
        if (__atomic_load_n(&f->error, __ATOMIC_ACQUIRE) != STALLREC_OK && f->pid == pid) {
            return true;
        }
    }
    return false;
}

/* Does the library watch in the process, but without a recorder? */
static bool is_left(const struct preload_report *report, pid_t pid) {
    struct remote_process process;
    char status[STATUS_SIZE];
    uint64_t listed_id, inner_id;
    if (!remote_process_open(&process, pid)) {
        return false;
    }
    bool left = read_status(&process, status, &listed_id) &&
                remote_status_number(status, "NSpid:", true, &inner_id) &&
                preload_is_watched(report, (uint32_t)listed_id) &&
                !is_accounted_for(report, (uint32_t)inner_id);
    remote_process_close(&process);
    return left;
}

uint32_t unwatched_left(const struct preload_report *report, const char *mark) {
    bool known = report->recorded <= PRELOAD_PROCESSES && report->failed <= PRELOAD_FAILURES;
    uint32_t count = 0;
    DIR *folder = known ? opendir("/proc") : NULL;
    const struct dirent *one;
    while (folder && (one = readdir(folder)) != NULL) {
        uint64_t pid;
        count += parse_u64(one->d_name, strlen(one->d_name), INT32_MAX, &pid) &&
                 has_environment(one->d_name, mark) && is_left(report, (pid_t)pid);
    }
    if (folder) {
        closedir(folder);
    }
    return count;
}

void unwatched_say(const struct unwatched_processes *u, const char *tool) {
    struct strbuf line = {0};
    uint64_t ms;
    uint32_t count = unwatched_count(u, &ms), named = 0;
    for (uint32_t i = 0; i < u->count && named < NAMED; i++) {
        if (unwatched_is_sure(&u->process[i])) {
            strbuf_addf(&line, "%s%s (%d)", named++ ? ", " : "", u->process[i].name,
                        (int)u->process[i].pid);
        }
    }
    if (count > named) {
        strbuf_addf(&line, ", %" PRIu32 " more", count - named);
    }
    if (count > 0) {
        cli_say(tool,
                "%" PRIu32 " process%s of the program %s not watched, for %.1f s: %s (see "
                "--attach)",
                count, count == 1 ? "" : "es", count == 1 ? "was" : "were", (double)ms / 1000,
                strbuf_cstr(&line));
    }
    if (u->left_out > 0) {
        cli_say(tool, "%" PRIu32 " more process%s of the program %s not looked at", u->left_out,
                u->left_out == 1 ? "" : "es", u->left_out == 1 ? "was" : "were");
    }
    strbuf_release(&line);
}
