/* Reads the stalls that Seastar's reactors (ScyllaDB, Redpanda, Ceph Crimson) write to their log,
 * on one line or several (seastar/src/core/reactor.cc, cpu_stall_detector; src/util/backtrace.cc):
 *
 *     Reactor stalled for 33 ms on shard 0, in scheduling group main. Backtrace: 0x45d0e2e …
 *     Reactor stalled for 12 ms on shard 3. Backtrace:
 *       0x0000000000dbcd3a
 *       /lib64/libpthread.so.0+0x000000000000f5df
 *     kernel callstack: 0xffffffffffffff80 0xffffffff811a2b3c
 *
 * A logger's words may precede each line. An address is one of the executable's file, or of the
 * file before its '+', and points to the last byte of the call instruction. Kernel addresses have
 * no names and are left out. A stall that goes on is reported again, with its whole duration so
 * far.
 *
 * The lines of a stall are written or stored one by one, so those of several stalls may interlace,
 * and other lines may stand between them. What a logger writes in front of a line, such as host,
 * program and process id, tells whose it is. A reactor ends one report before it begins the next,
 * so that of two stalls of one program and shard the later one has the backtrace that follows. If
 * stalls of several shards, or several backtraces, interlace, it cannot be told which stall has
 * which backtrace. */
#include "dump/reports/report_private.h"

#include <string.h>

#include "base/path.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "dump/dump.h"
#include "dump/reports/report_seastar_private.h"
#include "dump/reports/report_span_private.h"

enum {
    STALLS_MAX = 64,
    OTHERS_MAX = 64,   /* maximum number of lines in a report that do not belong to a stall */
    TRAILING_MAX = 16, /* maximum number of other lines after the last line of a stall */
    REPORT_MAX = 256 * 1024
};

/* ---- the stalls of a report ---- */

struct seastar_stall {
    struct seastar_line line;
    size_t group;
    size_t addresses; /* number of lines with addresses in the group's backtrace; 0 unless the stall
                         is the group's last */
};

/* Stalls of one program that were reported one after the other, and then one backtrace. If the
 * stalls are all of one shard, the backtrace is that of the last one; otherwise it may be that of
 * any. */
struct seastar_group {
    size_t first, last; /* the group's stalls; stalls of other programs may lie between them */
    bool headed;        /* "Backtrace:" was read */
    bool answered;      /* an address was read */
    bool unclear;       /* it is not known to which stall the backtrace belongs */
    bool closed;        /* the group's backtrace has ended */
    size_t decoded;     /* number of lines with an address that could not be read or has other words
                           behind it */
};

/* The lines of a report, each with its role. */
struct seastar_report {
    VEC(struct seastar_stall) stalls;
    VEC(struct seastar_group) groups;
    VEC(size_t) owners; /* for each line of the text 1 + the index of the line's group; 0 = none */
    bool no_memory;
    size_t others, trailing; /* number of lines that belong to no stall, and number of such lines
                                after the last line of a stall */
    const char *end;         /* end of the last line of a stall */
};

static void seastar_release(struct seastar_report *n) {
    VEC_RELEASE(&n->stalls);
    VEC_RELEASE(&n->groups);
    VEC_RELEASE(&n->owners);
}

/* Returns the group to which a stall's line belongs, added if it is new; NULL: out of memory. A
 * new group begins if this stall or the first one of the group has a backtrace on its own line,
 * if addresses of the group's backtrace were read, or if this stall has the word "Backtrace:"
 * and the group has not. */
static struct seastar_group *group_of_stall(struct seastar_report *n,
                                            const struct seastar_line *l) {
    const struct seastar_group fresh = {.first = n->stalls.len, .last = n->stalls.len};
    for (size_t i = n->groups.len; i-- > 0;) {
        struct seastar_group *g = &n->groups.data[i];
        const struct seastar_line *first = &n->stalls.data[g->first].line;
        if (g->closed || !seastar_same_source(first, l)) {
            continue;
        }
        bool complete = l->kind == SEASTAR_STALL || first->kind == SEASTAR_STALL;
        if (complete || g->answered || (l->headed && !g->headed)) {
            g->closed = true;
            break;
        }
        g->last = n->stalls.len;
        g->unclear = g->unclear || l->shard != first->shard;
        return g;
    }
    n->no_memory = !VEC_PUSH(&n->groups, fresh) || n->no_memory;
    return n->no_memory ? NULL : &n->groups.data[n->groups.len - 1];
}

static struct seastar_group *note_stall_line(struct seastar_report *n,
                                             const struct seastar_line *l) {
    struct seastar_group *g = group_of_stall(n, l);
    if (g) {
        const struct seastar_stall stall = {*l, (size_t)(g - n->groups.data), 0};
        g->headed = g->headed || l->headed;
        n->no_memory = !VEC_PUSH(&n->stalls, stall) || n->no_memory;
    }
    return g;
}

/* Returns the group to which a line after a stall's line belongs; NULL: none. If the line may
 * belong to several groups, the last of them is returned, and they become unclear, unless the line
 * is that of a kernel callstack. */
static struct seastar_group *group_of_line(struct seastar_report *n, const struct seastar_line *l) {
    struct seastar_group *found = NULL;
    for (size_t i = n->groups.len; i-- > 0;) {
        struct seastar_group *g = &n->groups.data[i];
        if (g->closed || !seastar_may_belong(&n->stalls.data[g->first].line, l)) {
            continue;
        }
        if (found && l->kind != SEASTAR_KERNEL) {
            found->unclear = g->unclear = true;
        }
        found = found ? found : g;
    }
    return found;
}

static struct seastar_group *note_backtrace(struct seastar_report *n,
                                            const struct seastar_line *l) {
    struct seastar_group *g = group_of_line(n, l);
    if (!g) {
        return NULL;
    }
    switch (l->kind) {
    case SEASTAR_HEADING:
        g->unclear = g->unclear || g->headed;
        g->headed = true;
        break;
    case SEASTAR_ADDRESS:
        g->answered = true;
        n->stalls.data[g->last].addresses++;
        break;
    case SEASTAR_TASKS:
        g->closed = true;
        break;
    case SEASTAR_DECODED:
        g->decoded++;
        break;
    case SEASTAR_STALL:
    case SEASTAR_OPEN:
    case SEASTAR_KERNEL:
    case SEASTAR_UNRELATED:
        break;
    }
    return g;
}

/* Finds the role of each line of a report; the caller releases the result. */
static struct seastar_report seastar_lines(struct span report) {
    struct seastar_report n = {.end = report.p};
    struct span line;
    while (!n.no_memory && line_take(&report, &line, NULL)) {
        const struct seastar_line l = seastar_line_of(line);
        const struct seastar_group *g = NULL;
        if (l.kind <= SEASTAR_OPEN) {
            g = note_stall_line(&n, &l);
        } else if (l.kind < SEASTAR_UNRELATED) {
            g = note_backtrace(&n, &l);
        }
        n.others += !g;
        n.trailing = g ? 0 : n.trailing + 1;
        n.end = g ? report.p : n.end;
        size_t owner = g ? (size_t)(g - n.groups.data) + 1 : 0;
        n.no_memory = !VEC_PUSH(&n.owners, owner) || n.no_memory;
    }
    return n;
}

/* ---- a stall's dump ---- */

/* Returns the length of a zone, "Z", "+01:00" or "-0100"; 0: none is there. */
static size_t zone_len(struct span rest) {
    size_t len = 1;
    if (rest.p == rest.end || (*rest.p != '+' && *rest.p != '-')) {
        return rest.p < rest.end && *rest.p == 'Z' ? 1 : 0;
    }
    while (len < line_len(rest) &&
           ((rest.p[len] >= '0' && rest.p[len] <= '9') || (len == 3 && rest.p[len] == ':'))) {
        len++;
    }
    return len == 5 || len == 6 ? len : 0;
}

/* Returns the time in front of the stall as loggers write it, "2026-11-20 09:12:44,123" or with 'T'
 * and '.', perhaps with a zone; NULL: none. If there are several times, the last one is the
 * program's own, because log collectors put theirs in front. */
static const char *time_before(struct report *r, struct span line) {
    enum { DAY_AND_TIME = 19, TIME_MOST = 48 };
    char text[TIME_MOST];
    const char *found = NULL;
    for (const char *p = line.p; line.end - p >= DAY_AND_TIME; p++) {
        if (p[0] == '2' && p[4] == '-' && p[7] == '-' && p[13] == ':' && p[16] == ':') {
            found = p;
        }
    }
    if (!found) {
        return NULL;
    }
    size_t len = DAY_AND_TIME, digits = 0;
    const struct span rest = {found + len, line.end};
    memcpy(text, found, len);
    if (line_len(rest) > 1 && (*rest.p == ',' || *rest.p == '.')) {
        while (digits < 9 && rest.p + 1 + digits < rest.end && rest.p[1 + digits] >= '0' &&
               rest.p[1 + digits] <= '9') {
            digits++;
        }
        text[len++] = '.';
        memcpy(text + len, rest.p + 1, digits);
        len += digits;
    }
    const struct span zone = {rest.p + (digits > 0 ? digits + 1 : 0), line.end};
    size_t more = zone_len(zone);
    memcpy(text + len, zone.p, more);
    text[len + more] = 0;
    return report_time(r, text);
}

/* Does a time of day, such as "11:48:02", stand in front of the stall, perhaps without a date? */
static bool tells_time(struct span line) {
    static const char form[] = "dd:dd:dd";
    size_t at = 0;
    for (const char *p = line.p; p < line.end && form[at]; p++) {
        const bool digit = *p >= '0' && *p <= '9';
        if (form[at] == 'd' ? digit : *p == form[at]) {
            at++;
        } else {
            at = digit; /* a digit that does not fit may be the first one of the time */
        }
    }
    return !form[at];
}

/* Returns "scylla" for "Jun 20 11:48:02 host scylla[123]:", syslog's prefix, or for "host !INFO |
 * scylla:", a collector's; NULL: there is none. */
static const char *program_before(struct report *r, struct span line) {
    struct span word, last = {line.p, line.p};
    while ((word = seastar_word(&line)), word.p < word.end) {
        const char *open = memchr(word.p, '[', line_len(word));
        const char *end = word.end;
        if (open && open > word.p && end - open > 3 && end[-1] == ':' && end[-2] == ']' &&
            open[1] >= '0' && open[1] <= '9') {
            return report_text(r, word.p, (size_t)(open - word.p));
        }
        last = word;
    }
    return seastar_is_program(last) ? report_text(r, last.p, line_len(last) - 1) : NULL;
}

static enum st seastar_frame(struct report *r, const struct seastar_address *a) {
    if (a->unread) {
        r->frames_unread++;
        return report_frame(r, 0);
    }
    const char *path = report_text(r, a->file.p, line_len(a->file));
    if (path) {
        const struct report_image image = {.path = path};
        return report_file_frame(r, &image, a->address, NULL);
    }
    return r->no_memory ? err_nomem(r->e) : report_frame(r, a->address);
}

/* Adds the frames of a line's addresses. */
static enum st take_addresses_of(struct report *r, struct span addresses,
                                 const struct report_stack *s) {
    struct seastar_address a;
    while (seastar_take_address(&addresses, &a)) {
        if (r->frames.len - s->first < DUMP_FRAMES_MAX && seastar_frame(r, &a) != ST_OK) {
            return ST_ERR;
        }
    }
    return ST_OK;
}

/* Adds the frames of the stall: the addresses on its own line and, if it has addresses on
 * further lines, those on the lines of its group. */
static enum st take_backtrace(struct report *r, struct span text, const struct seastar_report *n,
                              const struct seastar_stall *stall, const struct report_stack *s) {
    enum st st = take_addresses_of(r, stall->line.addresses, s);
    struct span line;
    for (size_t i = 0; st == ST_OK && stall->addresses > 0 && line_take(&text, &line, NULL); i++) {
        const struct seastar_line l = seastar_line_of(line);
        if (n->owners.data[i] == stall->group + 1 && l.kind == SEASTAR_ADDRESS) {
            st = take_addresses_of(r, l.addresses, s);
        }
    }
    return st;
}

static enum st seastar_fill(struct report *r, struct span text, const struct seastar_report *n,
                            const struct seastar_stall *stall) {
    const struct seastar_line *l = &stall->line;
    const bool unclear = n->groups.data[stall->group].unclear;
    struct report_thread thread = {.id = (int64_t)l->shard, .main = true, .name = "reactor"};
    r->kind = "hang";
    r->detector = "seastar";
    r->os = "Linux";
    r->at_ms = (int64_t)l->ms;
    r->time = time_before(r, l->source);
    r->process = program_before(r, l->source);
    r->app_id = r->process;
    thread.stack = report_begin_stack(r);
    thread.stack.calls = true;
    enum st st = unclear ? ST_OK : take_backtrace(r, text, n, stall, &thread.stack);
    report_end_stack(r, &thread.stack);
    /* Addresses are relative to the executable's file, so the executable is placed at address 0. */
    report_image(r, &(struct report_image){.name = r->process ? r->process : "executable",
                                           .size = UINT64_C(1) << 36,
                                           .in_app = true});
    return st == ST_OK ? report_add_thread(r, &thread) : st;
}

/* Appends the lines of the group with the index `group` to *out. */
static void own_lines(struct span text, const struct seastar_report *n, size_t group,
                      struct strbuf *out) {
    struct span line;
    for (size_t i = 0; i < n->owners.len && line_take(&text, &line, NULL); i++) {
        if (n->owners.data[i] == group + 1) {
            strbuf_add(out, line.p, line_len(line));
            strbuf_addc(out, '\n');
        }
    }
}

static void tell_seastar_lacks(struct report *r, const struct seastar_report *n,
                               const struct seastar_stall *stall) {
    const struct seastar_group *g = &n->groups.data[stall->group];
    if (r->frames.len == 0) {
        report_lack(r, g->unclear ? "its backtrace: those of several stalls interlace in the log"
                                  : "a backtrace: the log has none of this stall");
    }
    if (stall == &n->stalls.data[g->last]) {
        report_lack_count(r, g->decoded, "line of its backtrace that could not be read",
                          "lines of its backtrace that could not be read");
    }
    if (n->stalls.len >= STALLS_MAX || n->others >= OTHERS_MAX) {
        report_lack(r, "what follows: too many other lines stand between those of its backtrace");
    }
}

/* Makes a dump of a stall. */
static enum st seastar_stall(const struct report_document *d, const struct seastar_report *n,
                             size_t ordinal, struct err *e) {
    const struct seastar_stall *stall = &n->stalls.data[ordinal];
    struct report r;
    struct strbuf own = {0};
    report_init(&r, report_seastar_format.name, ordinal, e);
    enum st st = seastar_fill(&r, d->text, n, stall);
    if (!tells_time(stall->line.source)) {
        r.ordinal += d->number; /* equal lines without a time are stalls of their own */
    }
    if (st == ST_OK && n->groups.len > 1) {
        own_lines(d->text, n, stall->group, &own);
        st = strbuf_check(&own, e);
    }
    const struct span lines = {strbuf_cstr(&own), strbuf_cstr(&own) + own.len};
    report_keep(&r, "text", own.len > 0 ? lines : d->text, true);
    tell_seastar_lacks(&r, n, stall);
    st = st == ST_OK ? report_finish(&r, d) : st;
    report_release(&r);
    strbuf_release(&own);
    return st;
}

static enum st seastar_read(const struct report_document *d, struct err *e) {
    struct seastar_report n = seastar_lines(d->text);
    struct report_document part = *d;
    enum st st = n.no_memory ? err_nomem(e) : ST_OK;
    part.text.end = n.end;
    if (st == ST_OK && n.stalls.len == 0) {
        st = err_set(e, ERR_FORMAT, "no stall of a reactor");
    }
    for (size_t i = 0; st == ST_OK && i < n.stalls.len; i++) {
        st = seastar_stall(&part, &n, i, e);
    }
    seastar_release(&n);
    return st;
}

/* ---- recognition ---- */

static bool seastar_begins(struct span text, bool *more) {
    struct span line = {text.p, text.p};
    (void)more;
    (void)line_take(&text, &line, NULL);
    return seastar_is_stall(line);
}

/* Does a stall's line begin a new report? Stalls of several programs stay in one report, because
 * their lines interlace. */
static bool stall_ends(const struct seastar_report *n, const struct seastar_line *l) {
    const struct seastar_group *last = &n->groups.data[n->groups.len - 1];
    for (size_t i = 0; i < n->groups.len; i++) {
        if (!seastar_same_source(&n->stalls.data[n->groups.data[i].first].line, l)) {
            return false;
        }
    }
    return l->kind == SEASTAR_STALL || last->answered || (last->headed && !l->headed);
}

/* Does the report end before this line? Some other lines of the log may stand between those of a
 * stall. */
static bool seastar_ends(struct span report, struct span line) {
    const struct seastar_line l = seastar_line_of(line);
    if (line_len(report) > REPORT_MAX) {
        return true;
    }
    if (l.kind > SEASTAR_OPEN && l.kind < SEASTAR_DECODED) {
        return false;
    }
    struct seastar_report n = seastar_lines(report);
    bool ends = n.no_memory || n.stalls.len == 0 || n.stalls.data[0].line.kind == SEASTAR_STALL ||
                n.stalls.len >= STALLS_MAX || n.trailing >= TRAILING_MAX || n.others >= OTHERS_MAX;
    ends = ends || (l.kind <= SEASTAR_OPEN && stall_ends(&n, &l));
    seastar_release(&n);
    return ends;
}

const struct report_format report_seastar_format = {
    .name = "seastar",
    .source = "Seastar reactors (ScyllaDB, Redpanda, Ceph Crimson): stalls in their log",
    .since = "0.1.0",
    .begins = seastar_begins,
    .ends = seastar_ends,
    .in_log = true,
    .read = seastar_read};
