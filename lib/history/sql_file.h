/* Wraps one SQLite file, its statements and its write lock: the interface through which the history
 * uses SQLite. A handle and its statements are for one thread. In a build without libsqlite3
 * sql_open fails and says so, so that no other function is ever called. */
#ifndef STALLKIT_HISTORY_SQL_FILE_H
#define STALLKIT_HISTORY_SQL_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct sql_file;
struct sql_statement;

enum { SQL_WAIT_S = 60 /* seconds to wait for another writer */ };

/* Opens an existing file, or with NULL a new database in memory. Its views and triggers are off.
 * ST_ERR: it cannot be opened, or is no regular file. A file that is no database is noticed only at
 * the first statement.
 */
enum st sql_open(struct sql_file **out, const char *path, bool writable,
                 struct err *e) BASE_MUST_USE;
/* Sets how long to wait, in ms, for another writer, instead of SQL_WAIT_S seconds. */
void sql_set_wait(struct sql_file *f, int ms);
/* Closes the file and undoes an open transaction; NULL is allowed. */
void sql_close(struct sql_file *f);

/* The functions below return ST_ERR if memory runs out, the file is damaged (ERR_FORMAT), the disk
 * is full (ERR_IO, no_room), another process writes for longer than this one waits (sql_set_wait),
 * or the system refuses (ERR_IO). */

/* Runs statements; rows that they return are ignored. */
enum st sql_run(struct sql_file *f, const char *text, struct err *e) BASE_MUST_USE;
/* Begins a transaction that only reads; until sql_end_reading it sees the file as its first
 * statement found it. Nothing happens if a transaction is open already. */
enum st sql_begin_reading(struct sql_file *f, struct err *e) BASE_MUST_USE;
void sql_end_reading(struct sql_file *f);
/* Begins a transaction with the write lock, unless such a transaction is open. */
enum st sql_begin(struct sql_file *f, struct err *e) BASE_MUST_USE;
/* Commits the transaction and releases the lock; on ST_ERR nothing was written. */
enum st sql_commit(struct sql_file *f, struct err *e) BASE_MUST_USE;
/* Undoes the transaction with the write lock, if one is open, and releases the lock. */
void sql_undo(struct sql_file *f);
bool sql_is_writing(const struct sql_file *f);
/* Reads a number that changes when another connection commits to the file. Inside a transaction
 * that only reads (sql_begin_reading) it stays the same. */
enum st sql_data_version(struct sql_file *f, int64_t *version, struct err *e) BASE_MUST_USE;
/* Returns how many rows the last INSERT, UPDATE or DELETE changed; other statements do not alter
 * the number. */
uint64_t sql_changed(const struct sql_file *f);

/* Prepares a statement; the caller frees it with sql_finish. */
enum st sql_prepare(struct sql_file *f, struct sql_statement **out, const char *text,
                    struct err *e) BASE_MUST_USE;
/* Frees a statement; NULL is allowed. */
void sql_finish(struct sql_statement *s);
/* Makes the statement ready to run again; its bound values stay. */
void sql_reset(struct sql_statement *s);
/* Binds a value to parameter `at`, counted from 1. Texts and bytes are borrowed as long as the
 * statement runs with them; a NULL text is bound as "". If a value cannot be bound, the next
 * sql_next returns the error. */
void sql_bind_text(struct sql_statement *s, int at, const char *text);
void sql_bind_bytes(struct sql_statement *s, int at, const void *bytes, size_t len);
void sql_bind_number(struct sql_statement *s, int at, int64_t v);
/* Binds a count or a hash as the signed integer with the same bits, because SQLite has no unsigned
 * ones. */
void sql_bind_count(struct sql_statement *s, int at, uint64_t v);
void sql_bind_none(struct sql_statement *s, int at);
/* Steps to the next row, and holds its texts and bytes in memory, so that reading them cannot fail.
 * ST_NONE: there are no more rows. On anything but ST_OK the statement is reset. */
enum st sql_next(struct sql_statement *s, struct err *e) BASE_MUST_USE;
/* Runs a statement to its end, and resets it. */
enum st sql_step(struct sql_statement *s, struct err *e) BASE_MUST_USE;
/* Reads column `at`, counted from 0, of the current row. The result is borrowed until the next
 * sql_next, sql_reset or sql_finish. */
const char *sql_text(struct sql_statement *s, int at); /* "" if the column holds no text */
const void *sql_bytes(struct sql_statement *s, int at, size_t *len);
int64_t sql_number(struct sql_statement *s, int at);
bool sql_is_none(struct sql_statement *s, int at);
bool sql_is_text(struct sql_statement *s, int at);
bool sql_is_number(struct sql_statement *s, int at);

#endif
