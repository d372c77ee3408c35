/* Loads libarchive only when an archive is met: the libraries that it needs (libxml2, ICU,
 * libstdc++) take most of a short run's time to load, and few runs see an archive. */
#ifndef STALLKIT_OBJECT_LIBARCHIVE_CALLS_H
#define STALLKIT_OBJECT_LIBARCHIVE_CALLS_H

#include <archive.h>
#include <archive_entry.h>

#include "base/err.h"

/* The functions of libarchive that are called, without their prefix "archive_". */
#define LIBARCHIVE_CALLS(X)                                                                        \
    X(entry_filetype)                                                                              \
    X(entry_pathname)                                                                              \
    X(entry_pathname_utf8)                                                                         \
    X(errno)                                                                                       \
    X(error_string)                                                                                \
    X(filter_bytes)                                                                                \
    X(filter_count)                                                                                \
    X(format)                                                                                      \
    X(read_data_block)                                                                             \
    X(read_free)                                                                                   \
    X(read_new)                                                                                    \
    X(read_next_header)                                                                            \
    X(read_open_fd)                                                                                \
    X(read_support_filter_bzip2)                                                                   \
    X(read_support_filter_gzip)                                                                    \
    X(read_support_filter_xz)                                                                      \
    X(read_support_filter_zstd)                                                                    \
    X(read_support_format_raw)                                                                     \
    X(read_support_format_tar)                                                                     \
    X(read_support_format_zip)

#define LIBARCHIVE_MEMBER(name) __typeof__(archive_##name) *f_##name;
struct libarchive_calls {
    LIBARCHIVE_CALLS(LIBARCHIVE_MEMBER)
};
#undef LIBARCHIVE_MEMBER

/* Loads libarchive, which then stays until the process ends, and fills *out with its functions. May
 * be called by several threads. ERR_UNSUPPORTED: libarchive is absent or lacks a function; e names
 * the cause. */
enum st libarchive_calls_load(struct libarchive_calls *out, struct err *e) BASE_MUST_USE;

#endif
