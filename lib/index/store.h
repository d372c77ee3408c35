/* A store: a folder of symbol indexes, which any number of processes share:
 *
 *   STORE/ab/<id>-<arch>-<fingerprint>.index   an index; ab = the id's first byte
 *   STORE/ab/<id>-<arch>-<fingerprint>.use     the cost of live look-ups so far
 *   STORE/tmp/<id>-<arch>-<fingerprint>        an index being written, locked by its writer
 *   STORE/lock                                 held while files are removed from the store
 *   STORE/gc.lock                              held while a permanent store is changed
 *
 * An index gets its name when it is complete. A file in tmp that is not locked is a dead writer's,
 * and is removed when the next index is written. A store with a catalog (index/catalog.h) is made
 * smaller on demand only (index/upkeep/store_upkeep.h). A store that cannot be written (a full
 * disk, a read-only folder, another user's folder) costs time, never an answer. */
#ifndef STALLKIT_INDEX_STORE_H
#define STALLKIT_INDEX_STORE_H

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "index/build.h"
#include "index/lookup.h"

struct index_store;

struct store_options {
    const char *path; /* path of the store's folder, which is made at first use, with the folders
                         above it */
    /* limit in bytes, beyond which the least recently used files are removed; 0 = no limit; not
     * used if `permanent` */
    uint64_t cap;
    unsigned threads; /* number of threads that build an index */
    bool permanent; /* indexes outlive their sources: they are removed on demand only, and a catalog
                       lists them once index_store_flush has made them survive a power failure.
                       Checksums find indexes that did not survive one */
    /* The store is a cache that nobody named: its folders and indexes are made for this user alone,
     * and those that others may have written are neither believed nor touched */
    bool unnamed;
};

/* Makes an index_store, without access to the folder yet. Never ST_NONE. ST_ERR: out of memory. */
enum st index_store_new(struct index_store **out, const struct store_options *options,
                        struct err *e) BASE_MUST_USE;
/* Makes another index_store of the same folder for one more thread, which builds with `threads`: a
 * failure to write in one does not stop the other. Never ST_NONE. ST_ERR: out of memory. */
enum st index_store_again(struct index_store **out, const struct index_store *s, unsigned threads,
                          struct err *e) BASE_MUST_USE;
/* Can only this user and root change the store's folder (base/owned.h)? Asked once for a store that
 * nobody named, before it is used. ST_NONE: there is no folder yet. ST_ERR: others can (the error
 * names the folder), the path is not absolute, or memory ran out. */
enum st index_store_check(const struct index_store *s, struct err *e) BASE_MUST_USE;
/* May the indexes and files in STORE/ab be believed? The first two bytes of `ab` are the digits,
 * what follows is ignored. Always true for a store that a user named; else true if the folder
 * exists and only this user and root may write to it. */
bool index_store_trusts(const struct index_store *s, const char *ab);
/* Is the store a cache that no user named (store_options)? */
bool index_store_is_unnamed(const struct index_store *s);
/* Frees the index_store, but not the sources that it opened; s may be NULL. */
void index_store_free(struct index_store *s);
/* Returns the path of the store's folder, borrowed. */
const char *index_store_folder(const struct index_store *s);
/* Makes the folder STORE/NAME and those above it. ST_NONE: the folder cannot be made
 * (index_store_trouble returns the reason), or the store is another user's. */
enum st index_store_make_folder(struct index_store *s, const char *name) BASE_MUST_USE;
/* Returns the text, borrowed from s, of the first failure to write, lock or make something in the
 * store, or that others may write to it. NULL = none, also if the store is another user's, or s is
 * NULL. */
const char *index_store_trouble(const struct index_store *s);

/* Appends the key of a source in the store, and sets *fingerprint. ST_ERR: out of memory. */
enum st index_store_key(const struct object_slice *slice, const struct object_slice *paired,
                        const struct object_slice *alt, struct strbuf *key, uint64_t *fingerprint,
                        struct err *e) BASE_MUST_USE;

/* Opens the index of the key. ST_NONE: there is none, or it may not be believed, has another
 * fingerprint, is of an older builder or of a format that is not read, cannot be read, or is
 * damaged; a damaged one is removed unless the store is another user's. ST_ERR: out of memory. */
enum st index_store_open(struct index_store *s, const char *key, uint64_t fingerprint,
                         struct lookup_source **out, struct err *e) BASE_MUST_USE;
/* Builds the index of a source and puts it into the store, unless the store has an undamaged one
 * with the source's fingerprint, of this builder or a later one. If the stored index lacks files of
 * the source (object files of a debug map, .dwo files), a new one is built, and replaces the stored
 * one unless the new one lacks files, too, and has less debug info. wait: wait for another process
 * that is building the index. ST_NONE: another process is building the index and `wait` is false,
 * the source cannot be indexed, or the store cannot be written (index_store_trouble returns the
 * reason). *why (may be NULL) becomes the reason why the source cannot be indexed; ERR_UNREAD: it
 * has nothing for an index. */
enum st index_store_add(struct index_store *s, const struct index_source *source, const char *key,
                        bool wait, struct err *why, struct err *e) BASE_MUST_USE;
/* Takes the lock of a permanent store and holds it until s is freed. With `alone`, no other process
 * may hold the lock, as files are removed from the store; without, processes that add to the store
 * may share it. Waits for processes with which the lock cannot be shared. Makes the folder if it
 * does not exist. ST_NONE: the store cannot be written (index_store_trouble returns the reason), or
 * is another user's. */
enum st index_store_hold(struct index_store *s, bool alone) BASE_MUST_USE;
/* Waits until all indexes that were added are on the disk. Never ST_NONE. */
enum st index_store_flush(const struct index_store *s, struct err *e) BASE_MUST_USE;
/* Removes an index that turned out to be damaged, unless the store is another user's. */
void index_store_remove(struct index_store *s, const char *key);
/* Notes that the file of an index is used: sets the file's time to now if that time is more than an
 * hour ago or in the future. Does nothing if the time may not be changed. */
void index_store_touch(const char *path);
/* Appends the path of a key's index to *out. */
void index_store_path(const struct index_store *s, const char *key, struct strbuf *out);

/* Read and write the cost of live look-ups so far (see stored.h); 0 if it is unknown. A cost that
 * cannot be written is dropped. */
uint64_t index_store_use(struct index_store *s, const char *key);
void index_store_set_use(struct index_store *s, const char *key, uint64_t cost);

/* ---- files and folders of a store, of any kind ---- */

/* Makes the folder of this path, and those above it that are missing, with this mode less the
 * umask; path is unchanged when it returns. True also if a file, not a folder, has that path.
 * False: errno is the reason. */
bool store_make_folders(char *path, mode_t mode);
/* Does the folder exist, and belong to another user? It is then read and not written. */
bool store_is_anothers(const char *path);
/* Writes the text to a file, and waits until the disk has it. False: errno is the reason. */
bool store_write_synced(int fd, const struct strbuf *text);
/* Replaces a file's content at once, through a new file that is renamed: a reader sees either the
 * old or the new one. The caller holds a lock that keeps other writers away. Never ST_NONE. */
enum st store_replace_file(const char *path, const struct strbuf *text,
                           struct err *e) BASE_MUST_USE;

#endif
