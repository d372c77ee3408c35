/* Stands in for sql_file.c in a build without libsqlite3: sql_open fails, so that no other function
 * is ever called. */
#include "history/sql_file.h"

enum st sql_open(struct sql_file **out, const char *path, bool writable, struct err *e) {
    (void)out;
    (void)path;
    (void)writable;
    return err_set(e, ERR_UNSUPPORTED,
                   "this build keeps no history (it lacks libsqlite3): install libsqlite3-dev and"
                   " build again");
}

void sql_set_wait(struct sql_file *f, int ms) {
    (void)f;
    (void)ms;
}

void sql_close(struct sql_file *f) {
    (void)f;
}

enum st sql_run(struct sql_file *f, const char *text, struct err *e) {
    (void)f;
    (void)text;
    return err_set(e, ERR_INTERNAL, "there is no SQLite");
}

enum st sql_begin_reading(struct sql_file *f, struct err *e) {
    (void)f;
    return err_set(e, ERR_INTERNAL, "there is no SQLite");
}

void sql_end_reading(struct sql_file *f) {
    (void)f;
}

enum st sql_begin(struct sql_file *f, struct err *e) {
    (void)f;
    return err_set(e, ERR_INTERNAL, "there is no SQLite");
}

enum st sql_commit(struct sql_file *f, struct err *e) {
    (void)f;
    return err_set(e, ERR_INTERNAL, "there is no SQLite");
}

void sql_undo(struct sql_file *f) {
    (void)f;
}

bool sql_is_writing(const struct sql_file *f) {
    (void)f;
    return false;
}

enum st sql_data_version(struct sql_file *f, int64_t *version, struct err *e) {
    (void)f;
    (void)version;
    return err_set(e, ERR_INTERNAL, "there is no SQLite");
}

uint64_t sql_changed(const struct sql_file *f) {
    (void)f;
    return 0;
}

enum st sql_prepare(struct sql_file *f, struct sql_statement **out, const char *text,
                    struct err *e) {
    (void)f;
    (void)out;
    (void)text;
    return err_set(e, ERR_INTERNAL, "there is no SQLite");
}

void sql_finish(struct sql_statement *s) {
    (void)s;
}

void sql_reset(struct sql_statement *s) {
    (void)s;
}

void sql_bind_text(struct sql_statement *s, int at, const char *text) {
    (void)s;
    (void)at;
    (void)text;
}

void sql_bind_bytes(struct sql_statement *s, int at, const void *bytes, size_t len) {
    (void)s;
    (void)at;
    (void)bytes;
    (void)len;
}

void sql_bind_number(struct sql_statement *s, int at, int64_t v) {
    (void)s;
    (void)at;
    (void)v;
}

void sql_bind_count(struct sql_statement *s, int at, uint64_t v) {
    (void)s;
    (void)at;
    (void)v;
}

void sql_bind_none(struct sql_statement *s, int at) {
    (void)s;
    (void)at;
}

enum st sql_next(struct sql_statement *s, struct err *e) {
    (void)s;
    return err_set(e, ERR_INTERNAL, "there is no SQLite");
}

enum st sql_step(struct sql_statement *s, struct err *e) {
    (void)s;
    return err_set(e, ERR_INTERNAL, "there is no SQLite");
}

const char *sql_text(struct sql_statement *s, int at) {
    (void)s;
    (void)at;
    return "";
}

const void *sql_bytes(struct sql_statement *s, int at, size_t *len) {
    (void)s;
    (void)at;
    (void)len;
    return NULL;
}

int64_t sql_number(struct sql_statement *s, int at) {
    (void)s;
    (void)at;
    return 0;
}

bool sql_is_text(struct sql_statement *s, int at) {
    (void)s;
    (void)at;
    return false;
}

bool sql_is_number(struct sql_statement *s, int at) {
    (void)s;
    (void)at;
    return false;
}

bool sql_is_none(struct sql_statement *s, int at) {
    (void)s;
    (void)at;
    return false;
}
