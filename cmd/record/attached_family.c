/* Records an attached process and those that it starts. */
#include "record/attached_family.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/parse.h"
#include "record/recorder_answers.h"
#include "recorder/attach/attach.h"
#include "recorder/stallrec.h"

/* Nanoseconds between two searches for children. */
#define LIST_NS UINT64_C(100000000)
/* Nanoseconds after which one step attaches to no further children of members; orphans are not
 * limited. */
#define ADDING_NS UINT64_C(10000000)

struct attached_family {
    struct attach_options options; /* options for each process; pid and started are set for each */
    bool follows;
    struct attach *member[FAMILY_MAX]; /* the first is the process named by options.pid */
    pid_t pid[FAMILY_MAX];
    uint32_t count;
    /* Time of the last search for children; 0 = there was none yet, or it was cut short, and the
     * next step searches. */
    uint64_t listed_ns;
    struct attach_totals ended; /* sums over the members that ended, without the first */
    uint32_t processes;         /* number of processes that were recorded */
    struct family_gaps gaps;    /* gaps of the members that ended, without the first */
    uint32_t refused; /* number of processes that could not be recorded; why_refused is the reason
                         for the latest of these */
    pid_t refused_pid[FAMILY_MAX];
    struct attach_problem why_refused;
};

/* ---- sums ---- */

static void sum_totals(struct attach_totals *to, const struct attach_totals *of) {
    bool names = of->loops > 0 && to->loops == 0;
    to->stalls += of->stalls;
    to->dumps += of->dumps;
    to->lost += of->lost;
    to->lost_error = of->lost > 0 ? of->lost_error : to->lost_error;
    to->wall_ms += of->wall_ms;
    to->looped_ms += of->looped_ms;
    to->watched_ms += of->watched_ms;
    to->input_ms += of->input_ms;
    if (*of->unclear) {
        memcpy(to->unclear, of->unclear, sizeof to->unclear);
    }
    for (size_t i = 0; i < REC_UNWATCHED_REASONS; i++) {
        to->unwatched_ms[i] += of->unwatched_ms[i];
    }
    to->limited += of->limited;
    to->pause_ms = of->pause_ms > to->pause_ms ? of->pause_ms : to->pause_ms;
    to->hidden += of->hidden;
    to->samples += of->samples;
    to->busy_samples += of->busy_samples;
    to->threads += of->threads;
    to->loops += of->loops;
    to->threads_left += of->threads_left;
    if (of->threads_left_out > to->threads_left_out) {
        to->threads_left_out = of->threads_left_out;
    }
    if (!of->by_events && to->by_events) {
        to->by_events = false;
        to->why_not = of->why_not;
    }
    if (names) {
        memcpy(to->loop_at, of->loop_at, sizeof to->loop_at);
        to->loop_kind = of->loop_kind;
    }
}

static void count_gaps(struct family_gaps *gaps, const struct attach_totals *of) {
    if (of->loops == 0) {
        gaps->loopless++;
        gaps->ms += of->wall_ms;
    } else {
        gaps->partly += !recorder_watched_enough(of->watched_ms, of->looped_ms);
    }
}

void family_totals(const struct attached_family *f, struct attach_totals *out, uint32_t *processes,
                   struct family_gaps *gaps) {
    *out = attach_totals(f->member[0]);
    *processes = f->processes;
    *gaps = f->gaps;
    count_gaps(gaps, out);
    for (uint32_t i = 1; i < f->count; i++) {
        const struct attach_totals one = attach_totals(f->member[i]);
        count_gaps(gaps, &one);
        sum_totals(out, &one);
    }
    if (f->processes > f->count) {
        sum_totals(out, &f->ended);
    }
}

uint32_t family_refused(const struct attached_family *f, struct attach_problem *why) {
    *why = f->why_refused;
    return f->refused;
}

struct attach *family_first(const struct attached_family *f) {
    return f->member[0];
}

/* ---- members ---- */

static bool is_member(const struct attached_family *f, pid_t pid) {
    for (uint32_t i = 0; i < f->count; i++) {
        if (f->pid[i] == pid) {
            return true;
        }
    }
    return false;
}

/* Attaches to a process as a new member. False: *problem becomes the reason. */
static bool family_add(struct attached_family *f, pid_t pid, struct attach_problem *problem) {
    struct attach_options options = f->options;
    options.pid = pid;
    options.started = f->options.started && f->count == 0;
    if (!attach_open(&f->member[f->count], &options, problem)) {
        return false;
    }
    f->pid[f->count++] = pid;
    f->processes++;
    return true;
}

/* Counts a process that could not be recorded; it is counted once, although each search for
 * children tries to attach to it again, as long as it is one of the last FAMILY_MAX that were
 * refused. */
static void count_refused(struct attached_family *f, pid_t pid,
                          const struct attach_problem *problem) {
    uint32_t known = f->refused < FAMILY_MAX ? f->refused : FAMILY_MAX;
    for (uint32_t i = 0; i < known; i++) {
        if (f->refused_pid[i] == pid) {
            return;
        }
    }
    f->refused_pid[f->refused++ % FAMILY_MAX] = pid;
    f->why_refused = *problem;
}

/* Attaches to a child unless it is a member already, and counts it if it cannot be recorded. A
 * child that ends meanwhile is no failure. */
static void add_child(struct attached_family *f, pid_t pid) {
    struct attach_problem problem = {.what = "too many processes"};
    if (is_member(f, pid) ||
        (f->count < FAMILY_MAX && (family_add(f, pid, &problem) || problem.error == ESRCH))) {
        return;
    }
    count_refused(f, pid, &problem);
}

/* Attaches to processes whose parents have ended, as a daemon's has: the kernel makes them children
 * of this process (recorder_attach.c). Those that have ended are reaped instead, unless they are
 * members. */
static void add_orphans(struct attached_family *f) {
    FILE *children = fopen("/proc/thread-self/children", "re");
    char *word = NULL;
    size_t size = 0;
    ssize_t len;
    while (children && (len = getdelim(&word, &size, ' ', children)) > 0) {
        uint64_t id;
        size_t digits = (size_t)len - (word[len - 1] == ' ');
        if (!parse_u64(word, digits, INT_MAX, &id)) {
            break;
        }
        pid_t pid = (pid_t)id;
        if (is_member(f, pid) || waitpid(pid, NULL, WNOHANG) != pid) {
            add_child(f, pid);
        }
    }
    free(word);
    if (children) {
        fclose(children);
    }
}

/* Finds and attaches to the children of all members. While it attaches, the members are not
 * sampled, so after ADDING_NS the other children are left to the next step. */
static void find_children(struct attached_family *f) {
    uint64_t begin = stallrec_clock_ns();
    bool in_time = true;
    if (f->options.started) {
        add_orphans(f);
    }
    for (uint32_t i = 0; i < f->count && in_time; i++) { /* new members' children are found, too */
        pid_t *ids;
        size_t count = attach_children(f->member[i], &ids);
        for (size_t k = 0; k < count && in_time; k++) {
            add_child(f, ids[k]);
            in_time = stallrec_clock_ns() - begin < ADDING_NS;
        }
        free(ids);
    }
    f->listed_ns = in_time ? stallrec_clock_ns() : 0;
}

/* Removes members that ended, and keeps their totals in f->ended; the first stays, whose end the
 * caller handles. */
static void end_members(struct attached_family *f) {
    for (uint32_t i = f->count; i-- > 1;) {
        struct attach *a = f->member[i];
        if (!attach_ended(a)) {
            continue;
        }
        attach_finish(a, -1);
        const struct attach_totals totals = attach_totals(a);
        sum_totals(&f->ended, &totals);
        count_gaps(&f->gaps, &totals);
        attach_close(a);
        f->count--;
        f->member[i] = f->member[f->count];
        f->pid[i] = f->pid[f->count];
    }
}

/* ---- the recording ---- */

bool family_open(struct attached_family **out, const struct attach_options *options, bool follows,
                 struct attach_problem *problem) {
    struct attached_family *f = calloc(1, sizeof *f);
    if (!f) {
        *problem = (struct attach_problem){.error = ENOMEM, .what = "memory for the recorder"};
        return false;
    }
    f->options = *options;
    f->follows = follows;
    f->ended.by_events = true;
    if (!family_add(f, options->pid, problem)) {
        free(f);
        return false;
    }
    *out = f;
    return true;
}

uint64_t family_step(struct attached_family *f) {
    uint64_t next = UINT64_MAX;
    end_members(f);
    if (f->follows && stallrec_clock_ns() - f->listed_ns >= LIST_NS) {
        find_children(f);
    }
    for (uint32_t i = 0; i < f->count; i++) {
        if (!attach_ended(f->member[i])) {
            uint64_t due = attach_step(f->member[i]);
            next = due < next ? due : next;
        }
    }
    uint64_t list = f->follows && f->listed_ns > 0 ? f->listed_ns + LIST_NS : UINT64_MAX;
    return list < next ? list : next;
}

uint32_t family_ends(const struct attached_family *f, struct pollfd fds[FAMILY_MAX]) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < f->count; i++) {
        if (!attach_ended(f->member[i])) {
            fds[count++] = (struct pollfd){.fd = attach_ends_fd(f->member[i]), .events = POLLIN};
        }
    }
    return count;
}

uint32_t family_living(const struct attached_family *f) {
    uint32_t count = 0;
    for (uint32_t i = 1; i < f->count; i++) {
        count += !attach_ended(f->member[i]);
    }
    return count;
}

void family_finish_first(struct attached_family *f, int killed) {
    attach_finish(f->member[0], killed);
    if (f->follows) {
        /* Needed if the process was a daemon's parent, which ended before its children were
         * found. */
        find_children(f);
    }
}

void family_finish(struct attached_family *f) {
    for (uint32_t i = 1; i < f->count; i++) {
        attach_finish(f->member[i], -1);
    }
}

void family_close(struct attached_family *f) {
    while (f && f->count > 0) {
        attach_close(f->member[--f->count]);
    }
    free(f);
}
