/* Names of code that was made at run time, from what the program wrote for perf(1): a perf map, or
 * a jitdump file. */
#ifndef STALLREC_JIT_NAMES_LINUX_H
#define STALLREC_JIT_NAMES_LINUX_H

#include <stdint.h>
#include <sys/types.h>

#include "core/capture.h"

struct jit_names;

/* NULL when there is no memory. */
struct jit_names *jit_names_new(void);
void jit_names_free(struct jit_names *jit);

/* rec_capture.name_code: fills in the symbols of addresses, sorted by address, that the files of
 * the process hold. A file counts only if it is regular, belongs to `owner` or to root, and nobody
 * else may write it: anybody can put files into /tmp. `root`: "" or the folder that the process
 * sees as its root; `pid`: its id as it sees it, by which the files are called; `maps`: the path of
 * its list of mappings, where a jitdump file is told. Reads at most 64 MB of either. */
void jit_names_fill_async(struct jit_names *jit, const char *root, pid_t pid, const char *maps,
                          uid_t owner, struct rec_code_name *names, uint32_t count);

#endif
