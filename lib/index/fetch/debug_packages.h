/* Finds Debian's packages with the debug info of installed files, for a hint. */
#ifndef STALLKIT_INDEX_FETCH_DEBUG_PACKAGES_H
#define STALLKIT_INDEX_FETCH_DEBUG_PACKAGES_H

#include <stddef.h>

#include "base/err.h"
#include "base/strbuf.h"

/* Looks in dpkg's lists of files (folder `info`, DPKG_INFO) for the packages that the paths belong
 * to, and appends "PACKAGE-dbgsym" for each of them, sorted, each once, with blanks between. That
 * name is a guess: no package may have it, and some older packages of debug info are called
 * PACKAGE-dbg. A path below /usr may be listed without /usr, from before / and /usr were merged. A
 * list that cannot be read, or has more than 64 MiB, is skipped. ST_NONE: no list has any of the
 * paths, or there is no dpkg. ST_ERR: out of memory. */
#define DPKG_INFO "/var/lib/dpkg/info"
enum st debug_packages_find(const char *info, const char *const *paths, size_t count,
                            struct strbuf *names, struct err *e) BASE_MUST_USE;

#endif
