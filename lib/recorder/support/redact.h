/* Keeps the user's name out of dumps: the home directory becomes "~". */
#ifndef STALLREC_REDACT_H
#define STALLREC_REDACT_H

#include <stddef.h>

/* Returns the part of `path` after the home directory: "" or "/…"; NULL if the path is not in it.
 * home is an absolute path; NULL, "" and "/" are no home. Slashes at its end do not count. */
const char *rec_redact_rest(const char *path, const char *home);

/* Copies text into to[size], size > 0, with "~" for each occurrence of the home directory that no
 * further character of a name follows. Text that does not fit is cut off between characters
 * (UTF-8). Returns to. */
char *rec_redact_text(char *to, size_t size, const char *text, const char *home);

#endif
