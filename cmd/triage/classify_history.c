/* Implements stallclassify --history: opening it, adding dumps, marks, and messages. */
#include "triage/classify_history.h"

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/parse.h"
#include "classify/print/bucket_list.h"
#include "classify/keys/key.h"
#include "classify/keys/version.h"

enum {
    HISTORY_GROUP = 10000, /* dumps in one commit */
    HISTORY_DAYS_MAX = 36500,
    HISTORY_PAUSE_MS = 100 /* of commits, between two pauses for other writers */
};

uint64_t classify_now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* ---- options ---- */

/* Reads a day: "7d", which is 7 days before today, or a date such as "2026-11-20". False: the text
 * is neither. */
static bool read_day(const struct classify_history *h, const char *text, int32_t *day) {
    size_t len = strlen(text);
    uint64_t days;
    if (len > 1 && text[len - 1] == 'd' && parse_u64(text, len - 1, HISTORY_DAYS_MAX, &days)) {
        *day = h->today - (int32_t)days;
        return true;
    }
    return len == strlen("2026-11-20") && history_day_parse(text, len, day);
}

/* Reads a number of bytes with its unit, such as "500MB" or "2GB". False: the text is none. */
static bool read_bytes(const char *text, uint64_t *bytes) {
    static const struct {
        const char *unit;
        uint64_t bytes;
    } units[] = {{"kB", 1000}, {"MB", 1000000}, {"GB", 1000000000}};
    size_t len = strlen(text);
    for (size_t i = 0; len > 2 && i < sizeof units / sizeof *units; i++) {
        uint64_t n;
        if (strcmp(text + len - 2, units[i].unit) == 0 &&
            parse_u64(text, len - 2, UINT32_MAX, &n) && n > 0) {
            *bytes = n * units[i].bytes;
            return true;
        }
    }
    return false;
}

static bool read_days(const struct cli_tool *tool, struct classify_history *h) {
    const struct {
        const char *option, *text;
        int32_t *day, otherwise;
    } rows[] = {{"--since", h->since, &h->span.since, INT32_MIN},
                {"--until", h->until, &h->span.until, INT32_MAX},
                {"--keep", h->keep, &h->keep_from, HISTORY_NO_DAY}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bool keeps = rows[i].day == &h->keep_from;
        *rows[i].day = rows[i].otherwise;
        if (rows[i].text && !read_day(h, rows[i].text, rows[i].day) &&
            !(keeps && read_bytes(rows[i].text, &h->keep_bytes))) {
            return cli_reject(tool,
                              "%s takes a number of days (7d)%s or a day (2026-11-20), not '%s'",
                              rows[i].option, keeps ? ", of bytes (500MB)" : "", rows[i].text);
        }
    }
    return true;
}

bool classify_set_clock(const struct cli_tool *tool, struct classify_history *h) {
    time_t now = time(NULL);
    struct tm tm;
    if (!gmtime_r(&now, &tm) || !strftime(h->now, sizeof h->now, "%Y-%m-%dT%H:%M:%SZ", &tm) ||
        !history_day_parse(h->now, strlen(h->now), &h->today)) {
        return cli_reject(tool, "the clock tells no day");
    }
    if (h->h) {
        history_set_today(h->h, h->today);
    }
    return true;
}

bool classify_set_today(const struct cli_tool *tool, struct classify_history *h) {
    return classify_set_clock(tool, h) && read_days(tool, h);
}

/* Is stdin a file or a pipe that has data? A run without operands only reads the history, so dumps
 * on stdin would be lost unnoticed. */
static bool stdin_has_dumps(void) {
    struct stat st;
    struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
    if (fstat(STDIN_FILENO, &st) != 0) {
        return false;
    }
    return S_ISREG(st.st_mode) ? st.st_size > 0
                               : S_ISFIFO(st.st_mode) && poll(&p, 1, 0) == 1 && p.revents & POLLIN;
}

bool classify_check_history(const struct cli_tool *tool, struct classify_history *h,
                            const struct where *where, size_t operand_count) {
    if (!h->path && (h->since || h->until || h->keep || h->mark || h->marks || h->forget ||
                     h->check || h->back)) {
        return cli_reject(tool, "--since, --until, --keep, --mark, --marks, --forget-user, --check"
                                " and --fail-on back go with --history");
    }
    if (!h->path) {
        return !where_asks_marks(where) ||
               cli_reject(tool,
                          "owner and ignored are what a history says: they go with --history");
    }
    if (!classify_set_today(tool, h)) {
        return false;
    }
    if (h->keep_from > h->today) {
        return cli_reject(tool, "--keep takes no day after today, such as '%s'", h->keep);
    }
    const char *beside = where_asks_beside(where, history_fields);
    if (beside) {
        return cli_reject(
            tool,
            "a history is asked by app.version, app.build, time, owner and ignored alone, not by"
            " %s",
            beside);
    }
    h->span.where = where;
    h->span.ever = h->since != NULL;
    if ((h->mark != NULL) + (h->forget != NULL) + h->check + h->marks > 1) {
        return cli_reject(tool, "--mark, --marks, --forget-user and --check exclude each other");
    }
    if (h->forget && (operand_count || !*h->forget)) {
        return cli_reject(tool, "--forget-user takes a user, and no dumps");
    }
    if (h->mark && !operand_count) {
        return cli_reject(tool, "--mark needs marks behind it, such as owner=payments");
    }
    if ((h->check || h->marks) && operand_count) {
        return cli_reject(tool, "%s reads the history alone", h->check ? "--check" : "--marks");
    }
    if (!operand_count && stdin_has_dumps()) {
        return cli_reject(tool, "nothing is added: give - to add the dumps of the standard input");
    }
    return true;
}

/* ---- open, add, read ---- */

/* Makes a write beyond the file size limit (RLIMIT_FSIZE) fail, so that SQLite undoes its
 * transaction; SIGXFSZ would end the process and leave SQLite's temporary files. */
static void fail_at_size_limit(void) {
    struct sigaction now;
    if (sigaction(SIGXFSZ, NULL, &now) == 0 && now.sa_handler == SIG_DFL) {
        (void)signal(SIGXFSZ, SIG_IGN);
    }
}

int classify_open_history(struct classify_history *h, const struct cli_tool *tool, bool adds,
                          bool cap_given, uint64_t *cap_s, struct cli_failures *failures) {
    struct triage_options made;
    struct err e = {0};
    enum history_access access = adds ? HISTORY_WRITE : HISTORY_READ;
    access = h->mark || h->forget || (!adds && h->keep) ? HISTORY_EDIT : access;
    if (access != HISTORY_READ) {
        fail_at_size_limit();
    }
    if (history_open(&h->h, h->path, access, &e) != ST_OK) {
        cli_fail(failures, h->path, &e);
        return CLI_FAILED;
    }
    history_set_today(h->h, h->today);
    if (history_options(h->h, &made, &e) && made.cap_ms != *cap_s * 1000 &&
        made.cap_ms % 1000 == 0 && !cap_given) {
        cli_say(tool->name, "%s was made with --cap %" PRIu64 ": so is this run", h->path,
                made.cap_ms / 1000);
        *cap_s = made.cap_ms / 1000;
    }
    if (err_is(&e)) {
        cli_fail(failures, h->path, &e);
        return CLI_FAILED;
    }
    return CLI_OK;
}

bool classify_begin_history(struct classify_history *h, const struct triage_options *o,
                            struct cli_failures *failures) {
    struct err e = {0};
    return history_set_options(h->h, o, &e) == ST_OK || cli_fail(failures, h->path, &e);
}

enum st classify_commit_history(struct classify_history *h, bool all, struct err *e) {
    if (!all && history_uncommitted(h->h) < HISTORY_GROUP) {
        return ST_OK;
    }
    /* The lock is left free for longer than another writer waits between two tries. */
    static const struct timespec pause = {.tv_nsec = 4000000};
    const bool adding = history_is_adding(h->h);
    enum st st = history_commit(h->h, h->now, e);
    h->commit_ms = 0;
    if (adding && classify_now_ms() - h->pause_ms >= HISTORY_PAUSE_MS) {
        nanosleep(&pause, NULL);
        h->pause_ms = classify_now_ms();
    }
    return st;
}

static void say_counts(const struct classify_history *h, const struct cli_tool *tool) {
    const struct history_counts *c = history_counts_of(h->h);
    struct strbuf text = {0};
    strbuf_addf(&text, "%" PRIu64 " dump%s", c->dumps, c->dumps == 1 ? "" : "s");
    if (c->sessions) {
        strbuf_addf(&text, " and %" PRIu64 " session record%s", c->sessions,
                    c->sessions == 1 ? "" : "s");
    }
    strbuf_addstr(&text, " added");
    if (c->known) {
        strbuf_addf(&text, ", %" PRIu64 " were there", c->known);
    }
    if (c->too_old) {
        strbuf_addf(&text, ", %" PRIu64 " refused: of days that are not kept", c->too_old);
    }
    if (c->ahead) {
        strbuf_addf(&text, "; %" PRIu64 " of a time ahead of the clock, so of no known day",
                    c->ahead);
    }
    cli_say(tool->name, "%s: %s", h->path, strbuf_cstr(&text));
    strbuf_release(&text);
}

bool classify_end_history(struct classify_history *h, const struct cli_tool *tool,
                          struct cli_failures *failures) {
    struct err e = {0};
    if (history_commit(h->h, h->now, &e) != ST_OK) {
        return cli_fail(failures, h->path, &e);
    }
    say_counts(h, tool);
    return classify_keep_history(h, tool, failures);
}

/* Prints how many kept dumps were deleted since the last call because they could not be read. */
static void say_unreadable(struct classify_history *h, const struct cli_tool *tool) {
    const uint64_t all = history_counts_of(h->h)->unreadable, count = all - h->unreadable_told;
    h->unreadable_told = all;
    if (count) {
        cli_say(tool->name, "%s: deleted %" PRIu64 " kept dump%s that could not be read", h->path,
                count, count == 1 ? "" : "s");
    }
}

bool classify_keep_history(struct classify_history *h, const struct cli_tool *tool,
                           struct cli_failures *failures) {
    struct err e = {0};
    uint64_t cells = 0;
    enum st st = ST_OK;
    if (h->keep_bytes) {
        st = history_drop_past(h->h, h->keep_bytes, &cells, &e);
    } else if (h->keep) {
        st = history_drop_before(h->h, h->keep_from, &cells, &e);
    }
    say_unreadable(h, tool);
    return st == ST_OK || cli_fail(failures, h->path, &e);
}

bool classify_read_history(struct classify_history *h, enum history_days days, struct keyer *k,
                           const struct triage_options *o, struct triage **t,
                           struct cli_failures *failures) {
    struct err e = {0};
    struct history_span span = h->span;
    if (days == DAYS_BEFORE) {
        span.until = span.since - 1;
    }
    if (days != DAYS_ASKED) {
        span.since = INT32_MIN;
    }
    if (history_read(h->h, &span, k, o, t, &e) != ST_OK) {
        cli_fail(failures, h->path, &e);
    }
    return *t;
}

/* ---- marks ---- */

int classify_mark_history(struct classify_history *h, const struct cli_tool *tool, char **marks,
                          size_t count, struct cli_failures *failures) {
    for (size_t i = 0; i < count; i++) {
        struct err e = {0};
        char *equals = strchr(marks[i], '=');
        if (!equals) {
            return cli_usage_error(tool, "a mark is NAME=VALUE, not '%s'", marks[i]);
        }
        *equals = '\0';
        enum st st = history_mark(h->h, h->mark, marks[i], equals + 1, h->now, &e);
        *equals = '=';
        if (st == ST_ERR && e.code == ERR_USAGE) {
            return cli_usage_error(tool, "%s", e.text);
        }
        if (st == ST_NONE) {
            err_set(&e, ERR_USAGE, "it has no bucket %s", h->mark);
        }
        if (st != ST_OK) {
            cli_fail(failures, h->path, &e);
            break;
        }
    }
    return cli_exit_status(failures);
}

int classify_forget_user(struct classify_history *h, const struct cli_tool *tool,
                         struct cli_failures *failures) {
    struct err e = {0};
    uint64_t parts = 0;
    if (history_forget_user(h->h, h->forget, &parts, &e) != ST_OK) {
        cli_fail(failures, h->path, &e);
    } else {
        cli_say(tool->name, "%s: %" PRIu64 " part%s named the user", h->path, parts,
                parts == 1 ? "" : "s");
    }
    say_unreadable(h, tool);
    return cli_exit_status(failures);
}

int classify_check_history_file(struct classify_history *h, const char *output,
                                struct cli_failures *failures) {
    struct cli_output out;
    struct err e = {0};
    if (!cli_output_open(&out, output, failures)) {
        return CLI_FAILED;
    }
    enum st st = history_check(h->h, &out.sink, &e);
    cli_output_close(&out, true, failures);
    if (st == ST_NONE) {
        err_set(&e, ERR_FORMAT,
                "the history is damaged, see above; make it anew from the dumps, or"
                " go on with what can be read");
    }
    if (st != ST_OK) {
        cli_fail(failures, h->path, &e);
    }
    return cli_exit_status(failures);
}

/* ---- facts about a bucket ---- */

static enum st keep_gone(void *ctx, const struct gone_bucket *b, struct err *e) {
    struct gone_list *list = ctx;
    bool added;
    return map_put(&list->by_id, &b->id, sizeof b->id, list->buckets.len, &added) &&
                   VEC_PUSH(&list->buckets, *b)
               ? ST_OK
               : err_nomem(e);
}

enum st classify_note_gone(void *ctx, const struct gone_bucket *b, struct err *e) {
    struct classify_history *h = ctx;
    return keep_gone(&h->gone, b, e);
}

static void gone_list_release(struct gone_list *list) {
    map_release(&list->by_id);
    VEC_RELEASE(&list->buckets);
}

/* Returns the entry of the bucket with this id in a list of gone or returned buckets; NULL =
 * none. */
static const struct gone_bucket *gone_list_find(const struct gone_list *list, uint64_t id) {
    const struct map_entry *entry = map_get(&list->by_id, &id, sizeof id);
    return entry ? &list->buckets.data[entry->value] : NULL;
}

void classify_clear_gone(struct classify_history *h) {
    map_clear(&h->gone.by_id);
    map_clear(&h->fixed);
    map_clear(&h->marked);
    h->fixed_listed = h->marked_listed = false;
    h->gone.buckets.len = 0;
}

bool classify_find_gone(struct classify_history *h, const struct triage *t,
                        struct cli_failures *failures) {
    struct err e = {0};
    classify_clear_gone(h);
    return gone_each(t, keep_gone, &h->gone, &e) == ST_OK || cli_fail(failures, h->path, &e);
}

/* Sets *out to the history's note on a bucket, borrowed until the next call. ST_NONE: there is
 * none. */
static enum st find_note(struct classify_history *h, const char *id, struct bucket_note *out,
                         struct err *e) {
    uint64_t number;
    strbuf_release(&h->note.text);
    enum st st = history_note_of(h->h, id, &h->note, e);
    if (st != ST_OK) {
        return st;
    }
    *out = h->note.said;
    const struct gone_bucket *gone =
        parse_hex(id, strlen(id), &number) ? gone_list_find(&h->gone, number) : NULL;
    if (gone) {
        out->gone_in = gone->gone_in;
        out->returned_in = gone->returned_in;
        out->again_in = gone->again_in;
        out->unwatched_in = gone->unwatched_in;
    }
    return ST_OK;
}

/* Does a note mark its bucket as ignored today? */
static bool note_ignores(const struct classify_history *h, const struct bucket_note *note) {
    int32_t day;
    return *note->ignore &&
           (strcmp(note->ignore, "ever") == 0 ||
            (history_day_parse(note->ignore, strlen(note->ignore), &day) && day >= h->today));
}

bool classify_history_note(void *ctx, const char *id, struct bucket_note *out) {
    struct classify_history *h = ctx;
    bool found = find_note(h, id, out, &h->unread) == ST_OK;
    out->ignored = found && note_ignores(h, out);
    return found;
}

static enum st list_in_map(void *ctx, uint64_t bucket, struct err *e) {
    return map_put(ctx, &bucket, sizeof bucket, 0, NULL) ? ST_OK : err_nomem(e);
}

bool classify_history_is_marked(void *ctx, const char *id) {
    struct classify_history *h = ctx;
    uint64_t number;
    if (!h->marked_listed) {
        h->marked_listed =
            history_marked_each(h->h, NULL, list_in_map, &h->marked, &h->unread) == ST_OK;
    }
    return h->marked.count && parse_hex(id, strlen(id), &number) &&
           map_get(&h->marked, &number, sizeof number);
}

/* Is a version later than `version` marked as the one that fixes the bucket? */
static bool is_fixed_after(const struct bucket_note *note, const char *version) {
    return *note->fixed_in && version_compare(note->fixed_in, version) > 0;
}

/* Did the bucket come back by the counts, and is no later version marked as the one that fixes it?
 */
static bool is_back_by_counts(const struct gone_bucket *gone, const struct bucket_note *note) {
    return gone && gone->returned_in && !is_fixed_after(note, gone->returned_in);
}

bool classify_history_is_back(void *ctx, const char *id) {
    struct classify_history *h = ctx;
    struct bucket_note note = {0};
    uint64_t number;
    if (!h->fixed_listed) {
        h->fixed_listed =
            history_marked_each(h->h, "fixed-in", list_in_map, &h->fixed, &h->unread) == ST_OK;
    }
    if (!h->gone.buckets.len && !h->told.count && !h->fixed.count) {
        return false;
    }
    if (!parse_hex(id, strlen(id), &number)) {
        return false; /* the id of the bucket "other" is a word and no number */
    }
    bool marked = map_get(&h->fixed, &number, sizeof number) && classify_history_note(h, id, &note);
    if (map_get(&h->told, &number, sizeof number) || (marked && *note.back_in)) {
        return true;
    }
    if (!marked) {
        note.fixed_in = "";
    }
    return is_back_by_counts(gone_list_find(&h->gone, number), &note);
}

bool classify_history_is_gone(void *ctx, const char *id, struct gone_bucket *out) {
    const struct classify_history *h = ctx;
    uint64_t number;
    const struct gone_bucket *gone =
        parse_hex(id, strlen(id), &number) ? gone_list_find(&h->gone, number) : NULL;
    *out = gone ? *gone : (struct gone_bucket){0};
    return gone != NULL;
}

bool classify_history_fails_back(void *ctx, const char *id) {
    const struct classify_history *h = ctx;
    uint64_t number;
    const struct map_entry *entry =
        parse_hex(id, strlen(id), &number) ? map_get(&h->told, &number, sizeof number) : NULL;
    return entry && entry->value;
}

bool classify_history_ignores(void *ctx, const char *id) {
    struct classify_history *h = ctx;
    struct bucket_note note = {0};
    return classify_history_note(h, id, &note) && note.ignored;
}

bool classify_notes_were_read(struct classify_history *h, struct cli_failures *failures) {
    struct err e = h->unread;
    err_clear(&h->unread);
    return !err_is(&e) || cli_fail(failures, h->path, &e);
}

/* ---- --fail-on back ---- */

struct back_list {
    struct classify_history *h;
    const struct cli_tool *tool;
    uint64_t count;
};

/* Prints a return by the counts, or what is too little to tell one, unless a mark tells more of it.
 * counted: it is back by the counts. */
static void tell_return(const struct back_list *list, const struct gone_bucket *gone,
                        const struct bucket_note *note, bool counted, const char *ignored,
                        const char *id, const char *title) {
    const char *tool = list->tool->name;
    if (counted && gone->unwatched_in) {
        cli_say(tool,
                "perhaps back again in %s, by the counts gone since %s%s: too little to tell, as "
                "less than 90 %% of the time was watched in %s: %s %s",
                gone->returned_in, gone->gone_in, ignored, gone->unwatched_in, id, title);
    } else if (counted) {
        cli_say(tool, "back again in %s, by the counts gone since %s%s: %s %s", gone->returned_in,
                gone->gone_in, ignored, id, title);
    } else if (gone->again_in && !*note->back_in && !is_fixed_after(note, gone->again_in)) {
        cli_say(tool,
                "seen again in %s, by the counts gone since %s: does not count, as it is too few "
                "to say whether it came back: %s %s",
                gone->again_in, gone->gone_in, id, title);
    }
}

static enum st tell_back(void *ctx, const struct bucket_summary *b, struct err *e) {
    struct back_list *list = ctx;
    struct bucket_note note = {0};
    char id[KEY_ID_SIZE];
    key_number_text(b->id, id);
    enum st st = find_note(list->h, id, &note, e);
    if (st != ST_OK) {
        return st == ST_ERR ? ST_ERR : ST_OK;
    }
    const struct gone_bucket *gone = gone_list_find(&list->h->gone, b->id);
    bool marked = *note.back_in, counted = is_back_by_counts(gone, &note);
    const char *ignored = note_ignores(list->h, &note) ? ", ignored" : "";
    if (marked) {
        cli_say(list->tool->name, "back again in %s, marked as fixed in %s%s: %s %s", note.back_in,
                note.fixed_in, ignored, id, b->title);
    }
    if (!marked && *note.back_alone) {
        cli_say(
            list->tool->name,
            "perhaps back again in %s, marked as fixed in %s: does not count, as the history has "
            "no other dump of that version: %s %s",
            note.back_alone, note.fixed_in, id, b->title);
    }
    if (gone && gone->gone_in) {
        tell_return(list, gone, &note, counted, ignored, id, b->title);
    }
    bool unclear = counted && gone->unwatched_in;
    bool fails = (marked || (counted && !unclear)) && !*ignored;
    list->count += fails;
    list->h->back_unclear = list->h->back_unclear || (unclear && !fails && !*ignored);
    if ((marked || counted) && !map_put(&list->h->told, &b->id, sizeof b->id, fails, NULL)) {
        return err_nomem(e);
    }
    return ST_OK;
}

uint64_t classify_tell_back(struct classify_history *h, const struct cli_tool *tool,
                            const struct triage *t, struct cli_failures *failures) {
    struct back_list list = {.h = h, .tool = tool};
    h->back_told = true;
    struct err e = {0};
    if (bucket_list_each(t, tell_back, &list, &e) != ST_OK) {
        cli_fail(failures, h->path, &e);
    }
    return list.count;
}

void classify_close_history(struct classify_history *h) {
    strbuf_release(&h->note.text);
    summary_rows_release(&h->read_rows);
    strbuf_release(&h->rows);
    strbuf_release(&h->shown);
    gone_list_release(&h->gone);
    map_release(&h->fixed);
    map_release(&h->marked);
    map_release(&h->told);
    history_close(h->h);
}
