/* Names code that was made at run time, by the files that the program wrote for perf(1): a perf
 * map, or a jitdump file. */
#ifndef STALLREC_JIT_NAMES_LINUX_H
#define STALLREC_JIT_NAMES_LINUX_H

#include <stdint.h>
#include <sys/types.h>

#include "core/capture.h"

struct jit_names;

/* Makes a reader of names; NULL: out of memory. */
struct jit_names *jit_names_new(void);
void jit_names_free(struct jit_names *jit);

/* Implements rec_capture.name_code: sets the names in names[], which is sorted by address, from the
 * process's perf map and jitdump file. A file is read only if it is regular, belongs to `owner` or
 * root, and nobody else may write it, as anybody can put files into /tmp. root: "" or the folder
 * that is the process's root; pid: the process's id in its own namespace, which is part of the
 * files' names; maps: path of its list of mappings, in which the jitdump file is found. Reads at
 * most 64 MiB of each file, and of the jitdump file at most 200,000 records. */
void jit_names_fill_async(struct jit_names *jit, const char *root, pid_t pid, const char *maps,
                          uid_t owner, struct rec_code_name *names, uint32_t count);

#endif
