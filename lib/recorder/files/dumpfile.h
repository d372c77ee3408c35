/* Writes dumps as files into a folder: under a temporary name, then renamed, so that a reader of
 * the folder never sees half a dump. POSIX only; all platforms use it. */
#ifndef STALLREC_DUMPFILE_H
#define STALLREC_DUMPFILE_H

#include <stddef.h>

#include "files/dump_json.h"
#include "files/folder.h"
#include "core/record.h"
#include "stallrec.h"

struct rec_dumpfile;

/* Returns the number of bytes that rec_dumpfile_init needs, for the compressor's state and the
 * paths. */
size_t rec_dumpfile_size(void);

/* Makes `directory` if it is missing (but not its parents) and checks that files can be made in it.
 * memory: rec_dumpfile_size() bytes, aligned for any type, in use until the last write. flags: as
 * in struct stallrec_config; only STALLREC_PLAIN_JSON has an effect: dumps are not compressed.
 * Without it they are compressed, unless zlib refuses the memory. mode: file_mode of struct
 * stallrec_config. STALLREC_ERR_DIRECTORY: see errno. */
enum stallrec_error rec_dumpfile_init(struct rec_dumpfile **out, void *memory,
                                      const char *directory, uint32_t flags, uint32_t mode);

/* Copies the folder's absolute path into `path`, and returns `path`. */
const char *rec_dumpfile_directory(const struct rec_dumpfile *file, char path[REC_PATH_MAX]);

/* Writes one dump into the folder, under the name by dumpname.h, without allocating. *path (path
 * may be NULL) becomes the file's path, borrowed until the next write, also on failure.
 * STALLREC_ERR_WRITE: see errno; no file is left. */
enum stallrec_error rec_dumpfile_write(struct rec_dumpfile *file, const struct rec_dump *dump,
                                       const struct rec_about *about, const char **path);

#endif
