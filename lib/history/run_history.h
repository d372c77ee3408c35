/* Keeps a history: the counts of many runs, in one SQLite file, see stall-history(5). Each dump and
 * each session record counts once, by its id, however often it is read. The file keeps partials,
 * one or a few for each day, version and build of the app, so that reading all of them gives the
 * result of --merge on the runs' partials. A writer holds the file's write lock from the first dump
 * of a group to the end of the group, so that ids and counts are written together or not at all;
 * other writers wait. A handle is for one thread. In a build without libsqlite3 no history can be
 * opened (sql_file.h). */
#ifndef STALLKIT_HISTORY_RUN_HISTORY_H
#define STALLKIT_HISTORY_RUN_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/sink.h"
#include "base/strbuf.h"
#include "classify/keys/key.h"
#include "classify/keys/where.h"
#include "classify/print/bucket_note.h"
#include "classify/stats/triage.h"
#include "dump/dump.h"

/* The version of the tables that this build writes; it reads this and all earlier ones. */
enum { HISTORY_VERSION = 8 };
/* The day of a dump whose time is missing, no date, or ahead of the clock (history_set_today).
 * Other days are counted from 1970-01-01 in UTC. */
enum { HISTORY_NO_DAY = INT32_MIN };

struct history;

enum history_access {
    HISTORY_READ,  /* the file must exist; nothing but sums of its parts and pages is written to it,
                      see history_read and history_keep_page */
    HISTORY_WRITE, /* the file is made if it does not exist */
    HISTORY_EDIT   /* as HISTORY_WRITE, but the file must exist */
};

/* Opens a history; path is copied. ST_ERR: the file cannot be opened, is no history, has a later
 * version (ERR_UNSUPPORTED), or is damaged (ERR_FORMAT); or out of memory. */
enum st history_open(struct history **out, const char *path, enum history_access access,
                     struct err *e) BASE_MUST_USE;
/* Closes a history and discards the additions since the last history_commit. NULL is allowed. */
void history_close(struct history *h);

/* ---- adding ---- */

/* The numbers of dumps and session records offered since history_open, by what the history did with
 * them: added, or left out for a reason. */
struct history_counts {
    uint64_t dumps, sessions; /* added */
    uint64_t known;           /* left out, because their ids are known */
    uint64_t too_old;         /* refused: their days are so old that ids are no longer kept */
    uint64_t ahead; /* of all these: dumps and session records whose time is ahead of the clock, so
                       that they count as ones without a day */
    uint64_t unreadable; /* kept dumps that could not be read, so that history_drop_before,
                            history_drop_past or history_forget_user deleted them besides those that
                            it was asked to delete */
};

/* Sets the day of the clock. From now on a dump or session record whose day is more than
 * HISTORY_AHEAD_MAX days after it counts as one without a day. Without a call no day is ahead of
 * the clock. */
enum { HISTORY_AHEAD_MAX = 2 };
void history_set_today(struct history *h, int32_t today);
/* Sets the options by which dumps are counted from now on: rules, rules_hash and cap; `where` and
 * `open` must not be set, as a history covers all dumps. o is copied; its texts are borrowed until
 * history_close. ST_ERR: `where` is set or the history has another cap (both ERR_USAGE), or the
 * file cannot be read. */
enum st history_set_options(struct history *h, const struct triage_options *o,
                            struct err *e) BASE_MUST_USE;
/* Counts a dump under its key unless its id, or, if it has none, its text is known, or its day is
 * too old (history_counts), and may keep a copy of it to be shown (history_dumps_of); borrows
 * nothing. The call waits up to a minute while another process writes. ST_ERR: out of memory, the
 * file cannot be written, or another process wrote all that time; the caller must then call
 * history_undo or history_close, and add everything since the last commit again. */
enum st history_add(struct history *h, const struct dump *d, const struct stall_key *key,
                    struct err *e) BASE_MUST_USE;
/* Counts a stall-session/1 record, as history_add does a dump. ST_ERR: as history_add, or the text
 * is no such record (ERR_FORMAT), and the history then stays usable. */
enum st history_add_session(struct history *h, const char *text, size_t len,
                            struct err *e) BASE_MUST_USE;
/* Does the handle hold the write lock? It does from the first dump or session record of a group,
 * added or left out, to the commit. */
bool history_is_adding(const struct history *h);
/* Returns how many dumps and sessions were added since the last commit. */
uint64_t history_uncommitted(const struct history *h);
/* Writes the additions, and releases the write lock. at: the time of the run, such as
 * "2026-11-20T10:00:00Z". ST_ERR: as history_add, but history_undo was called already. Nothing to
 * write is no error. */
enum st history_commit(struct history *h, const char *at, struct err *e) BASE_MUST_USE;
/* Discards the additions since the last commit, sets the counts to those that it left, and releases
 * the write lock. The handle can add again, also after a failed history_add. */
void history_undo(struct history *h);
/* Returns the counts of this handle, borrowed from it. */
const struct history_counts *history_counts_of(const struct history *h);

/* ---- reading ---- */

/* The part of a history that a call reads. */
struct history_span {
    int32_t since, until; /* days, both included; INT32_MIN and INT32_MAX: no bound. Dumps without a
                             day are included only if there is no bound */
    bool no_day;          /* only dumps without a day; the bounds do not apply */
    const char *version;  /* only this version of the app; NULL = all */
    bool no_sum; /* the sum of the parts is not kept in the file, because the caller reads many
                    spans */
    bool ever; /* a page of the span also has facts from all days before it, so that it is kept only
                  if the last call of history_read but one was of the span without `since`, and is
                  not read once dumps of these days were added; other calls take no notice */
    const struct where *where; /* terms on history_fields; NULL = none */
};
/* The names of fields that `where` may use, ended by NULL. The fields owner and ignored match every
 * dump here, see where_match_bucket. */
extern const char *const history_fields[];
/* Reads into o the cap, and of the sets of rules that the history has the one that was added last,
 * passing over damaged ones; the texts of o are borrowed until the next call. False: nothing was
 * ever added, or, with an error in e, the file cannot be read, its cap is malformed, or all sets of
 * rules are damaged (both ERR_FORMAT). */
bool history_options(struct history *h, struct triage_options *o, struct err *e);

/* Makes a triage, not finished, of everything in the span. k and o: the keyer and the options with
 * which parts that other rules counted are sorted anew, see triage_rekey. If many parts had to be
 * merged, their sum is kept in the file for later calls, unless a part is damaged, the span says
 * no_sum, the file is of an earlier version or cannot be written at once, or this handle has not
 * committed what it added. A damaged part is left out: one that cannot be read, that was not made
 * as its row and the history say (forged), or that has no cell, and so may be of any span. ST_ERR:
 * parts are left out, and e says how many and names one; or out of memory, or the file cannot be
 * read. *out is then NULL or what could be read. Parts without a cell are told by the first call of
 * a handle alone. The caller frees *out with triage_free. */
enum st history_read(struct history *h, const struct history_span *span, struct keyer *k,
                     const struct triage_options *o, struct triage **out,
                     struct err *e) BASE_MUST_USE;

/* The file keeps a page of a span beside the largest kept sum of the span's parts, so that the page
 * can be written again without the parts. A kept page is a triage of the first buckets alone
 * (triage_keep), the bytes of the rows of the other buckets (summary_write_rows), and those of what
 * is shown of the first ones (shown_write). */
/* Reads the kept triage, rows and what is shown (empty: it was not kept) of a span; the caller
 * frees *top with triage_free. o: the options of the run. ST_NONE: the page is not kept, is
 * damaged, or was made with other options or by another build, dumps were added to the span since,
 * the file is of an earlier version, or this handle has not committed what it added; *top is then
 * NULL. ST_ERR: as history_read. */
enum st history_read_page(struct history *h, const struct history_span *span,
                          const struct triage_options *o, struct triage **top, struct strbuf *rows,
                          struct strbuf *shown, struct err *e) BASE_MUST_USE;
/* Keeps a triage, rows, and what is shown (empty = nothing), which were made from the result of the
 * last history_read of the same span. As with a sum, nothing happens if the file cannot be written
 * at once, if the span changed since, or if no sum of some of its parts is kept. ST_ERR: out of
 * memory, or the file cannot be read. */
enum st history_keep_page(struct history *h, const struct history_span *span,
                          const struct triage *top, const struct strbuf *rows,
                          const struct strbuf *shown, struct err *e) BASE_MUST_USE;
/* Changes *number by the ids of the dumps that are kept of the bucket of this number: equal dumps
 * give equal numbers. ST_ERR: as history_sums. */
enum st history_number_dumps(struct history *h, uint64_t bucket, uint64_t *number,
                             struct err *e) BASE_MUST_USE;

/* A callback that takes a day from history_days, or a version from history_versions, each with the
 * version or the day of one cell that has it; ST_ERR ends the list. */
typedef enum st (*history_value_visit)(void *ctx, int32_t day, const char *version, struct err *e);
/* history_days calls visit for each day of the span, ascending, HISTORY_NO_DAY first;
 * history_versions calls visit for each version, ascending as texts. Days and versions of which
 * there are only session records are included; damaged ones are left out, as they are by
 * history_read. The file must not be changed by visit. ST_ERR: from visit, out of memory, or the
 * file cannot be read. */
enum st history_days(struct history *h, const struct history_span *span, history_value_visit visit,
                     void *ctx, struct err *e) BASE_MUST_USE;
enum st history_versions(struct history *h, const struct history_span *span,
                         history_value_visit visit, void *ctx, struct err *e) BASE_MUST_USE;

/* The dumps of a bucket of level 1, or of all buckets, on one day with one version and one build,
 * and their stalled time. Builds of a version have sums of their own. */
struct history_sum {
    int32_t day; /* HISTORY_NO_DAY = unknown */
    const char *version;
    uint64_t dumps, ms;
};
/* Callbacks that take a sum, or a dump's text; both are borrowed. ST_ERR ends the list. */
typedef enum st (*history_sum_visit)(void *ctx, const struct history_sum *sum, struct err *e);
typedef enum st (*history_dump_visit)(void *ctx, const char *text, size_t len, struct err *e);
/* Both call visit for each day, version and build of the span, the newest days first,
 * HISTORY_NO_DAY last: history_sums with the sum of all buckets, history_sums_of with that of the
 * bucket of this number, as the rules of each run counted it. Damaged days and versions are left
 * out. ST_ERR: from visit, out of memory, or the file cannot be read. */
enum st history_sums(struct history *h, const struct history_span *span, history_sum_visit visit,
                     void *ctx, struct err *e) BASE_MUST_USE;
enum st history_sums_of(struct history *h, const struct history_span *span, uint64_t bucket,
                        history_sum_visit visit, void *ctx, struct err *e) BASE_MUST_USE;
/* Calls visit for the dumps of the span that are kept of the bucket of this number; a history of
 * version 2 or earlier has none. A dump may have another bucket by today's rules. ST_ERR: from
 * visit; out of memory; the file cannot be read; or a dump is damaged (ERR_FORMAT), and e names it:
 * the others were visited. */
enum st history_dumps_of(struct history *h, const struct history_span *span, uint64_t bucket,
                         history_dump_visit visit, void *ctx, struct err *e) BASE_MUST_USE;

/* ---- facts about a bucket ---- */

/* The facts about one bucket that the history has. Zero-initialised = none. */
struct history_note {
    struct bucket_note said;
    struct strbuf text; /* owns the texts in `said` */
};
/* Reads the facts about the level-1 bucket of an id, or of its former ids, that the history has.
 * Damaged days and versions are left out, as they are by history_read. ST_NONE: the history has
 * nothing about the bucket, or id is no bucket's id. ST_ERR: out of memory, a mark is damaged, or
 * the file cannot be read. Release n->text in any case. */
enum st history_note_of(struct history *h, const char *id, struct history_note *n,
                        struct err *e) BASE_MUST_USE;

/* A callback that takes the number of a bucket; ST_ERR ends the list. */
typedef enum st (*history_bucket_visit)(void *ctx, uint64_t bucket, struct err *e);
/* Calls visit for each bucket that has a mark of this name, or, with NULL, any mark, also by a
 * former id. ST_ERR: from visit, or as history_read. */
enum st history_marked_each(struct history *h, const char *name, history_bucket_visit visit,
                            void *ctx, struct err *e) BASE_MUST_USE;

/* Calls visit for the number of a bucket, for those of its former ids, and for those of the buckets
 * of which it is a former id; the number need not be a bucket's. ST_ERR: from visit, or as
 * history_read. */
enum st history_ids_each(struct history *h, uint64_t bucket, history_bucket_visit visit, void *ctx,
                         struct err *e) BASE_MUST_USE;
/* Appends the title of the bucket of this number. ST_NONE: the history has no such bucket, or it is
 * a former id of another one. ST_ERR: as history_read. */
enum st history_title_of(struct history *h, uint64_t bucket, struct strbuf *out,
                         struct err *e) BASE_MUST_USE;

/* ---- marks that people set ---- */

/* Sets a mark of the level-1 bucket of an id, or removes it if value is empty: fixed-in, owner,
 * note, link, ignore ("ever", or a day). at: the time of the change, as in history_commit. The
 * change is committed at once. ST_NONE: the history has no such bucket. ST_ERR: id is no bucket's
 * id, there is no such mark, the mark cannot have this value, or the handle has not committed what
 * it added (all ERR_USAGE), or as history_add. */
enum st history_mark(struct history *h, const char *id, const char *name, const char *value,
                     const char *at, struct err *e) BASE_MUST_USE;

/* ---- upkeep ---- */

/* Drops all days before this one, with the ids of their dumps; from now on dumps of these days are
 * refused, also by handles that are open. Dumps without a day stay. If days are dropped, all kept
 * sums and pages are, too; later reads make them again. Nothing happens if these days were dropped
 * before. *cells: how many combinations of day, version and build were dropped. ST_ERR: the handle
 * has not committed what it added (ERR_USAGE), or as history_add. */
enum st history_drop_before(struct history *h, int32_t day, uint64_t *cells,
                            struct err *e) BASE_MUST_USE;
/* Drops the oldest days, as history_drop_before does, until the file has at most this many bytes in
 * use or at most one day is left of those that are not after the day of history_set_today. *cells
 * and ST_ERR: as for history_drop_before. */
enum st history_drop_past(struct history *h, uint64_t bytes, uint64_t *cells,
                          struct err *e) BASE_MUST_USE;
/* Removes the data that identifies a user, whose name is the text that dumps have as `user`, the
 * kept dumps of that user, and all kept sums and pages, which later reads make again; counts stay,
 * see triage_forget_user. *parts: how many parts named the user. The file's free pages and its log
 * are overwritten, too. ST_ERR: as history_drop_before, or a part is damaged. After ST_ERR nothing
 * has changed, unless only the overwriting failed. */
enum st history_forget_user(struct history *h, const char *user, uint64_t *parts,
                            struct err *e) BASE_MUST_USE;
/* Examines the whole file without changing it: the database, the kinds of all values and the rows
 * that they refer to, each partial, each kept sum, each kept page that this build made, each kept
 * dump, the texts that partials and dumps share, and the sums in the tables for people. Prints each
 * fault on a line of its own. out: NULL = faults are not printed. ST_NONE: the file has faults.
 * ST_ERR: out of memory, or the file cannot be read. */
enum st history_check(struct history *h, struct sink *out, struct err *e) BASE_MUST_USE;

/* ---- days ---- */

/* Parses a day such as "2026-11-20", also with a time after it, in UTC as dumps have it, into days
 * since 1970-01-01. False: the text is no day. */
bool history_day_parse(const char *text, size_t len, int32_t *day);
enum { HISTORY_DAY_SIZE = 16 };
/* Writes a day as "2026-11-20", or "" for HISTORY_NO_DAY and for a day that has no such form.
 * Returns out. */
const char *history_day_text(int32_t day, char out[HISTORY_DAY_SIZE]);

#endif
