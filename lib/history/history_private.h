/* Declares the state of an open history, such as its statements and the counts that are not written
 * yet, and the functions that the files of the history share. */
#ifndef STALLKIT_HISTORY_PRIVATE_H
#define STALLKIT_HISTORY_PRIVATE_H

#include "base/map.h"
#include "base/vec.h"
#include "history/pack_text.h"
#include "history/run_history.h"
#include "history/sql_file.h"

/* The statements that are prepared once for each handle. */
enum history_statement {
    HISTORY_SEEN_PUT,
    HISTORY_CELL_PUT,
    HISTORY_CELL_GET,
    HISTORY_PART_PUT,
    HISTORY_PART_GET,
    HISTORY_MADE_WITH,
    HISTORY_BUCKET_PUT,
    HISTORY_BUCKET_DAY_PUT,
    HISTORY_ALIAS_PUT,
    HISTORY_NOTE_CELLS,
    HISTORY_VERSION_DUMPS,
    HISTORY_NOTE_MARKS,
    HISTORY_CELL_SUM_PUT,
    HISTORY_VALUE_PUT,
    HISTORY_TIME_PUT,
    HISTORY_DUMP_PUT,
    HISTORY_DUMP_LIST,
    HISTORY_DUMP_DROP,
    HISTORY_DUMP_GET,
    HISTORY_DUMP_IDS,
    HISTORY_SUMS_GET,
    HISTORY_SHARED_GET,
    HISTORY_SHARED_NEWEST,
    HISTORY_SHARED_PUT,
    HISTORY_DUMP_SHARED_GET,
    HISTORY_STATEMENTS
};

/* The counts of one day, version and build since the last commit. */
struct history_cell {
    const char *version, *build; /* point into the key in history.by_cell */
    int32_t day;
    uint64_t dumps;
    struct triage *t;
    int64_t row; /* id of the cell's row in the table; 0 until history_commit writes the cell */
};

enum { OFFERED_TIME = 32 };

/* A copy of a dump that may be kept. Zero-initialised = none. */
struct offered_dump {
    char *text; /* text of the dump as it was read; malloc'ed */
    size_t len;
    uint64_t id, user; /* hashes of the dump's id and user; user 0 = it has none */
    int64_t span_ms;
    size_t cell; /* index into history.cells */
    char time[OFFERED_TIME];
};
/* The dumps of a bucket and a version that may be kept; ms: sum of the spans of all dumps that were
 * offered for the two. */
struct dump_offer {
    uint64_t bucket, ms;
    struct offered_dump worst;  /* the dump with the longest span */
    struct offered_dump newest; /* the newest dump; none if `worst` is the newest, too */
};

/* A text against which partials are packed. Zero-initialised = none. */
struct history_shared {
    uint32_t number; /* row of the text in the table */
    struct strbuf text;
};

/* A part that is to be read. */
struct history_part_row {
    int64_t id, rules;
    uint64_t dumps, bytes;
    int32_t day;      /* of the part's cell */
    uint64_t content; /* hash of the partial's packed bytes; 0 = the bytes were not read */
    bool taken;       /* the part was merged, or is contained in a kept sum that was merged or that
                         history_find_sums chose */
};
struct history_parts {
    VEC(struct history_part_row) rows; /* ascending by id */
    uint64_t marks;    /* hash of the ids of the buckets with marks, which a page does not join */
    uint64_t left_out; /* number of parts that are damaged: they are not in `rows`, or were not
                          merged */
    uint64_t astray;   /* those of them that have no cell, or a damaged one */
    struct err first;  /* error of the first damaged part, whose id is first_id */
    int64_t first_id;
};

struct history {
    char *path; /* malloc'ed */
    struct sql_file *file;
    int64_t version; /* version of the file's tables */
    enum history_access access;
    struct sql_statement *statements[HISTORY_STATEMENTS];
    struct triage_options options;
    int64_t rules;      /* row of options.rules_hash; 0 = not looked up yet */
    int32_t ids_from;   /* first day whose ids were kept when the write lock was last taken, or the
                           history opened; HISTORY_NO_DAY = the ids of all days */
    int32_t today;      /* see history_set_today */
    struct map by_cell; /* key: "DAY VERSION BUILD" with NULs between; value: index into cells */
    VEC(struct history_cell) cells;
    struct map by_offer; /* key: number of a bucket and a version; value: index into offers */
    VEC(struct dump_offer) offers;
    size_t offered_bytes;
    struct {
        uint64_t bytes, rows; /* size and number of the kept dumps, while dumps are written */
    } kept;
    uint64_t uncommitted;
    struct history_counts counts;    /* includes what is not committed */
    struct history_counts committed; /* `counts` after the last commit */
    struct strbuf scratch, text, zip;
    struct strbuf said_rules; /* rules that history_options returns */
    bool astray_told;         /* history_read has told of the parts that have no cell */
    VEC(int64_t) unmerged;    /* parts that are not merged with others, because they are damaged */
    bool sound; /* history_save may write: the structure of the file was found to be sound, or this
                   handle can write, and then it is not examined */
    struct packer *packer;             /* NULL = not made yet */
    VEC(struct history_shared) shared; /* texts of the table `shared` that were needed so far */
    /* Packs and unpacks dumps against a text of dump_shared. */
    struct {
        uint32_t number;       /* number of the text of `packer`; 0 = there is none yet */
        uint32_t newest;       /* number of the text against which dumps are packed, while dumps are
                                  written; 0 = none, and they become gzips */
        struct packer *packer; /* NULL = not made yet */
    } of_dumps;
    /* What history_read read last, and in the call before; empty = nothing, or not all of it could
     * be read. */
    struct history_parts parts_read, parts_read_before;
};

/* Returns the prepared statement, reset; NULL with the error set. */
struct sql_statement *history_statement(struct history *h, enum history_statement which,
                                        struct err *e);
/* Takes the write lock, unless the handle has it, and then reads h->ids_from; the function uses
 * h->scratch. ST_ERR: as history_add; the lock is not held. Never ST_NONE. */
enum st history_begin_adding(struct history *h, struct err *e) BASE_MUST_USE;
/* As history_begin_adding, but refuses a handle that has the write lock (ERR_USAGE), because a
 * commit would then write the ids of what was added without its counts. */
enum st history_begin_editing(struct history *h, struct err *e) BASE_MUST_USE;
/* Makes the tables of a new history. ST_ERR: as the functions of sql_file.h. */
enum st history_make_tables(struct sql_file *file, struct err *e) BASE_MUST_USE;
/* Upgrades the tables of an earlier version, given by its number, to HISTORY_VERSION. ST_ERR: as
 * the functions of sql_file.h. */
enum st history_upgrade_tables(struct sql_file *file, int64_t version, struct err *e) BASE_MUST_USE;
/* Checks that the tables and indexes are those of a history of this version, and that there are no
 * triggers. Views, other tables and the indexes on those are ignored; an additional index on a
 * table of the history is refused. Never ST_NONE. ST_ERR: they differ (ERR_FORMAT), or as the
 * functions of sql_file.h. */
enum st history_check_tables(struct sql_file *file, int64_t version, struct err *e) BASE_MUST_USE;
/* Appends the text in the first column of a statement's first row, and finishes the statement.
 * ST_NONE: there is no row. */
enum st history_take_text(struct sql_statement *s, struct strbuf *out, struct err *e) BASE_MUST_USE;
/* Appends a value of the table `fact` to `out`. ST_NONE: it is not there. */
enum st history_fact(struct history *h, const char *name, struct strbuf *out,
                     struct err *e) BASE_MUST_USE;
enum st history_set_fact(struct history *h, const char *name, const char *value,
                         struct err *e) BASE_MUST_USE;
/* Appends a triage, not finished, to `zip` as a part of the table: a packed partial. The function
 * uses h->text. ST_ERR: out of memory, or the file cannot be read. */
enum st history_zip(struct history *h, const struct triage *t, struct strbuf *zip,
                    struct err *e) BASE_MUST_USE;
/* As history_zip, but packed against no shared text, which then need not be read. */
enum st history_zip_alone(struct history *h, const struct triage *t, struct strbuf *zip,
                          struct err *e) BASE_MUST_USE;
/* Sets `zip` to a triage as a part of the table, and first adds a shared text to the table if the
 * triage has much more to share than the newest one; for a connection that holds the write lock.
 * The function uses h->text and h->zip. ST_ERR: as history_add. */
enum st history_zip_shared(struct history *h, const struct triage *t, struct strbuf *zip,
                           struct err *e) BASE_MUST_USE;
/* Unpacks a partial of any table, which may be of any origin, and parses it into a triage, which
 * the caller frees with triage_free. The function uses h->text. *out is NULL on ST_ERR. Never
 * ST_NONE. */
enum st history_part(struct history *h, const void *bytes, size_t len, struct triage **out,
                     struct err *e) BASE_MUST_USE;
/* As history_part, for a row of the table part or rolled whose column `rules` and `dumps` have
 * these values. ST_ERR, too, if the partial was made with other rules, another cap or a filter, or
 * has another number of dumps, so that it contradicts its row (ERR_FORMAT). */
enum st history_part_of_row(struct history *h, int64_t rules, uint64_t dumps, const void *bytes,
                            size_t len, struct triage **out, struct err *e) BASE_MUST_USE;

/* Can people set a mark of this name to this value, of which "" removes it? ST_ERR: no (ERR_USAGE).
 * Never ST_NONE. */
enum st history_mark_check(const char *name, const char *value, struct err *e) BASE_MUST_USE;

/* Is the number a day from 0001-01-01 to 9999-12-31, which can be written as a date? */
bool history_day_is_one(int64_t day);
/* Reads a cell's day from column `at`; HISTORY_NO_DAY: it has none. ST_ERR: the column is no day,
 * because the history is damaged. Never ST_NONE. */
enum st history_cell_day(struct sql_statement *s, int at, int32_t *day,
                         struct err *e) BASE_MUST_USE;
/* Are the columns from `at` on a cell's day, version and build? ST_ERR: one is of another kind, or
 * there is no cell, because the history is damaged. Never ST_NONE. */
enum st history_cell_check(struct sql_statement *s, int at, struct err *e) BASE_MUST_USE;
/* Does the span include a cell, whose day, version and build are in the columns from `at` on? The
 * filter's terms are applied to the three columns as if they were members of a dump. ST_OK: yes,
 * and *day is set. ST_NONE: no, or the cell is damaged (history_cell_check). ST_ERR: out of memory.
 */
enum st history_cell_is_wanted(const struct history_span *span, struct sql_statement *s, int at,
                               int32_t *day, struct err *e);

/* Adds the ranked dumps of a part, by system and device, to the numbers that the table cell_value
 * has for its cell. ST_ERR: as history_add. */
enum st history_put_values(struct history *h, int64_t cell, const struct triage *t,
                           struct err *e) BASE_MUST_USE;

/* The ranked dumps of some parts by system and device. Zero-initialised = none; release it with
 * history_value_sums_release. */
struct history_value_sums {
    struct map by_value; /* key: "FACET VALUE" with a NUL between; value: index into dumps */
    VEC(uint64_t) dumps;
    struct strbuf key;
};
void history_value_sums_clear(struct history_value_sums *sums);
void history_value_sums_release(struct history_value_sums *sums);
/* Adds the ranked dumps of a part by system and device. ST_ERR: out of memory. */
enum st history_add_values(struct history_value_sums *sums, const struct triage *t,
                           struct err *e) BASE_MUST_USE;
/* Does the table have exactly these numbers of dumps for the cell? ST_OK: yes; ST_NONE: no. The
 * sums are changed by the comparison, and have to be cleared by the caller. ST_ERR: as
 * history_check. */
enum st history_values_match(struct history *h, int64_t cell, struct history_value_sums *sums,
                             struct err *e) BASE_MUST_USE;

/* ---- examination, history_faults.c and history_check_rows.c ---- */

/* The faults that an examination of a history has found. */
struct history_faults {
    struct sink *out; /* gets one line for each fault */
    bool sound;       /* there was none */
};
/* Tells a fault: writes a line, in which characters that may not be shown are replaced, and sets
 * f->sound to false. ST_ERR: out of memory. */
enum st history_fault(struct history_faults *f, struct err *e, const char *fmt, ...)
    BASE_PRINTF(3, 4) BASE_MUST_USE;
/* Tells that a row is damaged, as history_fault does; but if the damage is that memory ran out,
 * tells nothing and sets e. ST_ERR: out of memory. */
enum st history_row_fault(struct history_faults *f, const char *table, int64_t row,
                          const struct err *damage, struct err *e) BASE_MUST_USE;
/* Checks the rows of all tables for themselves: the kinds of their values, the rows that they refer
 * to, facts, rules, marks, and kept dumps. ST_ERR: as history_check. */
enum st history_check_rows(struct history *h, struct history_faults *f,
                           struct err *e) BASE_MUST_USE;

/* ---- sessions by cell, history_times.c ---- */

/* The version of the tables from which on parts, and so kept sums, tell days, and there is a table
 * of sessions by cell. */
enum { HISTORY_TIMES_FROM = 8 };
/* Sums of the table cell_time, in the order of its columns: sessions, foreground_ms, watched_ms,
 * wall_ms. */
enum { HISTORY_TIMES = 4 };
struct history_times {
    uint64_t sums[HISTORY_TIMES];
};
/* Adds the sessions of a part. */
void history_times_add(struct history_times *times, const struct triage *t);
void history_times_sum(struct history_times *times, const struct history_times *more);
bool history_times_equal(const struct history_times *a, const struct history_times *b);
/* Adds the sessions of a part to the numbers that the table has for its cell. ST_ERR: as
 * history_add. */
enum st history_put_times(struct history *h, int64_t cell, const struct triage *t,
                          struct err *e) BASE_MUST_USE;
/* Compares the sums of a cell's parts with the table, and tells if they differ. ST_ERR: as
 * history_check. */
enum st history_check_times(struct history *h, struct history_faults *f, int64_t cell,
                            const struct history_times *times, struct err *e) BASE_MUST_USE;

/* ---- dumps to be shown, history_dumps.c ---- */

enum { HISTORY_DUMP_MAX = 256 << 10 /* maximum number of bytes of a dump that is kept */ };
/* Offers a ranked dump, so that it may be kept; cell: index in h->cells of the dump's day, version
 * and build. A dump without an id, one of more than 256 KiB, or any dump while the copies of
 * offered dumps have more than 64 MiB is left out. ST_ERR: out of memory. */
enum st history_offer_dump(struct history *h, const struct dump *d, const struct stall_key *key,
                           size_t cell, struct err *e) BASE_MUST_USE;
/* Writes those dumps of the 256 heaviest offers that are to be kept (the rows of their cells must
 * exist), and drops dumps beyond the limits of the table. ST_ERR: as history_add. */
enum st history_write_dumps(struct history *h, struct err *e) BASE_MUST_USE;
void history_drop_offers(struct history *h);

/* ---- texts of dumps, history_dump_texts.c ---- */

/* The version of the tables from which on dumps share a text. */
enum { HISTORY_DUMP_SHARED_FROM = 7 };
/* Sets h->text to the text of a dump of the table. ST_ERR: out of memory, it is damaged, or the
 * file cannot be read. */
enum st history_dump_text(struct history *h, const void *bytes, size_t len,
                          struct err *e) BASE_MUST_USE;
/* Finds the text against which dumps are packed from now on, for a connection that holds the write
 * lock; adds one to the table if it has none, and the table of dumps has enough of them (h->kept
 * must be set). If there is none, or it is damaged, dumps are packed alone. ST_ERR: as history_add.
 */
enum st history_find_dump_shared(struct history *h, struct err *e) BASE_MUST_USE;
/* Sets h->zip to the text of a dump, packed as the table has it. ST_ERR: out of memory, or the
 * shared text cannot be read again after a dump was unpacked against another one. */
enum st history_pack_dump(struct history *h, const char *text, size_t len,
                          struct err *e) BASE_MUST_USE;
/* Makes the shared text anew of the dumps that are left, or drops it if they are too few, and packs
 * all of them again, because dumps whose texts may be in it have gone. Dumps that are damaged are
 * deleted and counted in h->counts.unreadable, which the caller sets back if it undoes the
 * transaction. No effect if there is no shared text. ST_ERR: as history_add. */
enum st history_renew_dump_shared(struct history *h, struct err *e) BASE_MUST_USE;
/* Checks that the shared texts can be read. ST_ERR: as history_check. */
enum st history_check_dump_shared(struct history *h, struct history_faults *f,
                                  struct err *e) BASE_MUST_USE;

/* ---- texts that partials share, history_shared.c ---- */

/* The version of the tables from which on they have such texts. */
enum { HISTORY_SHARED_FROM = 6 };
/* Makes h->packer unless it exists. ST_ERR: out of memory. */
enum st history_packer(struct history *h, struct err *e) BASE_MUST_USE;
/* Sets *out to the shared text that the history's table has under this number; number 0 gives an
 * empty text. The text is borrowed until the next call of history_shared_text,
 * history_newest_shared, history_share or history_drop_shared. ST_ERR: the table lacks the number,
 * or the text is damaged (ERR_FORMAT); out of memory; or the file cannot be read. */
enum st history_shared_text(struct history *h, uint32_t number, const struct history_shared **out,
                            struct err *e) BASE_MUST_USE;
/* Sets *out to the newest shared text, or to none if there is none or it is damaged, borrowed as by
 * history_shared_text. ST_ERR: out of memory, or the file cannot be read. */
enum st history_newest_shared(struct history *h, const struct history_shared **out,
                              struct err *e) BASE_MUST_USE;
/* Adds the tables of the partial in h->text, at most their first 4 MiB, as a shared text, if they
 * have at least 64 KiB, and what is added is at least four times as long as the newest shared text.
 * The function uses h->zip. ST_ERR: as history_add. */
enum st history_share(struct history *h, struct err *e) BASE_MUST_USE;
/* Appends the text in the second column of a row, a shared text, which itself is packed against
 * none. ST_ERR: out of memory, or it is damaged. */
enum st history_unpack_shared(struct history *h, struct sql_statement *s, struct strbuf *out,
                              struct err *e) BASE_MUST_USE;
/* Forgets the shared texts that were read, and frees the packer of dumps, because a transaction
 * that may have added such a text was undone, or the history is closed. */
void history_drop_shared(struct history *h);

/* ---- sums of parts, history_roll.c ---- */

/* Appends the parts of a span, and sets parts->marks. A part without a cell, or with a damaged
 * one, may be of any span; it is counted in parts->astray. ST_ERR: out of memory, or the file
 * cannot be read. */
enum st history_list_parts(struct history *h, const struct history_span *span,
                           struct history_parts *parts, struct err *e) BASE_MUST_USE;
/* Checks that the kept pages which this build made can be read, that their rows fit their buckets,
 * and that they have at least as many dumps as the sums beside which they are stored. ST_ERR: as
 * history_check. */
enum st history_check_pages(struct history *h, struct history_faults *f,
                            struct err *e) BASE_MUST_USE;
/* Returns a hash of the packed bytes of a part; never 0. */
uint64_t history_part_content(const void *bytes, size_t len);
/* Can a kept sum be used? It can if all of its parts are among `parts`, none of them is taken yet,
 * and together they have as many dumps as the sum. If `take` is true, the parts are marked as
 * taken, whether they were or not; so a call with false must have returned ST_OK before. ST_NONE:
 * the sum cannot be used. ST_ERR: as history_read. */
enum st history_match_parts(struct history *h, int64_t rolled, uint64_t dumps, bool take,
                            struct history_part_row *parts, size_t count,
                            struct err *e) BASE_MUST_USE;
/* A change of the file that saves work in later reads; `file` holds the write lock. ST_ERR: the
 * change is undone. */
typedef enum st (*history_saving)(void *ctx, struct history *h, struct sql_file *file,
                                  struct err *e);
/* Runs a change in a transaction of the handle's connection, or, if the handle was opened with
 * HISTORY_READ, of a separate connection that can write. The function does not wait for a lock: if
 * the file cannot be written now, is of an earlier version, or is damaged, or if the handle has the
 * write lock already, nothing happens. ST_ERR: out of memory. */
enum st history_save(struct history *h, history_saving save, void *ctx,
                     struct err *e) BASE_MUST_USE;

/* The sum of parts of one set of rules. */
struct rolled_sum {
    int64_t rules;
    uint64_t dumps;
    int64_t base; /* row of the largest kept sum that was read from the file; 0 = none was read */
    uint64_t base_dumps;
    uint64_t kept;    /* bytes of the sum `base` */
    uint64_t read;    /* bytes of everything that was merged with the first sum or part: parts and
                         smaller sums */
    uint64_t parts;   /* bytes of the parts in `read` */
    bool damaged;     /* a part could not be read */
    struct triage *t; /* NULL = the sum has no part; the owner calls triage_free */
    struct triage *rest; /* what was read besides `base` and is not merged into `t` yet; NULL =
                            nothing; the owner calls triage_free */
};
/* Merges a triage, which history_part_of_row has read, into the sum: into `rest` if the sum has a
 * base, else into `t`. The triage is taken over in any case. ST_ERR: as triage_merge. */
enum st history_sum_take(struct rolled_sum *sum, struct triage *t, struct err *e) BASE_MUST_USE;
/* Merges `rest` into `t`, and frees it. ST_ERR: as history_sum_take. */
enum st history_sum_join(struct rolled_sum *sum, struct err *e) BASE_MUST_USE;
/* Finds the kept sums of any rules from which history_read would read some of these parts, and
 * marks the parts in these sums as taken. *base: row of the sum with the most dumps; 0 = no sum can
 * be used. Never ST_NONE. */
enum st history_find_sums(struct history *h, struct history_parts *parts, int64_t *base,
                          struct err *e) BASE_MUST_USE;
/* Adds to `sum` the kept sums of its rules whose parts are all among `parts` and not taken yet, the
 * largest first, and marks their parts as taken. ST_ERR: as history_read; a damaged sum is left
 * out. */
enum st history_read_rolled(struct history *h, struct history_part_row *parts, size_t count,
                            struct rolled_sum *sum, struct err *e) BASE_MUST_USE;
/* Keeps the sum of all parts of one set of rules in the file, or of those that the sum's base lacks
 * if they have fewer than half the bytes of the base. The sum is kept only if that saves enough
 * reading. The function may call history_sum_join, and does not wait for a lock: if the file cannot
 * be written now, is damaged, or was changed by another connection since `version`
 * (sql_data_version), or if a part could not be read, or if the sum has more than a partial can
 * hold (PARTIAL_DAYS_MAX), nothing is kept. ST_ERR: out of memory, or the file cannot be read. */
enum st history_keep_rolled(struct history *h, const struct history_part_row *parts, size_t count,
                            struct rolled_sum *sum, int64_t version, struct err *e) BASE_MUST_USE;

/* A condition of SQL on a row of the table alias: its id is not the id of a bucket whose title has
 * names only, no offset such as "+0x1c". Such a bucket keeps its marks and days, because one forged
 * dump could claim its id as a former id. */
#define HISTORY_ALIAS_IS_FREE                                                                      \
    "NOT EXISTS (SELECT 1 FROM bucket o WHERE o.id = alias.id AND instr(o.title, '+0x') = 0)"

#endif
