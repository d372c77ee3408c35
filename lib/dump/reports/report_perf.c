/* Reads the text of perf script(1) into a dump for each process:
 *
 *     shop  4242/4250  [001]  1234.567890:     250000 cpu-clock:pppH:
 *             ffffffff8104f1a0 native_write_msr+0x10 ([kernel.kallsyms])
 *                 7f1b2c3d4e5f __read+0xf (/usr/lib/x86_64-linux-gnu/libc.so.6)
 *                 55d0c0a01234 DB::write(char const*)+0x24 (/opt/shop/shop)
 *
 * The words of a sample's first line depend on perf's options: a thread alone or process/thread, a
 * processor, a time, a period; the last three may be missing. The text does not tell where files
 * were loaded, so their load addresses are made up.
 */
#include "dump/reports/report_private.h"

#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/search.h"
#include "base/strbuf.h"
#include "dump/dump.h"
#include "dump/reports/report_perf_private.h"
#include "dump/reports/report_span_private.h"

enum { PERF_PROCESSES_MAX = 1024 };

/* The number of samples of a thread with one stack. */
struct perf_count {
    int64_t tid;
    size_t stack; /* index into the report's samples */
    uint64_t count;
};

/* A name that threads of a process had, and the number of samples in which they had it. */
struct perf_comm {
    const char *name;
    uint64_t samples;
    bool main; /* the main thread had it */
    bool file; /* true: a file in the stacks of the most frequent name has this name, too */
};

/* A file in the stacks of threads of this name. */
struct perf_comm_file {
    size_t comm, file;
};

/* A process of the recording, which becomes a dump. */
struct perf_process {
    struct report report;
    int64_t pid;        /* -1 = unknown: then all threads belong to one process */
    struct strbuf text; /* text of its samples, copied from the recording */
    struct map stacks;  /* frames of a stack -> index into the report's samples */
    struct map pairs;   /* thread id and stack -> index into counts */
    VEC(struct perf_count) counts;
    struct map threads; /* thread id -> index into names */
    VEC(const char *)
    names; /* names of threads; if a thread changes its name, the last one counts, because a new
              program first has the name "perf" */
    struct map by_name; /* name -> index into comms */
    VEC(struct perf_comm) comms;
    size_t comm;           /* index of the name of the sample that is being read */
    struct map comm_files; /* keys: struct perf_comm_file; the values have no meaning */
    struct map files;      /* file path -> index into firsts */
    VEC(uint64_t) firsts;
    uint64_t unread; /* frames that were not parsed, and lines in which a second frame follows */
};

struct perf_text {
    struct err *e;
    VEC(struct perf_process *) processes;
    const char *event; /* event of the first sample taken; samples of others are only counted */
    size_t event_len;
    uint64_t others;
    uint64_t idle;  /* samples of the idle task, which are left out */
    uint64_t bare;  /* samples without a frame */
    uint64_t loose; /* frames left out because no sample's line is before them */
    bool left_out;  /* true: the current lines belong to a sample that was left out */
};

/* ---- processes ---- */

static void process_free(struct perf_process *p) {
    map_release(&p->stacks);
    map_release(&p->pairs);
    VEC_RELEASE(&p->counts);
    map_release(&p->threads);
    VEC_RELEASE(&p->names);
    map_release(&p->by_name);
    VEC_RELEASE(&p->comms);
    map_release(&p->comm_files);
    map_release(&p->files);
    VEC_RELEASE(&p->firsts);
    strbuf_release(&p->text);
    report_release(&p->report);
    free(p);
}

/* Returns the sample's process, added if it is new; NULL: an error is set. */
static struct perf_process *perf_process_of(struct perf_text *t, const struct perf_sample_line *s) {
    /* the search goes backwards, because samples of one process are next to each other */
    for (size_t i = t->processes.len; i-- > 0;) {
        if (t->processes.data[i]->pid == s->pid) {
            return t->processes.data[i];
        }
    }
    if (t->processes.len >= PERF_PROCESSES_MAX) {
        (void)err_set(t->e, ERR_LIMIT, "more than %d processes", PERF_PROCESSES_MAX);
        return NULL;
    }
    struct perf_process *p = calloc(1, sizeof *p);
    if (!p || !VEC_PUSH(&t->processes, p)) {
        free(p);
        (void)err_nomem(t->e);
        return NULL;
    }
    struct report *r = &p->report;
    report_init(r, report_perf_format.name, t->processes.len - 1, t->e);
    p->pid = s->pid;
    r->kind = "cpu";
    r->detector = "perf";
    r->os = "Linux";
    return p;
}

/* ---- frames ---- */

/* Is the file in a folder that belongs to the distribution, or part of the kernel ("[…]")? */
static bool is_system_file(const char *path) {
    static const char *const folders[] = {"/lib/", "/lib64/", "/lib32/", "/usr/lib", "/nix/store/"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        if (strncmp(path, folders[i], strlen(folders[i])) == 0) {
            return true;
        }
    }
    return *path == '[';
}

/* Was the file's code generated at run time, as in "/tmp/perf-4242.map" or "[JIT] tid 4242"? */
static bool is_jit(const char *path) {
    const char *name = path_base(path);
    return strncmp(name, "perf-", 5) == 0 || strncmp(path, "[JIT]", 5) == 0 ||
           strncmp(path, "//anon", 6) == 0 || strncmp(name, "jitted-", 7) == 0;
}

/* Gives an address of a file a made-up offset in the file's range. The first address seen is put
 * into the middle of the range and others relative to it, since the text does not tell where the
 * file was loaded. No debug file has such large offsets. */
static enum st perf_place(struct perf_process *p, const char *path, uint64_t ip, uint64_t *out) {
    const uint64_t middle = UINT64_C(1) << 35;
    bool added;
    const struct map_entry *entry = map_put(&p->files, path, strlen(path), p->firsts.len, &added);
    const struct perf_comm_file pair = {p->comm, entry ? entry->value : 0};
    if (!entry || (added && !VEC_PUSH(&p->firsts, ip)) ||
        !map_put(&p->comm_files, &pair, sizeof pair, 0, NULL)) {
        return err_nomem(p->report.e);
    }
    *out = (middle + ip - p->firsts.data[entry->value]) & (2 * middle - 1);
    return ST_OK;
}

static enum st perf_add_frame(struct perf_process *p, const struct perf_frame_line *f) {
    struct report *r = &p->report;
    const char *path = report_text(r, f->file, f->file_len);
    const char *symbol = report_text(r, f->symbol, f->symbol_len);
    uint64_t offset = 0;
    if (!path || is_jit(path)) {
        const struct report_name name = {.symbol = symbol, .in_app = path != NULL && symbol};
        return report_named_frame(r, &name);
    }
    const struct report_image image = {.path = path, .in_app = !is_system_file(path)};
    return perf_place(p, path, f->ip, &offset) == ST_OK
               ? report_file_frame(r, &image, offset, symbol)
               : ST_ERR;
}

/* Parses a frame, together with the next line if mail folded the frame's file there; *feed, the
 * line feed of `line` (NULL = none), then becomes that of the next line. */
static bool take_folded_frame(struct span line, const char *end, const char **feed,
                              struct perf_frame_line *out) {
    if (perf_frame_line(line, out)) {
        return true;
    }
    if (!*feed) {
        return false;
    }
    const char *next = *feed + 1;
    const char *stop = next < end ? memchr(next, '\n', (size_t)(end - next)) : NULL;
    const struct span file = {next, stop ? stop : end};
    if (!perf_is_file(file) || !perf_frame_line((struct span){line.p, file.end}, out)) {
        return false;
    }
    *feed = stop;
    return true;
}

/* Takes the frames of a sample. An inlined frame has no file, and gets a made-up address by its
 * name. */
static enum st perf_take_frames(struct perf_process *p, struct report_lines *lines,
                                struct span only, const char **end) {
    struct report *r = &p->report;
    struct perf_frame_line f;
    size_t frames = 0;
    *end = lines->at;
    if (only.p < only.end && perf_frame_line(only, &f)) {
        return perf_add_frame(p, &f);
    }
    while (lines->at < lines->end) {
        const char *feed = memchr(lines->at, '\n', (size_t)(lines->end - lines->at));
        const struct span line = {lines->at, feed ? feed : lines->end};
        struct span bare = line;
        span_skip_space(&bare);
        bool frame = take_folded_frame(line, lines->end, &feed, &f);
        bool joined = frame && perf_is_joined(&f);
        p->unread += joined || (!frame && perf_is_frame_part(line));
        if (bare.p >= line.end || (bare.p == line.p && !frame)) {
            /* An empty line, or the first line of the next sample; old versions of perf do not
             * indent frames. */
            break;
        }
        if (frame && frames++ < DUMP_FRAMES_MAX &&
            (joined ? report_frame(r, 0) : perf_add_frame(p, &f)) != ST_OK) {
            return ST_ERR;
        }
        lines->at = feed ? feed + 1 : lines->end;
        lines->number++;
        *end = lines->at;
    }
    return r->no_memory ? err_nomem(r->e) : ST_OK;
}

/* ---- samples ---- */

/* Counts the stack whose frames were just added, for the process and for the thread. If the stack
 * is known already, its frames are removed again. */
static enum st perf_count_stack(struct perf_process *p, struct report_stack *s, int64_t tid) {
    struct report *r = &p->report;
    bool added;
    report_end_stack(r, s);
    const struct map_entry *entry =
        map_put(&p->stacks, r->frames.data + s->first, s->count * sizeof *r->frames.data,
                r->samples.len, &added);
    if (!entry || (added && report_add_sample(r, s) != ST_OK)) {
        return entry ? ST_ERR : err_nomem(r->e);
    }
    if (!added) {
        r->frames.len = s->first;
        r->samples.data[entry->value].samples++;
    }
    const struct perf_count pair = {tid, entry->value, 0};
    const struct {
        int64_t tid;
        uint64_t stack;
    } key = {tid, entry->value};
    entry = map_put(&p->pairs, &key, sizeof key, p->counts.len, &added);
    if (!entry || (added && !VEC_PUSH(&p->counts, pair))) {
        return err_nomem(r->e);
    }
    p->counts.data[entry->value].count++;
    return ST_OK;
}

/* Notes the name that the thread of a sample has. */
static enum st note_comm(struct perf_process *p, const struct perf_sample_line *s) {
    bool added;
    const struct map_entry *entry =
        map_put(&p->by_name, s->comm, s->comm_len, p->comms.len, &added);
    const struct perf_comm comm = {
        .name = entry && added ? report_text(&p->report, s->comm, s->comm_len) : NULL};
    if (!entry || (added && (!comm.name || !VEC_PUSH(&p->comms, comm)))) {
        return err_nomem(p->report.e);
    }
    p->comm = entry->value;
    p->comms.data[p->comm].main = p->comms.data[p->comm].main || s->tid == s->pid;
    return ST_OK;
}

/* Counts the sample for its thread, and for the name that the thread has. */
static enum st note_thread(struct perf_process *p, const struct perf_sample_line *s) {
    bool added;
    const struct map_entry *entry =
        map_put(&p->threads, &s->tid, sizeof s->tid, p->names.len, &added);
    if (!entry || (added && !VEC_PUSH(&p->names, NULL))) {
        return err_nomem(p->report.e);
    }
    struct perf_comm *comm = &p->comms.data[p->comm];
    comm->samples++;
    p->names.data[entry->value] = comm->name;
    return ST_OK;
}

/* Is the sample one of the kernel's idle task, "swapper" or "swapper/3" with the id 0? It runs when
 * no program does. */
static bool is_idle(const struct perf_sample_line *s) {
    static const char name[] = "swapper";
    const size_t len = sizeof name - 1;
    return s->tid <= 0 && s->comm_len >= len && memcmp(s->comm, name, len) == 0 &&
           (s->comm_len == len || s->comm[len] == '/');
}

/* Takes a sample, whose first line is `line`, with its frames; a sample that is left out is only
 * counted. */
static enum st take_perf_sample(struct perf_text *t, struct report_lines *lines, struct span line,
                                const struct perf_sample_line *s) {
    bool other = t->event &&
                 !(t->event_len == s->event_len && memcmp(t->event, s->event, s->event_len) == 0);
    const bool idle = !other && is_idle(s);
    const char *end = lines->at;
    t->left_out = other || idle;
    if (t->left_out) {
        t->others += other;
        t->idle += idle;
        return ST_OK;
    }
    struct perf_process *p = perf_process_of(t, s);
    if (!p) {
        return ST_ERR;
    }
    t->event = s->event;
    t->event_len = s->event_len;
    struct report_stack stack = report_begin_stack(&p->report);
    if (note_comm(p, s) != ST_OK || perf_take_frames(p, lines, s->frame, &end) != ST_OK) {
        return ST_ERR;
    }
    strbuf_add(&p->text, line.p, (size_t)(end - line.p));
    strbuf_addc(&p->text, '\n');
    if (p->report.frames.len == stack.first) {
        t->bare++;
        return ST_OK;
    }
    return perf_count_stack(p, &stack, s->tid) == ST_OK ? note_thread(p, s) : ST_ERR;
}

/* ---- the whole recording ---- */

/* Returns the most frequent stack of each thread; if several are equally frequent, the first. NULL:
 * out of memory. */
static const struct perf_count **most_frequent(struct perf_process *p) {
    const struct perf_count **most =
        arena_array(&p->report.arena, p->threads.count + 1, sizeof *most);
    for (size_t i = 0; most && i < p->counts.len; i++) {
        const struct perf_count *c = &p->counts.data[i];
        const struct map_entry *thread = map_get(&p->threads, &c->tid, sizeof c->tid);
        if (thread && (!most[thread->value] || c->count > most[thread->value]->count)) {
            most[thread->value] = c;
        }
    }
    return most;
}

/* Marks the names that are also names of files in the stacks of threads called `most`. Only 15
 * bytes are compared, because the kernel cuts the name of a program to that length. */
static void mark_files(struct perf_process *p, size_t most) {
    enum { NAME_KEPT = 15 };
    for (size_t i = 0; i < p->comm_files.count; i++) {
        struct perf_comm_file pair;
        memcpy(&pair, p->comm_files.entries[i].key, sizeof pair);
        const char *name = path_base(p->files.entries[pair.file].key);
        size_t len = strlen(name);
        const struct map_entry *comm =
            pair.comm == most ? map_get(&p->by_name, name, len < NAME_KEPT ? len : NAME_KEPT)
                              : NULL;
        if (comm) {
            p->comms.data[comm->value].file = true;
        }
    }
}

/* Returns the index of the best name for the process: one of the main thread, else one that a file
 * has, too, else the most frequent one; if several are equally good, the most frequent, and of
 * those the first. */
static size_t best_comm(const struct perf_process *p) {
    size_t best = 0;
    for (size_t i = 1; i < p->comms.len; i++) {
        const struct perf_comm *a = &p->comms.data[i], *b = &p->comms.data[best];
        int order = COMPARE(a->main, b->main);
        order = order ? order : COMPARE(a->file, b->file);
        order = order ? order : COMPARE(a->samples, b->samples);
        best = order > 0 ? i : best;
    }
    return best;
}

/* Names the process after its main thread, which has another name once it ran another program. If
 * the text does not tell the main thread, the name of the program in most samples' stacks, or the
 * most frequent name, is taken. */
static void name_process(struct perf_process *p) {
    const struct map_entry *told = map_get(&p->threads, &p->pid, sizeof p->pid);
    mark_files(p, best_comm(p));
    p->report.process = told               ? p->names.data[told->value]
                        : p->comms.len > 0 ? p->comms.data[best_comm(p)].name
                                           : NULL;
    p->report.app_id = p->report.process;
}

/* Returns the index of the main thread: the thread whose id is the process's id, else the first
 * thread that has the name of the process. */
static size_t perf_main_thread(struct perf_process *p) {
    const struct map_entry *told = map_get(&p->threads, &p->pid, sizeof p->pid);
    for (size_t i = 0; !told && i < p->names.len; i++) {
        if (p->names.data[i] == p->report.process) {
            return i;
        }
    }
    return told ? told->value : 0;
}

/* Adds the threads to the draft, each with its most frequent stack. */
static enum st perf_add_threads(struct perf_process *p) {
    struct report *r = &p->report;
    name_process(p);
    const size_t main_thread = perf_main_thread(p);
    if (p->pid >= 0 && !map_get(&p->threads, &p->pid, sizeof p->pid)) {
        report_lack(r, "its main thread, which has no sample: another one stands for it");
    }
    const struct perf_count **most = most_frequent(p);
    for (size_t i = 0; most && i < p->threads.count; i++) {
        struct report_thread thread = {.name = p->names.data[i]};
        memcpy(&thread.id, p->threads.entries[i].key, sizeof thread.id);
        thread.main = i == main_thread;
        thread.stack = most[i] ? r->samples.data[most[i]->stack] : report_begin_stack(r);
        thread.stack.samples = 1;
        if (report_add_thread(r, &thread) != ST_OK) {
            return ST_ERR;
        }
    }
    return most ? ST_OK : err_nomem(r->e);
}

static enum st perf_finish(struct perf_text *t, const struct report_document *d) {
    bool one = t->processes.len == 1;
    for (size_t i = 0; i < t->processes.len; i++) {
        struct perf_process *p = t->processes.data[i];
        const struct span own = {strbuf_cstr(&p->text), strbuf_cstr(&p->text) + p->text.len};
        if (p->report.samples.len == 0) {
            continue;
        }
        p->report.others = t->others;
        report_lack_count(&p->report, p->unread, "frame that could not be read",
                          "frames that could not be read");
        report_lack_count(&p->report, t->loose, "frame whose sample is not told",
                          "frames whose samples are not told");
        report_lack_count(&p->report, t->idle, "sample of the idle task, which was left out",
                          "samples of the idle task, which were left out");
        report_lack_count(&p->report, t->bare, "sample without a stack", "samples without a stack");
        report_lack_end(&p->report, d->text);
        report_keep(&p->report, "text", one ? d->text : own, true);
        if (strbuf_check(&p->text, t->e) != ST_OK || perf_add_threads(p) != ST_OK ||
            report_finish(&p->report, d) != ST_OK) {
            return ST_ERR;
        }
    }
    return ST_OK;
}

static enum st perf_take_all(struct perf_text *t, const struct report_document *d) {
    struct report_lines lines = {.at = d->text.p, .end = d->text.end};
    while (lines.at < lines.end) {
        const char *feed = memchr(lines.at, '\n', (size_t)(lines.end - lines.at));
        const struct span line = {lines.at, feed ? feed : lines.end};
        struct perf_sample_line s;
        lines.at = feed ? feed + 1 : lines.end;
        lines.number++;
        if (!perf_sample_line(line, &s)) {
            t->left_out = t->left_out && line_len(line_trim(line)) > 0;
            t->loose += !t->left_out && perf_is_frame_part(line);
        } else if (take_perf_sample(t, &lines, line, &s) != ST_OK) {
            return err_context(t->e, "line %zu", lines.number);
        }
    }
    return ST_OK;
}

static enum st perf_read(const struct report_document *d, struct err *e) {
    struct perf_text t = {.e = e};
    enum st st = perf_take_all(&t, d);
    if (st == ST_OK) {
        st = perf_finish(&t, d);
    }
    bool empty = true;
    for (size_t i = 0; i < t.processes.len; i++) {
        empty = empty && t.processes.data[i]->report.samples.len == 0;
        process_free(t.processes.data[i]);
    }
    VEC_RELEASE(&t.processes);
    if (st == ST_OK && empty) {
        st = err_set(e, ERR_FORMAT, "the text of perf script %s",
                     t.idle > 0 ? "with stacks of the idle task alone" : "without a stack");
    }
    return st;
}

const struct report_format report_perf_format = {.name = "perf",
                                                 .source = "Linux perf script(1)",
                                                 .since = "0.1.0",
                                                 .begins = perf_begins,
                                                 .ends = perf_ends,
                                                 .read = perf_read};
