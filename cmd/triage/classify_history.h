/* Implements stallclassify --history: the counts of many runs in one file. */
#ifndef STALLKIT_CMD_CLASSIFY_HISTORY_H
#define STALLKIT_CMD_CLASSIFY_HISTORY_H

#include "base/map.h"
#include "base/vec.h"
#include "classify/gate/gone.h"
#include "classify/summary/summary.h"
#include "classify/summary/summary_rows.h"
#include "classify_gate.h"
#include "cli.h"
#include "history/run_history.h"

/* Buckets that are gone, have returned or are new by the counts of some days. Zero-initialised =
 * none. */
struct gone_list {
    struct map by_id; /* number of a bucket -> index into buckets */
    VEC(struct gone_bucket) buckets;
};

/* The days of a history that are read. */
enum history_days {
    DAYS_ASKED,  /* from --since to --until */
    DAYS_BEFORE, /* all days before --since */
    DAYS_UP_TO   /* all up to --until */
};

/* The options and the state of the history. Zero-initialised = no history. */
struct classify_history {
    const char *path;                 /* value of --history; NULL = none */
    const char *since, *until, *keep; /* values of --since, --until and --keep */
    const char *mark;                 /* value of --mark, a bucket's id */
    const char *forget;               /* value of --forget-user */
    bool check;                       /* --check is given */
    bool marks;                       /* --marks is given */
    bool back;                        /* --fail-on back is given */
    struct history *h;                /* private, as the members below */
    struct history_span span;
    int32_t today, keep_from;
    uint64_t keep_bytes;      /* 0 = no limit */
    uint64_t commit_ms;       /* monotonic time in ms from which on the next pause of the input ends
                                 the group; 0 = the input has not paused in this group */
    uint64_t pause_ms;        /* monotonic time of the last pause for other writers, in ms */
    uint64_t unreadable_told; /* number of unreadable dumps that were told as deleted */
    char now[32];             /* time of this run: "2026-11-20T10:00:00Z" */
    struct history_note note; /* the last result of history_note_of */
    struct err unread;        /* a failure to read notes or marks, for classify_notes_were_read */
    struct gone_list gone;    /* gone, returned and new buckets by the counts of the days up to the
                                 last printed one */
    struct strbuf rows;       /* rows of the kept page that is printed; empty = there is none */
    struct summary_rows read_rows; /* `rows`, read until the page has taken them */
    struct strbuf shown;   /* what is shown of the first buckets of a kept page, see shown_write;
                              empty = it was not kept, or does not fit */
    uint64_t shown_number; /* number of the dumps that are shown */
    struct map fixed;      /* ids of the buckets with a fixed-in mark */
    struct map marked;     /* ids of the buckets with any mark */
    bool fixed_listed, marked_listed;
    bool back_told; /* classify_tell_back has run */
    /* classify_tell_back found a bucket that may be back, which is not known, as too little was
     * watched, and which is not ignored. */
    bool back_unclear;
    struct map told; /* ids of the buckets that classify_tell_back printed as come back; value 1 =
                        the bucket was counted */
};

/* Checks the options against each other, the operands, the standard input and the filter, and sets
 * the days as classify_set_today does. where: the filter of the run, which may name only the fields
 * in history_fields; borrowed as long as h. False after a printed usage error. */
bool classify_check_history(const struct cli_tool *tool, struct classify_history *h,
                            const struct where *where, size_t operand_count);
/* Sets h->now and h->today to the current time. False after a printed usage error: the clock tells
 * no day. */
bool classify_set_clock(const struct cli_tool *tool, struct classify_history *h);
/* Calls classify_set_clock, and sets the other days to those that --since, --until and --keep
 * name today. False after a printed usage error. */
bool classify_set_today(const struct cli_tool *tool, struct classify_history *h);
/* Removes the days that are older than --keep allows, or that exceed its bytes, from the history,
 * and prints how many kept dumps were deleted because they could not be read. False: an error was
 * printed. */
bool classify_keep_history(struct classify_history *h, const struct cli_tool *tool,
                           struct cli_failures *failures);
/* Opens the history: for changes if --mark or --forget-user is given, or --keep without `adds`;
 * else for adding if `adds`; else for reading. Sets *cap_s to the history's cap, with a message, if
 * that is another one and a whole number of seconds, and --cap was not given. Returns CLI_OK, or
 * CLI_FAILED, with the error printed. */
int classify_open_history(struct classify_history *h, const struct cli_tool *tool, bool adds,
                          bool cap_given, uint64_t *cap_s, struct cli_failures *failures);
/* Begins to add dumps, which are counted with the options o. False: an error was printed. */
bool classify_begin_history(struct classify_history *h, const struct triage_options *o,
                            struct cli_failures *failures);
/* Returns the monotonic time in ms. */
uint64_t classify_now_ms(void);
/* Commits the dumps added since the last commit, a group, if there are at least 10,000 of them, or,
 * with `all`, in any case, and then leaves the history to other writers for a moment, unless it did
 * so within the last 100 ms. ST_ERR: as history_commit. */
enum st classify_commit_history(struct classify_history *h, bool all, struct err *e);
/* Adds the session records and the metric payloads in these files, values of --exposure, to the
 * history, after classify_begin_history. A file that cannot be read, or is a table, is printed and
 * counted. False: the history cannot be written, which was printed. */
bool classify_keep_exposure(struct classify_history *h, const struct cli_list *files,
                            struct cli_failures *failures);
/* Ends the adding: commits, prints how many dumps and session records were added, known before or
 * refused, and calls classify_keep_history. False: an error was printed. */
bool classify_end_history(struct classify_history *h, const struct cli_tool *tool,
                          struct cli_failures *failures);
/* Reads days into *t, which must be NULL. A damaged part is printed, counted and left out. False:
 * an error was printed, and *t is still NULL. */
bool classify_read_history(struct classify_history *h, enum history_days days, struct keyer *k,
                           const struct triage_options *o, struct triage **t,
                           struct cli_failures *failures);
/* These three functions run --mark, --forget-user and --check, and return the exit status. marks:
 * "owner=payments", "fixed-in=5.4.0" … */
int classify_mark_history(struct classify_history *h, const struct cli_tool *tool, char **marks,
                          size_t count, struct cli_failures *failures);
int classify_forget_user(struct classify_history *h, const struct cli_tool *tool,
                         struct cli_failures *failures);
int classify_check_history_file(struct classify_history *h, const char *output,
                                struct cli_failures *failures);
/* Finds the buckets that are gone, returned or new, for the notes of classify_history_note; t has
 * all days up to the last printed one, must be finished, and outlive the notes. False: an error was
 * printed. */
bool classify_find_gone(struct classify_history *h, const struct triage *t,
                        struct cli_failures *failures);
/* Empties h->gone, and forgets h->fixed and h->marked, which are read again when they are needed.
 */
void classify_clear_gone(struct classify_history *h);
/* Adds a bucket, whose texts are borrowed, to the list `gone` of ctx, a struct classify_history.
 * ST_ERR: out of memory. */
enum st classify_note_gone(void *ctx, const struct gone_bucket *b, struct err *e);
/* Sets *out to the note on a bucket; it is a bucket_note_of, whose ctx is the struct
 * classify_history. If the history cannot be read, there is no note, and classify_notes_were_read
 * reports the failure. */
bool classify_history_note(void *ctx, const char *id, struct bucket_note *out);
/* Has the bucket a mark? It is the is_marked of page_options, and the `stays` of triage_options; a
 * failure is reported by classify_notes_were_read. */
bool classify_history_is_marked(void *ctx, const char *id);
/* Did the bucket come back, by a mark or by the counts? It is the is_back of page_options; a
 * failure is reported by classify_notes_were_read. */
bool classify_history_is_back(void *ctx, const char *id);
/* Is the bucket gone or new by the counts, or did it return? It is the is_gone of page_options. */
bool classify_history_is_gone(void *ctx, const char *id, struct gone_bucket *out);
/* Appends which part of the history a page has: the days from --since to --until, and what the
 * filter, whose text is `text` and whose terms are `where` (NULL = none), chooses. Appends nothing
 * if it has all. */
void classify_say_narrowed(const struct classify_history *h, const char *text,
                           const struct where *where, struct strbuf *out);
/* Did classify_tell_back count the bucket? It is the fails_back of page_options. */
bool classify_history_fails_back(void *ctx, const char *id);
/* Is the bucket marked to be ignored today? It is the `ignored` of gate_options; a failure is
 * reported by classify_notes_were_read. */
bool classify_history_ignores(void *ctx, const char *id);
/* Could all requested notes and marks be read? It is called after an output or a gate, which are
 * wrong if the result is false. False: an error was printed. */
bool classify_notes_were_read(struct classify_history *h, struct cli_failures *failures);
/* Prints the buckets of t that came back: those marked as fixed in an earlier version, and those
 * that returned by classify_find_gone, unless they are marked as fixed in a later version. Returns
 * the number of those that are not ignored. Buckets that came back perhaps (back_alone,
 * again_in and unwatched_in in bucket_note) are printed, too, but not counted. t is finished. After
 * a failure, which is printed, the buckets read before it are counted. */
uint64_t classify_tell_back(struct classify_history *h, const struct cli_tool *tool,
                            const struct triage *t, struct cli_failures *failures);
/* Adds the data that the page shows besides counts to a finished triage of the selected days: for
 * its first `detail` buckets the time by day and by version, and the stored dumps: those of a kept
 * page (h->shown) if they are still the same, else from the history, with the keys of k and names
 * from resolve (NULL = none). False: an error was printed. */
bool classify_show_history(struct classify_history *h, struct triage *t, size_t detail,
                           struct keyer *k, triage_resolve resolve, void *resolve_ctx,
                           struct cli_failures *failures);
/* Reads the kept page of the selected days into *t, h->rows and h->shown. False: there is none, and
 * all parts must be read; a history that cannot be read is found then. */
bool classify_read_page(struct classify_history *h, const struct triage_options *o,
                        struct triage **t);
/* Adds h->rows, and explained stacks of h->shown, to the summary of the triage that
 * classify_read_page gave, and replaces the list of gone buckets by the one that the rows have.
 * ST_ERR: the rows are damaged, or out of memory. */
enum st classify_add_rows(void *ctx, struct summary *s, struct err *e);
/* Keeps a page: its triage, cut to the first CLASSIFY_KEPT_DETAIL buckets, the rows of its summary,
 * and what is shown of the first buckets (shown_write). The triage can only be freed afterwards. A
 * page that cannot be kept is no failure. */
void classify_keep_page(struct classify_history *h, struct triage *t, const struct strbuf *rows,
                        const struct strbuf *shown);
void classify_close_history(struct classify_history *h);

#endif
