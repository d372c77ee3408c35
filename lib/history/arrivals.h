/* Takes files from a folder into which other processes rename them: each file is moved to a slot of
 * its own below the subfolder taking/, so that the next file of the same name does not replace it,
 * is returned once, and then moved to the subfolder done/ or refused/. What is in taking/ after a
 * kill is returned again; a file that another watcher of the folder reads is locked (flock(2)) and
 * left alone. A file that is still being written must have a name that begins with a dot, or be in
 * another folder, as WebDAV servers and the recorder ensure. */
#ifndef STALLKIT_HISTORY_ARRIVALS_H
#define STALLKIT_HISTORY_ARRIVALS_H

#include "base/err.h"

struct arrivals;

/* Names of the subfolders that arrivals_open makes; NULL ends the list. */
extern const char *const arrivals_folders[];

/* Opens the folder, and makes done/, refused/ and taking/ in it if they are missing, accessible to
 * their owner alone. ST_ERR, too, if files cannot be moved into one of them. */
enum st arrivals_open(struct arrivals **out, const char *folder, struct err *e) BASE_MUST_USE;
/* Frees the handle; NULL is allowed. */
void arrivals_close(struct arrivals *a);

/* Takes the next regular file, first of those left in taking/ by a killed process, then of the
 * folder, both in byte order of the names, and returns its path below taking/; links, folders and
 * names that begin with a dot are ignored. *path is borrowed until the next call. ST_NONE: all
 * files were returned; the next call lists the folder again. ST_ERR: the folder cannot be read, a
 * file cannot be moved, or out of memory; the next call goes on with the next file. */
enum st arrivals_next(struct arrivals *a, const char **path, struct err *e) BASE_MUST_USE;
/* Moves the file that arrivals_next returned last to done/ or, with a reason, to refused/, where a
 * file with ".reason" after its name has the reason. The reason is written first, so that a process
 * that is killed meanwhile leaves a reason without a file, and the file in taking/. A name that is
 * too long for a number and ".reason" after it is cut, and if a name, or that of the reason, is in
 * use, a number is appended. The file's lock is given up in any case. ST_OK, too, if another
 * process has moved the file; no reason stays then. ST_ERR: the file cannot be moved, or the reason
 * cannot be written; the file is still in taking/, and later returned again. */
enum st arrivals_settle(struct arrivals *a, const char *reason, struct err *e) BASE_MUST_USE;
/* Leaves the file that arrivals_next returned last in taking/, gives up its lock, and makes the
 * next call of arrivals_next list all files again, those in taking/ first. */
void arrivals_leave(struct arrivals *a);

#endif
