/* A folder into which others rename files: each file is handed out once, and then moved to its
 * subfolder done/ or refused/. A file that is still being written must have a name that begins with
 * a dot, or be elsewhere, as WebDAV servers and the recorder do it. */
#ifndef STALLKIT_HISTORY_ARRIVALS_H
#define STALLKIT_HISTORY_ARRIVALS_H

#include "base/err.h"

struct arrivals;

/* Opens the folder, and makes done/ and refused/ in it if they are missing, accessible to their
 * owner alone. */
enum st arrivals_open(struct arrivals **out, const char *folder, struct err *e) BASE_MUST_USE;
/* Frees the handle; NULL is allowed. */
void arrivals_close(struct arrivals *a);

/* Hands out the next regular file of the folder, in byte order of the names; links, folders and
 * names that begin with a dot are left alone. *path is borrowed until the next call. ST_NONE: all
 * files were handed out; the next call looks again. */
enum st arrivals_next(struct arrivals *a, const char **path, struct err *e) BASE_MUST_USE;
/* Moves the file that arrivals_next handed out last to done/ or, with a reason, to refused/, where
 * a file of its name and ".reason" has the reason. If the name is taken, a number is appended; a
 * name that leaves no room for these is cut. ST_OK, too, if another process has taken the file, or
 * another file has taken its name since it was handed out: that one is handed out by the next look.
 */
enum st arrivals_settle(struct arrivals *a, const char *reason, struct err *e) BASE_MUST_USE;

#endif
