/* A folder of symbol indexes, shared by all who know it:
 *
 *   STORE/ab/<id>-<arch>-<fingerprint>.index   an index; ab = the id's first byte
 *   STORE/ab/<id>-<arch>-<fingerprint>.use     what live look-ups have cost so far
 *   STORE/tmp/<id>-<arch>-<fingerprint>        an index being written, locked by its writer
 *   STORE/lock                                 held while the store is made smaller
 *   STORE/gc.lock                              held by who adds to a permanent store, or removes
 *
 * An index gets its name when it is complete. A file that nobody locks in tmp is a dead writer's
 * and goes when the next index is written. A store with a catalog (index/catalog.h) is made smaller
 * on demand only (index/upkeep/store_upkeep.h). What does not work (a full disk, a read-only
 * folder, one of another user) costs time, never an answer. */
#ifndef STALLKIT_INDEX_STORE_H
#define STALLKIT_INDEX_STORE_H

#include <stdint.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "index/build.h"
#include "index/lookup.h"

struct index_store;

struct store_options {
    const char *path; /* made at first use, with the folders above it */
    uint64_t cap;     /* bytes; past it the least recently used go. 0 = none */
    unsigned threads; /* to build with */
    bool permanent;   /* indexes outlive their sources: they are removed on demand, and a catalog
                         lists them once index_store_flush has made them survive a power failure.
                         Checksums find those that did not */
};

/* Never ST_NONE; nothing is looked at yet. ST_ERR: out of memory. */
enum st index_store_new(struct index_store **out, const struct store_options *options,
                        struct err *e) BASE_MUST_USE;
/* The same store for one more thread, which builds with `threads`: a failure to write in one does
 * not stop the other. Never ST_NONE. ST_ERR: out of memory. */
enum st index_store_again(struct index_store **out, const struct index_store *s, unsigned threads,
                          struct err *e) BASE_MUST_USE;
/* NULL is allowed. Sources outlive it. */
void index_store_free(struct index_store *s);
/* The store's folder, borrowed. */
const char *index_store_folder(const struct index_store *s);
/* Makes STORE/NAME, a folder, and what is above it. ST_NONE: it cannot be made
 * (index_store_trouble tells), or the store is another user's. */
enum st index_store_make_folder(struct index_store *s, const char *name) BASE_MUST_USE;
/* The first failure, for one line of talk; NULL = none. */
const char *index_store_trouble(const struct index_store *s);

/* The identity of a source in the store. ST_ERR: out of memory. */
enum st index_store_key(const struct object_slice *slice, const struct object_slice *paired,
                        const struct object_slice *alt, struct strbuf *key, uint64_t *fingerprint,
                        struct err *e) BASE_MUST_USE;

/* Opens the index of the key. ST_NONE: there is none that can be used; a damaged one is removed.
 * ST_ERR: out of memory. */
enum st index_store_open(struct index_store *s, const char *key, uint64_t fingerprint,
                         struct lookup_source **out, struct err *e) BASE_MUST_USE;
/* Builds and files the index of a source unless a sound one is there. wait: for another process
 * that is building it. ST_NONE: another process is, the source cannot be indexed, or the store
 * failed (index_store_trouble tells). *why (may be NULL) says why the source cannot be; ERR_UNREAD:
 * there is nothing in it for an index. */
enum st index_store_add(struct index_store *s, const struct index_source *source, const char *key,
                        bool wait, struct err *why, struct err *e) BASE_MUST_USE;
/* Holds a permanent store, until it is freed: together with others who add to it, or alone, to
 * remove from it. Waits for who holds it otherwise. Made as it is needed. ST_NONE: it cannot be
 * written (index_store_trouble tells), or is another user's. */
enum st index_store_hold(struct index_store *s, bool alone) BASE_MUST_USE;
/* Puts all indexes that were added on the disk. Never ST_NONE. */
enum st index_store_flush(const struct index_store *s, struct err *e) BASE_MUST_USE;
/* Forgets an index that turned out damaged. */
void index_store_remove(struct index_store *s, const char *key);
/* Notes that the file of an index is used: its time records the last use, to the hour. Where that
 * may not be changed nothing happens. */
void index_store_touch(const char *path);
/* The path of a key's index, appended. */
void index_store_path(const struct index_store *s, const char *key, struct strbuf *out);

/* The cost of live look-ups so far: see stored.h. 0 when it is not known. */
uint64_t index_store_use(struct index_store *s, const char *key);
void index_store_set_use(struct index_store *s, const char *key, uint64_t cost);

/* ---- for all that is kept in a store's folder ---- */

/* Makes the folder of this path, and those above it where they are missing; the bytes are as before
 * when it returns. False: errno says why. */
bool store_make_folders(char *path);
/* Is the folder there, and another user's? It is then read and not written. */
bool store_is_anothers(const char *path);
/* Writes all bytes, and waits until the disk has them. False: errno says why. */
bool store_write_synced(int fd, const struct strbuf *text);
/* Gives a file this text at once, under another name first: a reader has either the old or the new
 * one. A lock of the caller's keeps other writers of the file away. Never ST_NONE. */
enum st store_replace_file(const char *path, const struct strbuf *text,
                           struct err *e) BASE_MUST_USE;

#endif
