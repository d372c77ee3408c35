/* Reads archives of dumps as folders of dumps. */
#ifndef STALLKIT_CMD_CLI_ARCHIVES_H
#define STALLKIT_CMD_CLI_ARCHIVES_H

#include "cli.h"

/* If the file is an archive (zip, tar, a compressed tar) or compressed by xz, zstd or bzip2, calls
 * on_input with each file in it, opened, and named "ARCHIVE/MEMBER" with `found` true, or, for a
 * compressed file that is no archive, named as the file itself with `found` false. on_failure is
 * called for each member that cannot be read, and for the archive if it is damaged or gives nothing
 * else. Archives in archives are read, too; members with a name or folder that begins with '.', or
 * in a folder __MACOSX, are left out. Returns true if the file is one of these; false if it is
 * none, is no regular file, or is not at offset 0: no callback was then called. The caller still
 * owns fd. Limited are the unpacked bytes (CLI_ARCHIVE_RATIO times the file's size, plus
 * CLI_ARCHIVE_FLOOR), the number of members, and the nesting of archives (CLI_ARCHIVE_DEPTH). */
bool cli_read_archive(int fd, const char *name, cli_on_input on_input, cli_on_failure on_failure,
                      void *ctx);

enum { CLI_ARCHIVE_RATIO = 1024, CLI_ARCHIVE_FLOOR = 64 << 20, CLI_ARCHIVE_DEPTH = 3 };

#endif
