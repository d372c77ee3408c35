/* Wraps one SQLite file, see https://sqlite.org/c3ref/intro.html. */
#include "history/sql_file.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "base/strbuf.h"

struct sql_file {
    sqlite3 *db;
    bool writing, reading;
    int wait_ms;       /* see sql_set_wait */
    uint64_t since_ms; /* monotonic time at which the wait for another writer began */
};

/* Waits for another writer, and tries again each 2 ms. SQLite's own handler tries each 100 ms, and
 * a writer of a pipe frees the lock for less than 1 ms. Returns 0 when the time is over. */
static int wait_for_writer(void *ctx, int tries) {
    static const struct timespec pause = {.tv_nsec = 2000000};
    struct sql_file *f = ctx;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const uint64_t now_ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
    f->since_ms = tries == 0 ? now_ms : f->since_ms;
    if (now_ms - f->since_ms >= (uint64_t)f->wait_ms) {
        return 0;
    }
    nanosleep(&pause, NULL);
    return 1;
}

struct sql_statement {
    struct sql_file *file;
    sqlite3_stmt *stmt;
    int unbound; /* error code of a value that could not be bound, for the next sql_next; SQLITE_OK:
                    all were bound */
};

/* Did a system call fail because the disk was full? SQLite reports that as an I/O error when it
 * writes the index of its log or syncs a file. */
static bool lacks_room(struct sql_file *f) {
    const int why = sqlite3_system_errno(f->db);
    return why == ENOSPC || why == EDQUOT;
}

/* Sets the error for a result code of SQLite. Returns ST_ERR. */
static enum st refused_with(struct sql_file *f, int code, struct err *e) {
    switch (code & 0xff) {
    case SQLITE_NOMEM:
        return err_nomem(e);
    case SQLITE_CORRUPT:
        return err_set(e, ERR_FORMAT, "the history is damaged: %s", sqlite3_errmsg(f->db));
    case SQLITE_NOTADB:
        return err_set(e, ERR_FORMAT, "not a history");
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return err_set(e, ERR_IO, "another process has been writing it for %d s", SQL_WAIT_S);
    case SQLITE_FULL:
        return err_no_room(e);
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
        if (lacks_room(f)) {
            return err_no_room(e);
        }
        return err_set(e, ERR_IO, "%s", sqlite3_errmsg(f->db));
    default:
        return err_set(e, ERR_IO, "%s", sqlite3_errmsg(f->db));
    }
}

static enum st refused(struct sql_file *f, struct err *e) {
    return refused_with(f, f->db ? sqlite3_errcode(f->db) : SQLITE_NOMEM, e);
}

/* Makes SQLite run no SQL from the file, as its "Defense Against The Dark Arts" advises; a setting
 * that an old library lacks is skipped. */
static void distrust_file(sqlite3 *db) {
    static const struct {
        int option, value;
    } settings[] = {
        {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
#ifdef SQLITE_DBCONFIG_DEFENSIVE
        {SQLITE_DBCONFIG_DEFENSIVE, 1},
#endif
#ifdef SQLITE_DBCONFIG_ENABLE_VIEW
        {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
#endif
#ifdef SQLITE_DBCONFIG_TRUSTED_SCHEMA
        {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
#endif
    };
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        (void)sqlite3_db_config(db, settings[i].option, settings[i].value, NULL);
    }
}

/* Does the path name something other than a regular file? Opening a FIFO, for example, would wait
 * for a writer. */
static bool is_no_file(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && !S_ISREG(st.st_mode);
}

enum st sql_open(struct sql_file **out, const char *path, bool writable, struct err *e) {
    if (path && is_no_file(path)) {
        return err_set(e, ERR_FORMAT, "not a history");
    }
    struct sql_file *f = calloc(1, sizeof *f);
    if (!f) {
        return err_nomem(e);
    }
    /* Without a prefix, SQLite would take ":memory:" for a database in memory and "file:x" for a
     * URI. */
    struct strbuf name = {0};
    strbuf_addf(&name, "%s%s", !path || path[0] == '/' ? "" : "./", path ? path : ":memory:");
    int flags = writable ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY;
    int code = name.failed ? SQLITE_NOMEM
                           : sqlite3_open_v2(name.data, &f->db, flags | SQLITE_OPEN_NOMUTEX, NULL);
    strbuf_release(&name);
    if (code != SQLITE_OK) {
        refused(f, e);
        sql_close(f);
        return ST_ERR;
    }
    distrust_file(f->db);
    f->wait_ms = SQL_WAIT_S * 1000;
    sqlite3_busy_handler(f->db, wait_for_writer, f);
    *out = f;
    return ST_OK;
}

void sql_set_wait(struct sql_file *f, int ms) {
    f->wait_ms = ms;
}

void sql_close(struct sql_file *f) {
    if (f) {
        sql_undo(f);
        sqlite3_close(f->db);
        free(f);
    }
}

enum st sql_run(struct sql_file *f, const char *text, struct err *e) {
    return sqlite3_exec(f->db, text, NULL, NULL, NULL) == SQLITE_OK ? ST_OK : refused(f, e);
}

enum st sql_begin_reading(struct sql_file *f, struct err *e) {
    if (f->writing || f->reading) {
        return ST_OK;
    }
    enum st st = sql_run(f, "BEGIN", e);
    f->reading = st == ST_OK;
    return st;
}

void sql_end_reading(struct sql_file *f) {
    if (f->reading) {
        sqlite3_exec(f->db, "ROLLBACK", NULL, NULL, NULL);
        f->reading = false;
    }
}

enum st sql_begin(struct sql_file *f, struct err *e) {
    if (!f->writing && sql_run(f, "BEGIN IMMEDIATE", e) != ST_OK) {
        return ST_ERR;
    }
    f->writing = true;
    return ST_OK;
}

enum st sql_commit(struct sql_file *f, struct err *e) {
    enum st st = sql_run(f, "COMMIT", e);
    if (st != ST_OK) {
        sql_undo(f);
    }
    f->writing = false;
    return st;
}

void sql_undo(struct sql_file *f) {
    if (f->writing) {
        sqlite3_exec(f->db, "ROLLBACK", NULL, NULL, NULL);
        f->writing = false;
    }
}

bool sql_is_writing(const struct sql_file *f) {
    return f->writing;
}

uint64_t sql_changed(const struct sql_file *f) {
    return (uint64_t)sqlite3_changes(f->db);
}

enum st sql_prepare(struct sql_file *f, struct sql_statement **out, const char *text,
                    struct err *e) {
    struct sql_statement *s = calloc(1, sizeof *s);
    if (!s) {
        return err_nomem(e);
    }
    s->file = f;
    if (sqlite3_prepare_v2(f->db, text, -1, &s->stmt, NULL) != SQLITE_OK) {
        refused(f, e);
        sql_finish(s);
        return ST_ERR;
    }
    *out = s;
    return ST_OK;
}

void sql_finish(struct sql_statement *s) {
    if (s) {
        sqlite3_finalize(s->stmt);
        free(s);
    }
}

void sql_reset(struct sql_statement *s) {
    sqlite3_reset(s->stmt);
}

/* Notes the result of a sqlite3_bind_… for the next sql_next, so that the binding functions need no
 * error parameter. */
static void note_bound(struct sql_statement *s, int code) {
    s->unbound = s->unbound == SQLITE_OK ? code : s->unbound;
}

void sql_bind_text(struct sql_statement *s, int at, const char *text) {
    note_bound(s, sqlite3_bind_text(s->stmt, at, text ? text : "", -1, SQLITE_STATIC));
}

void sql_bind_bytes(struct sql_statement *s, int at, const void *bytes, size_t len) {
    note_bound(s, sqlite3_bind_blob64(s->stmt, at, bytes, len, SQLITE_STATIC));
}

void sql_bind_number(struct sql_statement *s, int at, int64_t v) {
    note_bound(s, sqlite3_bind_int64(s->stmt, at, v));
}

void sql_bind_count(struct sql_statement *s, int at, uint64_t v) {
    note_bound(s, sqlite3_bind_int64(s->stmt, at, (sqlite3_int64)v));
}

void sql_bind_none(struct sql_statement *s, int at) {
    note_bound(s, sqlite3_bind_null(s->stmt, at));
}

/* Makes SQLite store the row's texts and bytes in the form in which sql_text and sql_bytes return
 * them. SQLite may need memory to append the NUL of a text; without memory sqlite3_column_text
 * returns NULL, as it does for a column that is NULL. False: out of memory. */
static bool hold_row(sqlite3_stmt *stmt) {
    for (int i = 0; i < sqlite3_column_count(stmt); i++) {
        int type = sqlite3_column_type(stmt, i);
        if ((type == SQLITE_TEXT && !sqlite3_column_text(stmt, i)) ||
            (type == SQLITE_BLOB && !sqlite3_column_blob(stmt, i) &&
             sqlite3_column_bytes(stmt, i) > 0)) {
            return false;
        }
    }
    return true;
}

enum st sql_next(struct sql_statement *s, struct err *e) {
    int code = s->unbound;
    s->unbound = SQLITE_OK;
    code = code == SQLITE_OK ? sqlite3_step(s->stmt) : code;
    if (code == SQLITE_ROW && !hold_row(s->stmt)) {
        code = SQLITE_NOMEM;
    }
    if (code == SQLITE_ROW) {
        return ST_OK;
    }
    enum st st = code == SQLITE_DONE ? ST_NONE : refused_with(s->file, code, e);
    sqlite3_reset(s->stmt);
    return st;
}

enum st sql_step(struct sql_statement *s, struct err *e) {
    enum st st;
    do {
        st = sql_next(s, e);
    } while (st == ST_OK);
    return st == ST_NONE ? ST_OK : ST_ERR;
}

const char *sql_text(struct sql_statement *s, int at) {
    const unsigned char *text = sql_is_text(s, at) ? sqlite3_column_text(s->stmt, at) : NULL;
    return text ? (const char *)text : "";
}

const void *sql_bytes(struct sql_statement *s, int at, size_t *len) {
    const void *bytes = sqlite3_column_blob(s->stmt, at);
    *len = (size_t)sqlite3_column_bytes(s->stmt, at);
    return bytes;
}

int64_t sql_number(struct sql_statement *s, int at) {
    return sqlite3_column_int64(s->stmt, at);
}

bool sql_is_none(struct sql_statement *s, int at) {
    return sqlite3_column_type(s->stmt, at) == SQLITE_NULL;
}

bool sql_is_text(struct sql_statement *s, int at) {
    return sqlite3_column_type(s->stmt, at) == SQLITE_TEXT;
}

bool sql_is_number(struct sql_statement *s, int at) {
    return sqlite3_column_type(s->stmt, at) == SQLITE_INTEGER;
}

enum st sql_data_version(struct sql_file *f, int64_t *version, struct err *e) {
    struct sql_statement *s;
    if (sql_prepare(f, &s, "PRAGMA data_version", e) != ST_OK) {
        return ST_ERR;
    }
    enum st st = sql_next(s, e);
    *version = st == ST_OK ? sql_number(s, 0) : 0;
    sql_finish(s);
    return st == ST_OK ? ST_OK : ST_ERR;
}
