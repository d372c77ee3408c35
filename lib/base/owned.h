/* Finds out whether other users of the machine may have written or exchanged a file or folder. Root
 * is trusted like this user, because it can write everything anyway. */
#ifndef STALLKIT_BASE_OWNED_H
#define STALLKIT_BASE_OWNED_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/err.h"

/* Does the file or folder belong to this user or root, without a right to write for its group or
 * for others? An access control list shows in the group's rights. */
bool owned_alone(const struct stat *st);
/* Is there a folder at the path, no symbolic link, for which owned_alone holds? The caller has to
 * check the folders above it. False: errno is the reason; EPERM: it is no folder, or another user
 * may change it. */
bool owned_folder_alone(const char *path);

/* Can only this user and root change the folder, and which folder the path names? Each folder and
 * symbolic link on the way is checked, as sshd's StrictModes does; other users may write to the
 * folders above it that are sticky, as /tmp is. ST_NONE: a part of the path does not exist, is no
 * folder, or is in a folder that may not be searched, and what comes before that part passes the
 * check. ST_ERR: others can change the folder (ERR_IO; the text names the folder or link on the way
 * that permits it), the path is not absolute (ERR_USAGE), it has more than 4096 names, those in the
 * targets of links included (ERR_LIMIT), or more than 40 links (ERR_IO), a part cannot be read
 * (ERR_IO), or memory ran out. */
enum st owned_folder_check(const char *path, struct err *e) BASE_MUST_USE;

#endif
