/* The file to which a trace is written, in a program that may close descriptors that it did not
 * open. */
#ifndef STALLREC_TRACE_FILE_H
#define STALLREC_TRACE_FILE_H

#include <stdbool.h>

#include "support/rec_fd.h"
#include "support/rec_out.h"

struct rec_trace_file {
    struct rec_out out; /* its ctx is this struct, which must not move */
    struct rec_fd fd;
};

/* Creates the file, or empties the one that is there; false, with errno: it cannot be written. */
bool rec_trace_file_open(struct rec_trace_file *file, const char *path);
/* Closes the file; there may be none (REC_FD_NONE). */
void rec_trace_file_close(struct rec_trace_file *file);

#endif
