/* Reads archives of dumps as folders of dumps. */
#ifndef STALLKIT_CMD_CLI_ARCHIVES_H
#define STALLKIT_CMD_CLI_ARCHIVES_H

#include "cli.h"

/* If the file is an archive (zip, tar, a compressed tar) or compressed by xz, zstd or bzip2, calls
 * on_input with each file in it, opened, `found` true, and named "ARCHIVE/MEMBER", and on_failure
 * for each member that cannot be read, or for the archive if it gives neither; archives in archives
 * are read, too. Names that begin with
 * '.' are left out. Returns true if the file is one of these; false if it is none, and it is then
 * rewound. The caller still owns fd. The unpacked bytes (CLI_ARCHIVE_RATIO times the file, or
 * CLI_ARCHIVE_FLOOR), the number of members, and the nesting of archives (CLI_ARCHIVE_DEPTH) are
 * limited. */
bool cli_read_archive(int fd, const char *name, cli_on_input on_input, cli_on_failure on_failure,
                      void *ctx);

enum { CLI_ARCHIVE_RATIO = 1024, CLI_ARCHIVE_FLOOR = 64 << 20, CLI_ARCHIVE_DEPTH = 3 };

#endif
