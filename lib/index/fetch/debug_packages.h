/* Debian's packages with the debug info of installed files, for a hint. */
#ifndef STALLKIT_INDEX_FETCH_DEBUG_PACKAGES_H
#define STALLKIT_INDEX_FETCH_DEBUG_PACKAGES_H

#include <stddef.h>

#include "base/err.h"
#include "base/strbuf.h"

/* Looks in dpkg's lists of files (DPKG_INFO; borrowed, as are the paths) for the packages that the
 * paths belong to, and appends the names of their packages of debug info, sorted, each once, with
 * blanks between: Debian calls them PACKAGE-dbgsym, some older ones PACKAGE-dbg. A path below /usr
 * may be listed without /usr, from before the two were merged. ST_NONE: dpkg knows none of them, or
 * there is no dpkg here. ST_ERR: out of memory. */
#define DPKG_INFO "/var/lib/dpkg/info"
enum st debug_packages_find(const char *info, const char *const *paths, size_t count,
                            struct strbuf *names, struct err *e) BASE_MUST_USE;

#endif
