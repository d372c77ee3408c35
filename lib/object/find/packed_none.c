/* Refuses archives in a build without libarchive. */
#include "object/find/packed.h"

bool packed_supported(void) {
    return false;
}

enum st packed_read(const char *path, struct spill *spill, const struct packed_visitor *v,
                    struct err *e) {
    (void)spill;
    (void)v;
    return err_set(e, ERR_UNSUPPORTED,
                   "'%s' is an archive, and this build reads none (it lacks libarchive): unpack it",
                   path);
}

enum st packed_read_open(int fd, const char *path, struct spill *spill,
                         const struct packed_visitor *v, struct err *e) {
    (void)fd;
    return packed_read(path, spill, v, e);
}
