/* Dumps as files in a folder: written under a temporary name, then renamed, so that a reader of the
 * folder never sees half of one. POSIX only; shared by the platforms. */
#ifndef STALLREC_DUMPFILE_H
#define STALLREC_DUMPFILE_H

#include <stddef.h>

#include "files/dump_json.h"
#include "files/folder.h"
#include "core/record.h"
#include "stallrec.h"

struct rec_dumpfile;

/* Bytes rec_dumpfile_init needs (the compressor's state and the paths). */
size_t rec_dumpfile_size(void);

/* Makes `directory` if it is missing (not its parents) and checks that files can be made there.
 * memory: rec_dumpfile_size() bytes, aligned for any type, used until the last write. flags:
 * STALLREC_PLAIN_JSON. STALLREC_ERR_DIRECTORY: see errno. */
enum stallrec_error rec_dumpfile_init(struct rec_dumpfile **out, void *memory,
                                      const char *directory, uint32_t flags);

/* The folder's absolute path. Returns path. */
const char *rec_dumpfile_directory(const struct rec_dumpfile *file, char path[REC_PATH_MAX]);

/* Writes one dump into the folder, under the name that dumpname.h gives it.
 * *path (may be NULL) is that name, borrowed until the next write, also on failure. Opens, writes
 * and renames; allocates nothing. STALLREC_ERR_WRITE: see errno; nothing is left behind. */
enum stallrec_error rec_dumpfile_write(struct rec_dumpfile *file, const struct rec_dump *dump,
                                       const struct rec_about *about, const char **path);

#endif
