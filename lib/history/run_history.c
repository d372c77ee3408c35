/* Opens and closes a history: makes its file, checks and upgrades the tables, and takes the write
 * lock. */
#include "history/run_history.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/parse.h"
#include "history/history_private.h"

enum { HISTORY_APPLICATION = 0x53744b48 /* "StKH" */ };

const char *const history_fields[] = {"app.version", "app.build", "time", "owner", "ignored", NULL};

/* ---- open and close ---- */

/* Reads one integer from a pragma or query. */
static enum st pragma_number(struct history *h, const char *sql, int64_t *out, struct err *e) {
    struct sql_statement *s;
    if (sql_prepare(h->file, &s, sql, e) != ST_OK) {
        return ST_ERR;
    }
    enum st st = sql_next(s, e);
    if (st == ST_OK) {
        *out = sql_number(s, 0);
    }
    sql_finish(s);
    return st;
}

static enum st make_tables(struct sql_file *file, struct err *e) {
    char text[64];
    snprintf(text, sizeof text, "PRAGMA application_id = %d; PRAGMA user_version = %d",
             HISTORY_APPLICATION, HISTORY_VERSION);
    return history_make_tables(file, e) == ST_OK ? sql_run(file, text, e) : ST_ERR;
}

/* Checks that the file is a history of a known version. ST_NONE: the database is empty. */
static enum st check_kind(struct history *h, struct err *e) {
    int64_t application = 0, version = 0, tables = 0;
    if (pragma_number(h, "PRAGMA application_id", &application, e) != ST_OK ||
        pragma_number(h, "PRAGMA user_version", &version, e) != ST_OK ||
        pragma_number(h, "SELECT count(*) FROM sqlite_schema", &tables, e) != ST_OK) {
        return ST_ERR;
    }
    if (application == 0 && version == 0 && tables == 0) {
        return ST_NONE;
    }
    if (application != HISTORY_APPLICATION) {
        return err_set(e, ERR_FORMAT, "not a history, but another SQLite database");
    }
    if (version > HISTORY_VERSION) {
        return err_set(e, ERR_UNSUPPORTED,
                       "a history of version %lld, and this build reads up to %d",
                       (long long)version, HISTORY_VERSION);
    }
    h->version = version;
    return history_check_tables(h->file, version, e);
}

/* Fills the tables of systems and devices, and of sessions, that the version lacks, because only
 * its parts have the counts. A part that is damaged or whose cell is missing is left out: the
 * tables have no place for it, and --check tells it. */
static enum st fill_from_parts(struct history *h, struct err *e) {
    struct sql_statement *s;
    if (sql_prepare(h->file, &s,
                    "SELECT p.cell, p.partial FROM part p JOIN cell c ON c.id = p.cell"
                    " ORDER BY p.id",
                    e) != ST_OK) {
        return ST_ERR;
    }
    enum st st = ST_OK, more = ST_OK;
    while (st == ST_OK && (more = sql_next(s, e)) == ST_OK) {
        struct triage *t = NULL;
        struct err damage = {0};
        size_t len;
        const void *bytes = sql_bytes(s, 1, &len);
        if (history_part(h, bytes, len, &t, &damage) == ST_OK) {
            st = h->version < 3 ? history_put_values(h, sql_number(s, 0), t, e) : ST_OK;
            st = st == ST_OK ? history_put_times(h, sql_number(s, 0), t, e) : st;
        } else if (damage.code == ERR_NOMEM) {
            st = err_nomem(e);
        }
        triage_free(t);
    }
    sql_finish(s);
    return more == ST_ERR ? ST_ERR : st;
}

/* Upgrades a history of an earlier version to this version, unless another process has just done
 * so. */
static enum st upgrade(struct history *h, struct err *e) {
    char set_version[64];
    snprintf(set_version, sizeof set_version, "PRAGMA user_version = %d", HISTORY_VERSION);
    enum st st = sql_begin(h->file, e);
    st = st == ST_OK ? pragma_number(h, "PRAGMA user_version", &h->version, e) : st;
    if (st == ST_OK && h->version > HISTORY_VERSION) {
        st = err_set(e, ERR_UNSUPPORTED, "a later program has just upgraded the history");
        sql_undo(h->file);
    }
    st = st == ST_OK ? history_upgrade_tables(h->file, h->version, e) : st;
    if (st == ST_OK && h->version < HISTORY_TIMES_FROM) {
        st = fill_from_parts(h, e);
    }
    st = st == ST_OK ? sql_run(h->file, set_version, e) : st;
    if (st != ST_OK) {
        return ST_ERR;
    }
    h->version = HISTORY_VERSION;
    return sql_commit(h->file, e);
}

static enum st prepare_file(struct history *h, struct err *e) {
    /* The version and the tables are read in one transaction, because another process may upgrade
     * the history at the same time. */
    enum st st = sql_begin_reading(h->file, e);
    st = st == ST_OK ? check_kind(h, e) : st;
    sql_end_reading(h->file);
    if (st == ST_NONE) {
        return err_set(e, ERR_FORMAT, "not a history: it is empty");
    }
    if (st != ST_OK) {
        return st;
    }
    if (h->access == HISTORY_READ) {
        /* The page asks for the days of each bucket, which lie at random places of a large table.
         */
        return sql_run(h->file, "PRAGMA cache_size = -65536", e);
    }
    /* A large cache, because the ids of dumps are inserted at random places of a large index: with
     * SQLite's default cache of 2 MB each group of ids writes and reads the same pages many
     * times. */
    st = sql_run(h->file,
                 "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA cache_size = -65536",
                 e);
    return st == ST_OK && h->version < HISTORY_VERSION ? upgrade(h, e) : st;
}

/* ---- a new file ---- */

/* Makes an empty history in this file. The caller has made the file accessible to its owner alone,
 * because a history has data of users. */
static enum st fill_file(const char *path, struct err *e) {
    struct sql_file *file = NULL;
    if (sql_open(&file, path, true, e) != ST_OK) {
        return ST_ERR;
    }
    /* The log (WAL) is switched on last: a commit without a log has written the file, or fails,
     * whereas a close that copies a log to the file does not report a full disk. */
    /* A kept dump has some 2 kB: a page of 4 KiB holds one, a page of 8 KiB three. */
    enum st st = sql_run(file,
                         "PRAGMA page_size = 8192; PRAGMA auto_vacuum = INCREMENTAL;"
                         " PRAGMA synchronous = FULL",
                         e);
    st = st == ST_OK ? sql_begin(file, e) : st;
    st = st == ST_OK ? make_tables(file, e) : st;
    st = st == ST_OK ? sql_commit(file, e) : st;
    st = st == ST_OK ? sql_run(file, "PRAGMA journal_mode = WAL", e) : st;
    sql_close(file);
    return st;
}

/* Makes the history unless it exists. The file is built under a temporary name, and gets its own by
 * link(2) when it is complete, so that several processes at a time make only one history, and no
 * process sees an incomplete file. */
static enum st make_history(const char *path, struct err *e) {
    struct strbuf temporary = {0};
    if (faccessat(AT_FDCWD, path, F_OK, 0) == 0) {
        return ST_OK;
    }
    strbuf_addf(&temporary, "%s.XXXXXX", path);
    if (temporary.failed) {
        strbuf_release(&temporary);
        return err_nomem(e);
    }
    int fd = mkstemp(temporary.data);
    if (fd < 0) {
        err_sys(e, errno, "cannot be made");
        strbuf_release(&temporary);
        return ST_ERR;
    }
    close(fd);
    enum st st = fill_file(temporary.data, e);
    if (st == ST_OK && link(temporary.data, path) != 0 && errno != EEXIST) {
        st = err_sys(e, errno, "cannot be made");
    }
    unlink(temporary.data);
    static const char *const beside[] = {"-wal", "-shm", "-journal"}; /* files that SQLite leaves
                                                                         beside the temporary one
                                                                         if something failed */
    size_t len = temporary.len;
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
        strbuf_addstr(&temporary, beside[i]);
        if (!temporary.failed) {
            unlink(temporary.data);
        }
        strbuf_truncate(&temporary, len);
    }
    strbuf_release(&temporary);
    return st;
}

/* Reads the first day whose ids are kept; the function uses h->scratch. */
static enum st read_ids_from(struct history *h, struct err *e) {
    strbuf_clear(&h->scratch);
    enum st st = history_fact(h, "ids_from", &h->scratch, e);
    h->ids_from = HISTORY_NO_DAY;
    if (st == ST_OK && !history_day_parse(h->scratch.data, h->scratch.len, &h->ids_from)) {
        st = err_set(e, ERR_FORMAT, "the history is damaged: ids_from is no day");
    }
    return st == ST_ERR ? ST_ERR : ST_OK;
}

enum st history_begin_adding(struct history *h, struct err *e) {
    if (sql_is_writing(h->file)) {
        return ST_OK;
    }
    enum st st = sql_begin(h->file, e);
    /* Another process may have dropped days since the last transaction. */
    st = st == ST_OK ? read_ids_from(h, e) : st;
    if (st != ST_OK) {
        sql_undo(h->file);
    }
    return st;
}

enum st history_begin_editing(struct history *h, struct err *e) {
    return sql_is_writing(h->file)
               ? err_set(e, ERR_USAGE, "what was added to the history is not committed yet")
               : history_begin_adding(h, e);
}

enum st history_open(struct history **out, const char *path, enum history_access access,
                     struct err *e) {
    struct history *h = calloc(1, sizeof *h);
    if (!h) {
        return err_nomem(e);
    }
    h->access = access;
    h->today = INT32_MAX;
    h->path = strdup(path);
    enum st st = h->path ? ST_OK : err_nomem(e);
    st = st == ST_OK && access == HISTORY_WRITE ? make_history(path, e) : st;
    if (st == ST_OK && access != HISTORY_WRITE && faccessat(AT_FDCWD, path, R_OK, 0) != 0) {
        st = err_sys(e, errno, "cannot be opened");
    }
    st = st == ST_OK ? sql_open(&h->file, path, access != HISTORY_READ, e) : st;
    st = st == ST_OK ? prepare_file(h, e) : st;
    st = st == ST_OK ? read_ids_from(h, e) : st;
    if (st != ST_OK) {
        history_close(h);
        return ST_ERR;
    }
    *out = h;
    return ST_OK;
}

void history_close(struct history *h) {
    if (!h) {
        return;
    }
    for (size_t i = 0; i < HISTORY_STATEMENTS; i++) {
        sql_finish(h->statements[i]);
    }
    sql_close(h->file);
    for (size_t i = 0; i < h->cells.len; i++) {
        triage_free(h->cells.data[i].t);
    }
    VEC_RELEASE(&h->cells);
    map_release(&h->by_cell);
    history_drop_offers(h);
    VEC_RELEASE(&h->offers);
    map_release(&h->by_offer);
    strbuf_release(&h->scratch);
    strbuf_release(&h->text);
    strbuf_release(&h->zip);
    strbuf_release(&h->said_rules);
    history_drop_shared(h);
    VEC_RELEASE(&h->shared);
    VEC_RELEASE(&h->parts_read.rows);
    VEC_RELEASE(&h->parts_read_before.rows);
    VEC_RELEASE(&h->unmerged);
    packer_free(h->packer);
    free(h->path);
    free(h);
}
