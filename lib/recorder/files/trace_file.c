/* Writes a trace to its file. POSIX. */
#include "files/trace_file.h"

#include <fcntl.h>

/* Writes all bytes; false ends the trace. If the program closed the descriptor, its number may be
 * another file's by now, so nothing is written then. */
static bool write_all(void *ctx, const void *bytes, size_t len) {
    const struct rec_trace_file *file = ctx;
    return rec_fd_is_ours_async(&file->fd) && rec_write_all(file->fd.fd, bytes, len);
}

bool rec_trace_file_open(struct rec_trace_file *file, const char *path) {
    *file = (struct rec_trace_file){.out = {.write = write_all, .ctx = file}};
    file->fd = rec_fd_hold_async(open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    return file->fd.fd >= 0;
}

void rec_trace_file_close(struct rec_trace_file *file) {
    rec_fd_close_async(&file->fd);
}
